"""The test program crossbar.p4: rules, frames, and raw sockets on the hosts' ends of its ports."""

import os
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import canopy_engine

from tests import waiting

CPU_PORT = 510
PROGRAM = Path(__file__).parent / "data" / "crossbar.json"
ETHERTYPE_REPORT = 0x88B5  # carries queueing metadata
ETHERTYPE_PLAIN = 0x88B6  # IEEE 802: local experimental EtherType 2

DEADLINE_S = 5.0
_SO_RCVBUFFORCE = 33  # asm-generic/socket.h


def new_switch() -> canopy_engine.Switch:
    return canopy_engine.Switch(PROGRAM.read_text(), cpu_port=CPU_PORT)


def rule(switch: canopy_engine.Switch, port: int, action: str, value: int) -> None:
    """What becomes of packets from a port: forward or tell (value: port), replicate (value: group)."""
    switch.table_add("crossbar", [word(port)], f"ingress.{action}", [word(value)])


def word(value: int) -> bytes:
    return value.to_bytes(2, "big")


def frame(tag: int = 0, *, length: int = 100, ethertype: int = ETHERTYPE_PLAIN) -> bytes:
    """A frame that ends with its tag (32 bits)."""
    return (b"\xff" * 6 + b"\x02\0\0\0\0\x01" + word(ethertype)).ljust(length - 4, b"\0") + struct.pack("!I", tag)


def tag_of(data: bytes) -> int:
    return int.from_bytes(data[-4:], "big")


@dataclass(frozen=True)
class Report:
    """Queueing metadata as egress wrote it into a frame; times in microseconds."""

    enq_timestamp: int
    deq_timedelta: int
    enq_qdepth: int
    deq_qdepth: int

    @property
    def departure(self) -> int:
        return self.enq_timestamp + self.deq_timedelta


def report_of(data: bytes) -> Report:
    fields = struct.unpack("!IIII", data[14:22] + b"\0" + data[22:25] + b"\0" + data[25:28])
    return Report(*fields)


@contextmanager
def raw_socket(interface: str) -> Iterator[socket.socket]:
    """A packet socket on an interface of the present namespace; reads time out after the deadline."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003)) as raw:  # ETH_P_ALL
        raw.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 8 << 20)  # a whole test's frames
        raw.bind((interface, 0x0003))
        raw.settimeout(DEADLINE_S)
        yield raw


def wait_for(condition: Callable[[], bool]) -> None:
    """Often, for what lasts for milliseconds only."""
    waiting.wait_for(condition, "it has happened", DEADLINE_S, 0.001)


def cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system

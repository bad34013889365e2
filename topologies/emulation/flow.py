"""Cross traffic, as a program for an emulated host: `python -m topologies.emulation.flow ROLE ...`.

A source writes one JSON object a line to its trace every `INTERVAL_S`; docs/emulation.md lists the fields. Only the
standard library is used, so that it starts at once.
"""

import argparse
import json
import random
import selectors
import signal
import socket
import struct
import time
from collections.abc import Iterator
from typing import TextIO

from topologies.on_off import DISTRIBUTIONS, on_periods

INTERVAL_S = 0.25
CHUNK = bytes(65536)
_MAX_BEHIND_S = 0.05
"""How far a UDP source may lag behind its schedule before it gives up catching up: a stalled machine makes no burst."""

_SO_MAX_PACING_RATE = 47
"""asm-generic/socket.h. With any limit of it the kernel paces a TCP connection itself, without the fq discipline."""
_NO_LIMIT = struct.pack("=Q", 1 << 40)
"""Bytes a second; all ones would be no limit at all."""
_TCP_INFO = struct.Struct("=8B24I4Q")
"""linux/tcp.h, struct tcp_info up to tcpi_bytes_received; the kernel only ever appends to it."""


class Trace:
    """Writes measurements with their time, seconds since `epoch` (wall-clock)."""

    def __init__(self, file: TextIO, epoch: float) -> None:
        self._file = file
        self._epoch = epoch

    def write(self, measured: dict[str, float | int]) -> None:
        """Append one row."""
        self._file.write(json.dumps({"t": round(time.time() - self._epoch, 4), **measured}) + "\n")


def tcp_measurements(connection: socket.socket) -> dict[str, float | int]:
    """What the kernel's TCP knows of a connection: windows in segments, times in seconds."""
    info = _TCP_INFO.unpack(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO.size))
    words, longs = info[8:32], info[32:]
    return {
        "cwnd": words[18],
        "ssthresh": words[17],
        "rtt_s": words[15] / 1e6,
        "mss": words[2],
        "retransmitted": words[23],
        "acked_bytes": longs[2],
    }


def run_tcp_source(address: tuple[str, int], congestion_control: str, paces: bool, trace: Trace) -> None:
    """Send zeros as fast as the congestion control lets through, until terminated."""
    connection = _connect(address, congestion_control, paces)
    connection.setblocking(False)
    selector = selectors.DefaultSelector()
    selector.register(connection, selectors.EVENT_WRITE)
    next_at = time.monotonic()
    while True:
        now = time.monotonic()
        if now >= next_at:
            next_at = now + INTERVAL_S
            trace.write(tcp_measurements(connection))
        if selector.select(max(next_at - time.monotonic(), 0.0)):
            connection.send(CHUNK)


def run_tcp_sink(address: tuple[str, int]) -> None:
    """Take and forget what one connection after the other brings, until terminated."""
    with socket.create_server(address) as server:
        while True:
            connection, _ = server.accept()
            buffer = bytearray(1 << 18)
            with connection:
                while connection.recv_into(buffer):
                    pass


def run_udp_source(
    address: tuple[str, int], rate_bps: float, packet: int, periods: Iterator[tuple[float, float]], trace: Trace
) -> None:
    """Send datagrams of `packet` bytes at a constant rate while it is on; each begins with its number, 8 bytes."""
    interval = packet * 8 / rate_bps
    padding = bytes(max(packet - 8, 0))
    sent = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        begin = time.monotonic()
        next_trace = begin
        for start, end in periods:
            due = begin + start
            while due < begin + end:
                now = time.monotonic()
                if now >= next_trace:
                    next_trace = now + INTERVAL_S
                    trace.write({"sent_packets": sent, "sent_bytes": sent * packet})
                if due > now:
                    time.sleep(min(due, next_trace) - now)
                    continue
                due = max(due, now - _MAX_BEHIND_S) + interval
                sent += 1
                try:
                    sender.sendto(struct.pack("!Q", sent)[:packet] + padding, address)
                except OSError:  # the link is down, or the sink is not there yet: it is UDP
                    continue


def run_udp_sink(address: tuple[str, int], trace: Trace) -> None:
    """Count what arrives, until terminated."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(address)
        packets = octets = 0
        next_at = time.monotonic()
        while True:
            receiver.settimeout(max(next_at - time.monotonic(), 1e-3))
            try:
                octets += len(receiver.recv(65536))
                packets += 1
            except TimeoutError:
                pass
            if time.monotonic() >= next_at:
                next_at = time.monotonic() + INTERVAL_S
                trace.write({"received_packets": packets, "received_bytes": octets})


def main() -> None:
    """The program; see `--help`."""
    parser = argparse.ArgumentParser(description="One end of a cross-traffic flow.")
    parser.add_argument("role", choices=["tcp-source", "tcp-sink", "udp-source", "udp-sink"])
    parser.add_argument("address", help="address:port to send to, or to receive at")
    parser.add_argument("--trace", default="/dev/null", help="file for measurements, JSON lines")
    parser.add_argument("--congestion-control", default="cubic")
    parser.add_argument("--pacing", action="store_true", help="as with the fq queueing discipline")
    parser.add_argument("--rate", type=float, default=1e6, help="bit/s of UDP payload")
    parser.add_argument("--packet", type=int, default=1000, help="bytes of UDP payload")
    parser.add_argument("--on", type=float, default=None, help="mean seconds on (default: always)")
    parser.add_argument("--off", type=float, default=0.0, help="mean seconds off")
    parser.add_argument("--distribution", choices=DISTRIBUTIONS, default="constant", help="of times on and off")
    parser.add_argument("--shape", type=float, default=1.5, help="of the Pareto distribution")
    parser.add_argument("--epoch", type=float, default=0.0, help="wall-clock time at which times start")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: exit(0))
    host, _, port = options.address.rpartition(":")
    address = (host, int(port))
    with open(options.trace, "a", encoding="utf-8", buffering=1) as file:
        trace = Trace(file, options.epoch)
        match options.role:
            case "tcp-source":
                run_tcp_source(address, options.congestion_control, options.pacing, trace)
            case "tcp-sink":
                run_tcp_sink(address)
            case "udp-source":
                rng = random.Random(options.seed)
                periods = on_periods(options.on, options.off, options.distribution, options.shape, rng)
                run_udp_source(address, options.rate, options.packet, periods, trace)
            case "udp-sink":
                run_udp_sink(address, trace)


def _connect(address: tuple[str, int], congestion_control: str, paces: bool) -> socket.socket:
    """A connection to the sink, which may still be starting."""
    while True:
        connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion_control.encode())
        if paces:
            connection.setsockopt(socket.SOL_SOCKET, _SO_MAX_PACING_RATE, _NO_LIMIT)
        try:
            connection.connect(address)
        except OSError:
            connection.close()
            time.sleep(0.05)
            continue
        return connection


if __name__ == "__main__":
    main()

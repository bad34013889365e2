"""Other sequences from known ones: the same at other ports, and with fields of packets, steps or times changed."""

import copy
import random
import struct
from collections.abc import Iterator
from typing import Final

from scapy.utils import checksum

from tests.p4src.bench.program import number
from tests.p4src.bench.setup import ports_of
from tests.p4src.whole.generated.sequences import Step

PORTS: Final = 16
"""Ports are renamed among so many: as many as the program merges feedback of."""
_PORT_PARAMS = ("port",)
_BITMAP_PARAMS = ("switch_ports", "upstream", "accept", "ports", "lan_ports", "shared_ports")
_ETHERNET, _IPV4, _UDP = 14, 20, 8
_TIMES_US = (1, 1_000, 200_000, 1_000_000, 5_000_000, 61_000_000, 1_300_000_000)


def _rename(port: int, by: int) -> int:
    return (port - 1 + by) % PORTS + 1 if 1 <= port <= PORTS else port


def _rename_bits(bits: int, by: int) -> int:
    return sum(1 << _rename(port, by) - 1 for port in ports_of(bits))


def rotated(steps: list[Step], by: int) -> Iterator[Step]:
    """The same at ports that are further by so many, of sixteen."""
    for step in copy.deepcopy(steps):
        match step:
            case ["send", port, packet]:
                yield ["send", port if port == number("CPU_PORT") else _rename(port, by), packet]
            case ["set_groups", groups]:
                yield [
                    "set_groups",
                    {
                        str(_rename_bits(int(group), by)): [_rename(port, by) for port in ports]
                        for group, ports in groups.items()
                    },
                ]
            case ["change_group", group, ports]:
                yield ["change_group", _rename_bits(group, by), [_rename(port, by) for port in ports]]
            case ["set_clone_session", session, port]:
                yield ["set_clone_session", _rename(session, by), _rename(port, by)]
            case [("set_default" | "insert" | "modify"), *_, params]:
                for name, value in params.items():
                    if name in _PORT_PARAMS:
                        params[name] = _rename(value, by)
                    elif name in _BITMAP_PARAMS:
                        params[name] = _rename_bits(value, by)
                if "port" in step[2]:
                    step[2]["port"] = _rename(step[2]["port"], by)
                yield step
            case _:
                yield step


def mended(frame: bytearray) -> bytes:
    """With a right checksum of IPv4, and none of UDP."""
    if len(frame) >= _ETHERNET + _IPV4 and frame[12:14] == b"\x08\x00" and frame[14] == 0x45:
        frame[24:26] = bytes(2)
        frame[24:26] = struct.pack("!H", checksum(bytes(frame[_ETHERNET : _ETHERNET + _IPV4])))
        if frame[23] == 17 and len(frame) >= _ETHERNET + _IPV4 + _UDP:
            frame[40:42] = bytes(2)
    return bytes(frame)


def _value(chooser: random.Random, old: int, bits: int) -> int:
    near = old + chooser.choice((1, -1, 2, -2, 255, 256, 257, -256, 511, 512, 513, -512, 1 << bits - 2))
    flipped = old ^ 1 << chooser.randrange(bits)
    new = chooser.choice((0, 1, (1 << bits) - 1, near, near, near, flipped, flipped, chooser.getrandbits(bits)))
    return new % (1 << bits)


def _change_field(chooser: random.Random, step: Step) -> None:
    """A field of two or four bytes, or one, gets another value; behind UDP's header most often."""
    frame = bytearray.fromhex(step[2])
    first = _ETHERNET + _IPV4 + _UDP if len(frame) > 50 and chooser.random() < 0.85 else _ETHERNET
    size = chooser.choice((1, 2, 4, 4))
    if len(frame) < first + size:
        return
    place = first + chooser.randrange((min(len(frame), first + 192) - first) // size) * size
    old = int.from_bytes(frame[place : place + size], "big")
    frame[place : place + size] = _value(chooser, old, 8 * size).to_bytes(size, "big")
    step[2] = mended(frame).hex()


def _change_param(chooser: random.Random, step: Step) -> None:
    params = step[-1]
    names = [name for name in params if name in _BITMAP_PARAMS]
    if names:
        params[chooser.choice(names)] ^= 1 << chooser.randrange(PORTS)


def mutant(chooser: random.Random, steps: list[Step]) -> list[Step]:
    """A sequence with one to three changes."""
    changed = copy.deepcopy(steps)
    for _ in range(chooser.randint(1, 3)):
        sends = [index for index, step in enumerate(changed) if step[0] == "send"]
        tables = [index for index, step in enumerate(changed) if step[0] in ("set_default", "insert")]
        kind = chooser.random()
        if kind < 0.65 and sends:
            _change_field(chooser, changed[chooser.choice(sends)])
        elif kind < 0.72 and sends:
            changed[chooser.choice(sends)][1] = chooser.randint(1, PORTS)
        elif kind < 0.78 and tables:
            _change_param(chooser, changed[chooser.choice(tables)])
        elif changed:
            place = chooser.randrange(len(changed))
            match chooser.randrange(3):
                case 0:
                    changed.insert(place, ["advance", chooser.choice(_TIMES_US)])
                case 1:
                    changed.insert(place, copy.deepcopy(chooser.choice(changed)))
                case _:
                    del changed[place]
    return changed

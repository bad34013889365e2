"""Sequences as data: what a switch is told and sent, step by step, and what another one made of it."""

import json
import lzma
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from tests.p4src.bench.target import Embedded, Key, Output, PacketIn, Rates, Target
from tests.p4src.whole.generated.exact import ExactSimpleSwitch

FILE: Final = Path(__file__).parent / "sequences.json.xz"
COUNTERS: Final = ("drops", "feedback")
CELLS: Final = 32
"""Cells of each of these counters."""

LONGEST_US: Final = 1 << 33
"""Of a sequence; each begins so much later than the one before, for simple_switch's time never goes back."""

Step = list[Any]
"""["send", port, packet], ["advance", us], or a method of Target with its arguments, as JSON has them."""


@dataclass(frozen=True)
class Said:
    """What a switch made of a sequence: what each packet sent to it became, in order of ports, and what it told."""

    sent: list[list[list[Any]]]
    packet_ins: list[list[Any]]
    digests: list[list[Any]]
    counters: dict[str, list[int]]
    """Counter, then index, packets and bytes of each cell that has counted."""


@dataclass(frozen=True)
class Told:
    """A sequence: the test that its packets come from, its steps, and what simple_switch_grpc made of them."""

    origin: str
    steps: list[Step]
    said: Said


def read() -> list[Told]:
    """What is kept."""
    items = json.loads(lzma.decompress(FILE.read_bytes()))
    return [Told(item["origin"], item["steps"], Said(**item["said"])) for item in items]


def write(sequences: Sequence[Told]) -> None:
    """Keep these."""
    text = json.dumps([asdict(told) for told in sequences], separators=(",", ":"))
    # Text is made of bytes, not of words of four.
    best = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "pb": 0}
    FILE.write_bytes(lzma.compress(text.encode(), filters=[best]))


def _key(key: Mapping[str, Any]) -> dict[str, Key]:
    return {name: (value[0], value[1]) if isinstance(value, list) else value for name, value in key.items()}


def take(target: Target, step: Step) -> list[Output]:
    """Do one step; what leaves, if it sends."""
    match step:
        case ["send", port, packet]:
            return target.send(port, bytes.fromhex(packet))
        case ["advance", microseconds]:
            target.advance(microseconds)
        case ["set_default", table, action, params]:
            target.set_default(table, action, params)
        case ["insert", table, key, action, params]:
            target.insert(table, _key(key), action, params)
        case ["modify", table, key, action, params]:
            target.modify(table, _key(key), action, params)
        case ["delete", table, key]:
            target.delete(table, _key(key))
        case ["set_groups", groups]:
            target.set_groups({int(group): ports for group, ports in groups.items()})
        case ["change_group", group, ports]:
            target.change_group(group, ports)
        case ["set_clone_session", session, port]:
            target.set_clone_session(session, port)
        case ["set_meter", name, index, rates]:
            target.set_meter(name, index, Rates(*rates))
        case _:
            raise ValueError(step)
    return []


def _packet_in(told: PacketIn) -> list[Any]:
    return [told.ingress_port, told.reason, told.packet.hex()]


def duration_us(steps: Sequence[Step]) -> int:
    """How long the steps take."""
    return sum(step[1] for step in steps if step[0] == "advance")


def observe(target: Embedded | ExactSimpleSwitch, number: int, steps: Sequence[Step]) -> Said:
    """Take the steps of the sequence of this number, on an empty switch."""
    target.advance((number + 1) * LONGEST_US - target.now_us)
    sent = []
    for step in steps:
        outputs = take(target, step)
        if step[0] == "send":
            sent.append([[port, packet.hex()] for port, packet in outputs])
    counters = {}
    for name in COUNTERS:
        cells = [(index, *target.counter(name, index)) for index in range(CELLS)]
        counters[name] = [number for cell in cells if any(cell[1:]) for number in cell]
    return Said(
        sent,
        [_packet_in(told) for told in target.packet_ins()],
        [[digest.name, *digest.fields.values()] for digest in target.digests()],
        counters,
    )

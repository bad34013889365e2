"""What a packet is, by protocol and type, for those too that the P4 program does not take apart.

A run that is played again has switches whose parser tells them apart, as the protocols' packages declare them: states
without anything to do come in front of the one that looks at datagrams. All else that a switch does is the same.
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from controller.program import BLOB_NAME, CONSTANTS_NAME, P4INFO_NAME, default_directory
from hosts import protocols
from hosts.wire.fields import Number
from hosts.wire.format import Format
from hosts.wire.header import SEALED_VERSION, VERSION
from hosts.wire.layout import Layout

_SEPARATOR: Final = " "
"""In the added states' names, and in none of the program's."""
_UDP: Final = "udp"
"""The state that looks at the first 32 bits behind UDP's header; another comes in its place, and then it itself."""
_ITSELF: Final = f"{_UDP}{_SEPARATOR}"
_BITS: Final = 32
_PAYLOAD: Final = "ipv4_payload"
"""The state that looks at IPv4's protocol; of TCP, cross traffic mostly, the program knows no more than that."""
_TCP: Final = "tcp"
_PROTOCOLS: Final = {_UDP: 17, _TCP: 6}
"""Of IPv4 (RFC 790)."""


def kind_of(states: Sequence[str]) -> str:
    """What a packet is for which the parser enters these states, as in `mtcp_ack`; of no protocol's packet, the last
    that the program knows it for."""
    states = [state for state in states if state != _ITSELF]
    named = next((state for state in states if _SEPARATOR in state), None)
    if named is not None:
        return named.replace(_SEPARATOR, "_")
    return states[-1] if states else ""


def write_program(folder: Path) -> None:
    """Put the program into a folder, with a parser that tells all packets apart. OSError."""
    ours = default_directory()
    for name in (P4INFO_NAME, CONSTANTS_NAME):
        shutil.copyfile(ours / name, folder / name)
    (folder / BLOB_NAME).write_text(with_kinds((ours / BLOB_NAME).read_text("utf-8")), "utf-8")


def with_kinds(program: str) -> str:
    """The same program, as p4c writes it, with these states."""
    document: dict[str, Any] = json.loads(program)
    for parser in document["parsers"]:
        states = parser["parse_states"]
        original = next((state for state in states if state["name"] == _UDP), None)
        if original is not None:
            added = _states(original, max(state["id"] for state in states) + 1)
            original["name"] = _ITSELF
            states += added
        payload = next((state for state in states if state["name"] == _PAYLOAD), None)
        if payload is not None:
            states.append(_with_tcp(payload) | {"id": max(state["id"] for state in states) + 1})
    return json.dumps(document)


def _with_tcp(payload: dict[str, Any]) -> dict[str, Any]:
    """The state for TCP's packets, which are told by what tells UDP's."""
    udp = next(transition for transition in payload["transitions"] if transition["next_state"] == _UDP)
    value = int(udp["value"], 16)
    shift = value.bit_length() - _PROTOCOLS[_UDP].bit_length()  # nothing else that is looked at is other than 0
    value += _PROTOCOLS[_TCP] - _PROTOCOLS[_UDP] << shift
    payload["transitions"].insert(0, udp | {"value": f"{value:#0{len(udp['value'])}x}", "next_state": _TCP})
    onwards = {"type": "default", "value": None, "mask": None, "next_state": None}
    return {"parser_ops": [], "transitions": [onwards], "transition_key": [], "name": _TCP}


def _states(original: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """The one in its place, and one for each kind."""
    onwards = {"type": "default", "value": None, "mask": None, "next_state": _ITSELF}
    transitions, states = [], []
    for name, value, mask in _kinds():
        transitions.append({"type": "hexstr", "value": hex(value), "mask": hex(mask), "next_state": name})
        states.append({"parser_ops": [], "transitions": [onwards], "transition_key": [], "name": name})
    states.append(original | {"transitions": [*transitions, onwards]})
    return [state | {"id": number + index} for index, state in enumerate(states)]


def _kinds() -> Iterator[tuple[str, int, int]]:
    """Name, value and mask of each in those bits."""
    for name in protocols.names():
        for layout in protocols.get(name).packets:
            if not isinstance(layout, Format):
                yield _SEPARATOR.join((name, layout.name)), *_constants(layout)
                continue
            for kind in layout.kinds:
                words = _SEPARATOR.join((name, kind.name.lower()))
                for version, more in ((VERSION, ""), (SEALED_VERSION, f"{_SEPARATOR}sealed")):
                    yield words + more, version << 24 | layout.protocol << 16 | int(kind) << 8, 0xFFFFFF00


def _constants(layout: Layout[Any]) -> tuple[int, int]:
    """What is the same in all packets of a layout: value and mask."""
    value = mask = 0
    for _, field, at, _ in layout.places():
        if at is None or at + field.bits > _BITS:
            break
        if isinstance(field, Number) and field.least == field.most:
            shift = _BITS - at - field.bits
            value |= field.least << shift
            mask |= ((1 << field.bits) - 1) << shift
    return value, mask

"""docs/packets.md: every packet of every protocol, as its package declares it.

python -m hosts.dissect.table > docs/packets.md
"""

import textwrap
from collections.abc import Iterable, Iterator
from typing import Any, Final

from hosts import protocols
from hosts.protocol import Protocol
from hosts.wire.fields import Number, Payload, Size, Words
from hosts.wire.format import Format
from hosts.wire.header import COMMON, HEADED_VERSION, HEADER_BYTES
from hosts.wire.layout import Items, Layout, Place
from hosts.wire.reason import Reason
from hosts.wire.sealed import HEADED, HOP, SEAL, SEALED

_HEAD: Final = """\
# Packets

Made by `python -m hosts.dissect.table > docs/packets.md` of what the protocols' packages declare (`packets.py` of
`hosts/protocols/*`, and beside it); a test holds the page to that. Numbers are unsigned and in network order. Offsets
are bytes from the start of the datagram, or of the part or item that a heading names; 12.4 is bit 4 of byte 12, whose
highest is bit 0. A packet that is too short or too long, or has a value other than those that are named, is dropped and
counted. `canopy wireshark` names the fields as they are here: `canopy.mtcp.join_ack.first`."""


_SEALED: Final = """\
[security.md](security.md) has the format. Behind these fields the packet is encrypted; a tag of 16 bytes ends it."""
_HEADED: Final = f"""\
Where switches help, the head of a packet that they must read is open; its first byte is {HEADED_VERSION} then. Behind
the head comes what follows, then the encrypted rest and the tag:"""
_SEAL: Final = """\
Feedback is open as a whole. Behind it comes:"""
_HOP: Final = """\
And behind that, from one hop to the next:"""

_COLUMNS: Final = 120


def page() -> str:
    """The document."""
    every = sorted(map(protocols.get, protocols.names()), key=lambda protocol: protocol.number)
    codes = ((str(int(reason)), reason.name, reason.text) for reason in Reason)
    parts = [_HEAD, "## The common header", _fields(COMMON, 0)]
    parts += ["## Sealed packets", _SEALED, _fields(SEALED, 0), _HEADED, _fields(HEADED, 0)]
    parts += [_SEAL, _fields(SEAL, 0), _HOP, _fields(HOP, 0)]
    parts += ["## Reasons", "Why somebody is refused, dropped or leaves.", _rows(("code", "name", "meaning"), codes)]
    for protocol in every:
        parts += _protocol(protocol)
    return "\n\n".join(parts) + "\n"


def _protocol(protocol: Protocol[Any]) -> Iterator[str]:
    headed = any(isinstance(layout, Format) for layout in protocol.packets)
    yield f"## {protocol.name.upper()}" + (f", protocol {protocol.number}" if headed else "")
    if not headed:
        yield "Its packets do not begin with the common header."
    items: list[Layout[Any]] = []
    for layout in protocol.packets:
        if isinstance(layout, Format):
            yield "### " + " and ".join(f"{kind.name}, type {int(kind)}" for kind in layout.kinds)
        else:
            yield f"### {layout.name}"
        meaning = layout.meaning or _docstring(layout.make)
        yield textwrap.fill(meaning, _COLUMNS, break_long_words=False, break_on_hyphens=False)
        if isinstance(layout, Format) and layout.flags:
            flags = ((f"0x{flag.mask:02x}", f"`{flag.name}`", flag.meaning) for flag in layout.flags)
            yield _rows(("flag", "name", "meaning"), flags)
        yield _fields(layout, HEADER_BYTES if isinstance(layout, Format) else 0)
        if isinstance(layout, Format) and (head := protocol.open_heads.get(int(layout.kinds[0]))):
            needed = " or ".join(f"`{flag.name}`" for flag in layout.flags if flag.mask & head.flags)
            yield f"Sealed for switches{', with ' if needed else ''}{needed}, its first {head.size} bytes are open."
        tail = layout.tail
        if isinstance(tail, Items) and tail.layout not in items:
            items.append(tail.layout)
    for part in protocol.parts:
        yield f"### {part.name}"
        yield textwrap.fill(part.meaning, _COLUMNS, break_long_words=False, break_on_hyphens=False)
        yield _fields(part, 0)
    for item in items:
        yield f"### One {item.name} of a list"
        yield _fields(item, 0)


def _docstring(made: Any) -> str:
    return " ".join((made.__doc__ or "").split())


def _fields(layout: Layout[Any], start: int) -> str:
    """`start`: bytes in front of it."""
    rows = (
        (_offset(place, start), _width(layout, place), f"`{place.name}`", _meaning(place)) for place in layout.places()
    )
    return _rows(("offset", "bits", "field", "meaning"), rows)


def _offset(place: Place, start: int) -> str:
    if place.at is None:
        return "behind"
    octet, bit = divmod(place.at, 8)
    return f"{start + octet}.{bit}" if place.field.bits % 8 else str(start + octet)


def _width(layout: Layout[Any], place: Place) -> str:
    field = place.field
    if field.bits:
        return str(field.bits)
    if isinstance(field, Words):
        return f"32 each, up to `{field.until}`"
    size = next(one.name for one in layout.fields if isinstance(one, Size))
    unit = 8 if isinstance(field, Payload) else 8 * layout.tail.unit if layout.tail else 0
    return f"{unit} × `{size}`"


def _meaning(place: Place) -> str:
    """With the values that it can have."""
    field = place.field
    if not isinstance(field, Number):
        return place.meaning
    largest = (1 << field.bits) - 1
    if field.names:
        known = (
            "a reason" if field.kind is Reason else ", ".join(f"{code} {name}" for code, name in field.names.items())
        )
    elif field.least == field.most:
        known = f"always {field.least}"
    elif field.kind is not bool and (field.least or field.most != largest):
        known = f"{field.least:,} to {field.most:,}" if field.most != largest else f"{field.least:,} or more"
    else:
        return place.meaning
    return f"{place.meaning} ({known})"


def _rows(titles: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    first, *others = (f"| {' | '.join(line)} |" for line in (titles, *rows))
    return "\n".join([first, "|-" * len(titles) + "|", *others])


if __name__ == "__main__":
    print(page(), end="")

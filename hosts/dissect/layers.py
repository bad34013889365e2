"""Scapy layers for the packets of every protocol, for tests and for reading captures.

    from hosts.dissect import layers
    layers.bind(5000)              # UDP port 5000 carries Canopy
    rdpcap("run.pcap")[UDP].show()
    layers.bind(5000, "webrc")     # or packets that do not begin with the common header

They are made of the layouts that the protocols' packages declare, so a layer says what endpoints send. Its name is the
protocol's and the packet's: `packet["MTCP JOIN_ACK"].window`.
"""

import contextlib
import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

from scapy.fields import (
    BitEnumField,
    BitField,
    ByteEnumField,
    ByteField,
    FieldLenField,
    FieldListField,
    IntField,
    IPField,
    LongField,
    PacketListField,
    ShortField,
    StrLenField,
    XByteField,
)
from scapy.layers.inet import UDP
from scapy.packet import Packet, bind_layers

from hosts import protocols
from hosts.wire.fields import Bitmap, Host, Number, Payload, Size, Words
from hosts.wire.format import Format
from hosts.wire.header import COMMON, HEADED_VERSION, SEALED_VERSION, VERSION
from hosts.wire.layout import Items, Layout, Place
from hosts.wire.sealed import HOP, SEAL, SEALED

PROTOCOLS: Final = {protocols.get(name).number: name.upper() for name in protocols.names()}
"""Their names by the number in the common header."""

_NUMBERS: Final = {8: ByteField, 16: ShortField, 32: IntField, 64: LongField}
_SIZES: Final = {8: "!B", 16: "!H"}


class _Item(Packet):
    """One of a list: what follows is the next one's."""

    def extract_padding(self, s: bytes) -> tuple[bytes, bytes]:
        return b"", s


_items: Final[dict[Layout[Any], type[Packet]]] = {}


def _make_class(protocol: str, layout: Layout[Any], base: type[Packet]) -> type[Packet]:
    """The layer of a layout."""
    body = {
        "name": f"{protocol} {layout.name}".strip(),
        "fields_desc": [_scapy_field(protocol, layout, place) for place in layout.places()],
    }
    return _new_class(protocol.title() + layout.name.title().replace("_", ""), base, body)


def _new_class(name: str, base: type[Packet], body: dict[str, Any]) -> type[Packet]:
    metaclass: Any = type(Packet)
    made: type[Packet] = metaclass(name, (base,), body)
    return made


def _scapy_field(protocol: str, layout: Layout[Any], place: Place) -> Any:
    name, field, at, _ = place
    tail = layout.tail
    if isinstance(field, Size):
        assert tail is not None
        if isinstance(tail, Payload):
            return FieldLenField(name, None, length_of=tail.name, fmt=_SIZES[field.bits])
        return FieldLenField(name, None, count_of=tail.name, fmt=_SIZES[field.bits])
    if isinstance(field, Payload):
        return StrLenField(name, b"", length_from=_getter(_size_name(layout)))
    if isinstance(field, Items):
        if field.layout not in _items:
            _items[field.layout] = _make_class(protocol, field.layout, _Item)
        return PacketListField(name, [], _items[field.layout], count_from=_getter(_size_name(layout)))
    if isinstance(field, Words):
        assert at is not None
        return FieldListField(name, [], IntField("word", 0), count_from=_getter(field.until, at // 32))
    if isinstance(field, Host):
        return IPField(name, "0.0.0.0")
    if isinstance(field, Bitmap):
        return BitField(name, 0, field.bits)
    default = field.default if isinstance(field, Number) else 0
    names = field.names
    if field.bits not in _NUMBERS:
        return BitEnumField(name, default, field.bits, names) if names else BitField(name, default, field.bits)
    return ByteEnumField(name, default, names) if names else _NUMBERS[field.bits](name, default)


def _size_name(layout: Layout[Any]) -> str:
    """The field that says how long the tail is."""
    return next(field.name for field in layout.fields if isinstance(field, Size))


def _getter(name: str, less: int = 0) -> Callable[[Packet], int]:
    """What a field says, less so much."""
    return lambda packet: max(0, packet.getfieldval(name) - less)


def _layers(name: str) -> dict[int, type[Packet]]:
    """A protocol's layers behind the common header, by type."""
    found: dict[int, type[Packet]] = {}
    for one in protocols.get(name).packets:
        if isinstance(one, Format):
            layer = _make_class(name.upper(), one, Packet)
            found |= {int(kind): layer for kind in one.kinds}
    return found


_HEADER_FIELDS: Final[dict[str, Any]] = {
    "protocol": ByteEnumField("protocol", min(PROTOCOLS), PROTOCOLS),
    "flags": XByteField("flags", 0),
}


class CanopyHeader(Packet):
    """hosts.wire.header."""

    name = "Canopy"
    fields_desc = [  # noqa: RUF012
        _HEADER_FIELDS.get(place.name) or _scapy_field("", COMMON, place) for place in COMMON.places()
    ]

    @classmethod
    def dispatch_hook(cls, data: bytes = b"", *_: object, **__: object) -> type[Packet]:
        """Scapy asks: a sealed packet is another."""
        version = data[0] if data else VERSION
        return {SEALED_VERSION: SealedHeader, HEADED_VERSION: HeadedHeader}.get(version, cls)


class SealedHeader(Packet):
    """hosts.wire.sealed; what is behind it cannot be read, and ends with the tag."""

    name = "Canopy, sealed"
    fields_desc = [  # noqa: RUF012
        _HEADER_FIELDS["protocol"] if place.name == "protocol" else _scapy_field("", SEALED, place)
        for place in SEALED.places()
    ]


class HeadedHeader(CanopyHeader):
    """The common header of a packet whose head is open, for switches; feedback is readable as a whole."""

    name = "Canopy, with an open head"


class SealTrailer(Packet):
    """hosts.wire.sealed, behind feedback."""

    name = "Canopy seal"
    fields_desc = [_scapy_field("", SEAL, place) for place in SEAL.places()]  # noqa: RUF012


class HopTrailer(Packet):
    """And behind that."""

    name = "Canopy hop"
    fields_desc = [_scapy_field("", HOP, place) for place in HOP.places()]  # noqa: RUF012


bind_layers(SealTrailer, HopTrailer)

LAYERS: Final[Mapping[int, Mapping[int, type[Packet]]]] = {
    number: layers for number, name in sorted(PROTOCOLS.items()) if (layers := _layers(name.lower()))
}
"""By the protocol's number in the common header, then by the packet's type."""

for _number, _by_type in LAYERS.items():
    for _type, _layer in _by_type.items():
        bind_layers(CanopyHeader, _layer, version=VERSION, protocol=_number, type=_type)
        _head = protocols.get(PROTOCOLS[_number].lower()).open_heads.get(_type)
        if _head is not None and _head.is_vouched:
            bind_layers(HeadedHeader, _layer, version=HEADED_VERSION, protocol=_number, type=_type)
            bind_layers(_layer, SealTrailer)


def _headless(name: str, layouts: list[Layout[Any]]) -> type[Packet]:
    """A layer for any of these layouts: the first whose fields can have the values that are there."""
    root: Any = _new_class(name.title(), Packet, {"name": name.upper()})
    made = [_make_class(name.upper(), layout, root) for layout in layouts]

    def choose(data: bytes = b"", *_: object, **__: object) -> type[Packet]:
        for layout, layer in zip(layouts, made, strict=True):
            with contextlib.suppress(ValueError, struct.error):
                layout.read(layout.struct.unpack_from(data), 0, {})
                return layer
        return made[0]

    root.dispatch_hook = staticmethod(choose)
    chosen: type[Packet] = root
    return chosen


HEADLESS: Final[Mapping[str, type[Packet]]] = {
    name: _headless(name, layouts)
    for name in protocols.names()
    if (layouts := [layout for layout in protocols.get(name).packets if not isinstance(layout, Format)])
}
"""Of protocols whose packets do not begin with the common header, by the protocol's name."""


def bind(port: int, protocol: str = "canopy") -> None:
    """Datagrams from or to a UDP port are Canopy's, or a protocol's of `HEADLESS`."""
    layer = HEADLESS.get(protocol, CanopyHeader)
    bind_layers(UDP, layer, sport=port)
    bind_layers(UDP, layer, dport=port)

"""Packet-in and packet-out: metadata as P4Info describes it, a packed header in front of the packet on the CPU port."""

from collections.abc import Mapping
from dataclasses import dataclass

from finsy.proto import p4r

from engine.switch.p4runtime import translation
from engine.switch.p4runtime.errors import P4RuntimeError, invalid_argument
from engine.switch.p4runtime.p4info import PacketHeaderInfo, ParamInfo


@dataclass(frozen=True, slots=True)
class PacketHeader:
    """A @controller_header as it stands in a packet: the fields in order, each with its bits there, without gaps, and
    filled up to whole bytes at the end."""

    fields: tuple[tuple[ParamInfo, int], ...]

    @property
    def width(self) -> int:
        return sum(width for _, width in self.fields)

    @property
    def size(self) -> int:
        """In bytes."""
        return (self.width + 7) // 8


def packet_header(
    info: PacketHeaderInfo | None, layouts: Mapping[tuple[str, ...], tuple[int, ...]]
) -> PacketHeader | None:
    """The header that P4Info describes; `layouts` has the widths of the program's headers by their fields' names, which
    are others than P4Info's where a type is translated. A header that the program does not have is of no use to it."""
    if info is None:
        return None
    names = tuple(field.name for field in info.fields)
    widths = layouts.get(names) or tuple(field.width for field in info.fields)
    return PacketHeader(tuple(zip(info.fields, widths, strict=True)))


def decode_packet_in(packet: bytes, header: PacketHeader | None) -> p4r.PacketIn | None:
    """The message for a packet that the program sent to the CPU port, None when it lacks the header."""
    if header is None:
        return p4r.PacketIn(payload=packet)
    size = header.size
    if len(packet) < size:
        return None
    message = p4r.PacketIn(payload=packet[size:])
    bits, shift = int.from_bytes(packet[:size], "big"), 8 * size
    for field, width in header.fields:
        shift -= width
        value = bits >> shift & ((1 << width) - 1)
        message.metadata.add(metadata_id=field.id, value=translation.encode(value, field.names))
    return message


def encode_packet_out(message: p4r.PacketOut, header: PacketHeader | None) -> bytes:
    """The packet to give to the program on the CPU port. Raises INVALID_ARGUMENT when metadata is not as declared."""
    given = {metadata.metadata_id: metadata.value for metadata in message.metadata}
    if len(given) != len(message.metadata):
        raise invalid_argument("packet-out: a metadata field is given twice")
    bits = 0
    for field, width in header.fields if header is not None else ():
        if field.id not in given:
            raise invalid_argument(f"packet-out: metadata field {field.name!r} is missing")
        what = f"packet-out, field {field.name!r}"
        try:
            value = translation.decode(given.pop(field.id), field.names, width, field.width, what)
        except P4RuntimeError as error:
            raise invalid_argument(error.message) from None
        bits = bits << width | value
    if given:
        raise invalid_argument(f"packet-out: no metadata field has id {min(given)}")
    if header is None:
        return message.payload
    return (bits << (8 * header.size - header.width)).to_bytes(header.size, "big") + message.payload

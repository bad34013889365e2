"""Packet-in and packet-out: metadata as P4Info describes it, a packed header in front of the packet on the CPU port."""

from finsy.proto import p4r

from engine.p4runtime import bytestrings
from engine.p4runtime.errors import P4RuntimeError, invalid_argument
from engine.p4runtime.p4info import PacketHeaderInfo


def decode_packet_in(packet: bytes, header: PacketHeaderInfo | None) -> p4r.PacketIn | None:
    """The message for a packet that the program sent to the CPU port, None when it lacks the header."""
    if header is None:
        return p4r.PacketIn(payload=packet)
    size = header.size
    if len(packet) < size:
        return None
    message = p4r.PacketIn(payload=packet[size:])
    bits, shift = int.from_bytes(packet[:size], "big"), 8 * size
    for field in header.fields:
        shift -= field.width
        value = bits >> shift & ((1 << field.width) - 1)
        message.metadata.add(metadata_id=field.id, value=bytestrings.encode(value))
    return message


def encode_packet_out(message: p4r.PacketOut, header: PacketHeaderInfo | None) -> bytes:
    """The packet to give to the program on the CPU port. Raises INVALID_ARGUMENT when metadata is not as declared."""
    given = {metadata.metadata_id: metadata.value for metadata in message.metadata}
    if len(given) != len(message.metadata):
        raise invalid_argument("packet-out: a metadata field is given twice")
    bits = 0
    for field in header.fields if header is not None else ():
        if field.id not in given:
            raise invalid_argument(f"packet-out: metadata field {field.name!r} is missing")
        try:
            value = bytestrings.decode(given.pop(field.id), field.width, f"packet-out, field {field.name!r}")
        except P4RuntimeError as error:
            raise invalid_argument(error.message) from None
        bits = bits << field.width | value
    if given:
        raise invalid_argument(f"packet-out: no metadata field has id {min(given)}")
    if header is None:
        return message.payload
    return (bits << (8 * header.size - header.width)).to_bytes(header.size, "big") + message.payload

"""WEBRC's packets: ALC (RFC 5775) over LCT (RFC 5651), with RFC 3738's congestion control information.

The codepoint is the FEC Encoding ID (RFC 6726, 5.1): 6 for RaptorQ (RFC 6330; block 8 bits, symbol 24 bits), 0 for data
without a code (RFC 5445; block 16 bits, symbol 16 bits). There is no common Canopy header in front.

Behind the extensions (with the FDT EXT_FDT, EXT_FTI) and the FEC Payload ID follows the encoding symbol.
"""

import struct
from typing import Final, NamedTuple

from hosts.wire.fields import Field, Number, Reserved, Words
from hosts.wire.header import ETHERNET_MTU_BYTES, IPV4_UDP_BYTES, SEALED_VERSION, PacketError
from hosts.wire.layout import Layout

NUMBER: Final = 3
"""Of the protocol, among Canopy's; it stands in no packet."""
LCT_VERSION: Final = 1
LINK_BYTES: Final = 14 + IPV4_UDP_BYTES
"""What a link carries around a datagram: Ethernet header, IPv4, UDP."""
FIXED_BYTES: Final = 12
"""LCT header without congestion control information and extensions."""
PAYLOAD_ID_BYTES: Final = 4
NO_CODE: Final = 0
RAPTORQ: Final = 6
FDT_TOI: Final = 0
OBJECT_TOI: Final = 1
EXT_FTI: Final = 64
EXT_SESSION: Final = 120
"""Ours (description.py), of the types that are each protocol instantiation's own and have a length (RFC 5651, 5.2)."""
EXT_FDT: Final = 192
FIRST_FIXED_EXTENSION: Final = 128
"""Extension types from here on are one word long, without a length (RFC 5651, 5.2)."""
FLUTE_VERSION: Final = 2
"""In EXT_FDT (RFC 6726, 3.4.1)."""
MAX_PACKET_BYTES: Final = 14 + ETHERNET_MTU_BYTES


def _lct(name: str, meaning: str, c: int, *congestion_control: Field) -> Layout[object]:
    """LCT's header with congestion control information of 1 + c words."""
    return Layout[object](
        name,
        None,
        Number("version", 4, "of LCT", least=LCT_VERSION, most=LCT_VERSION),
        Number("c", 2, "words of congestion control information, less 1", least=c, most=c),
        Number("psi", 2, "for the protocol; not used"),
        Number("s", 1, "the session has an identifier of 32 bits", least=1, most=1),
        Number("o", 2, "words of the object's identifier", least=1, most=1),
        Number("h", 1, "half words more in both identifiers", most=0),
        Reserved("reserved", 2),
        Number("close_session", 1, "the session ends"),
        Number("close_object", 1, "no more of this object is sent"),
        Number("header_words", 8, "32-bit words up to the FEC Payload ID", default=4 + c),
        Number("codepoint", 8, "FEC Encoding ID"),
        *congestion_control,
        Number("session", 32, "transport session identifier: the session's id"),
        Number("toi", 32, "transport object identifier: 0 the FDT"),
        Words("extensions", "header extensions", "header_words"),
        Number("payload_id", 32, "FEC Payload ID"),
        meaning=meaning,
    )


SHORT: Final = _lct(
    "short",
    "RFC 3738's short format.",
    0,
    Number("slot_index", 8, "TSI in the paper, CTSI in RFC 3738"),
    Number("channel", 8, "CN"),
    Number("psn", 16, "packet sequence number"),
)
LONG: Final = _lct(
    "long",
    "RFC 3738's long format.",
    1,
    Number("slot_index", 16, "TSI in the paper, CTSI in RFC 3738"),
    Number("channel", 16, "CN"),
    Number("psn", 32, "packet sequence number"),
)

_FIRST: Final = struct.Struct("!HBB")
"""What both formats begin with: the bits up to `close_object`, `header_words`, `codepoint`."""
_SHORT: Final = SHORT.struct
_LONG: Final = LONG.struct
_S: Final = 0x80
_O: Final = 0x20
_CLOSE: Final = 0x02
_FDT_FTI: Final = struct.Struct("!BBHIHHI")
"""EXT_FTI of FEC Encoding ID 0 (RFC 5445, 3.2.2): length 48 bits, 16 reserved, symbol bytes, symbols of a block."""
FDT_EXTENSION_BYTES: Final = 4 + _FDT_FTI.size
"""Of the two that a packet with the FDT has."""


class Alc(NamedTuple):
    """A packet of the session."""

    session: int
    slot_index: int
    """TSI in the paper, CTSI in RFC 3738."""
    channel: int
    """CN."""
    psn: int
    is_long: bool = False
    """Format of the three above."""
    toi: int = OBJECT_TOI
    encoding: int = RAPTORQ
    """FEC Encoding ID."""
    payload_id: int = 0
    """FEC Payload ID, 32 bits."""
    symbol: bytes = b""
    closes: bool = False
    """LCT's A: the session ends."""
    fdt_instance: int | None = None
    """With the FDT: which one."""
    fdt_bytes: int = 0
    """With the FDT: its length."""
    description: bytes = b""
    """The extension with the session's parameters (description.py), where it has one."""


def header_bytes(*, is_long: bool) -> int:
    """Of a packet of data, in front of the symbol."""
    return FIXED_BYTES + (8 if is_long else 4) + PAYLOAD_ID_BYTES


def payload_bytes(packet_bytes: int, *, is_long: bool) -> int:
    """What a packet that is so long on a link carries of data."""
    return packet_bytes - LINK_BYTES - header_bytes(is_long=is_long)


def encode(packet: Alc) -> bytes:
    """The datagram."""
    extensions = packet.description
    if packet.fdt_instance is not None:
        extensions += _fdt_extensions(packet)
    cci, cci_words = (_LONG, 2) if packet.is_long else (_SHORT, 1)
    flags = LCT_VERSION << 12 | (cci_words - 1) << 10 | _S | _O | (_CLOSE if packet.closes else 0)
    words = 3 + cci_words + len(extensions) // 4
    header = cci.pack(
        flags, words, packet.encoding, packet.slot_index, packet.channel, packet.psn, packet.session, packet.toi
    )
    return b"".join((header, extensions, packet.payload_id.to_bytes(4, "big"), packet.symbol))


def _fdt_extensions(packet: Alc) -> bytes:
    assert packet.fdt_instance is not None
    fdt = EXT_FDT << 24 | FLUTE_VERSION << 20 | packet.fdt_instance
    length = packet.fdt_bytes
    fti = _FDT_FTI.pack(EXT_FTI, 4, length >> 32, length & 0xFFFFFFFF, 0, len(packet.symbol), 1)
    return fdt.to_bytes(4, "big") + fti


def parse(data: bytes) -> Alc:
    """The packet in a datagram. PacketError: it is none, or of a kind that no sender of ours sends."""
    if len(data) < FIXED_BYTES + 4:
        raise PacketError("short")
    flags, words, encoding = _FIRST.unpack_from(data)
    if flags >> 12 != LCT_VERSION:
        raise PacketError("sealed" if flags >> 8 == SEALED_VERSION else "version")
    cci_words = 1 + (flags >> 10 & 3)
    # S = 1, O = 1, H = 0: identifiers of 32 bits; C of 0 or 1.
    if flags & 0xF0 != _S | _O or cci_words > 2:
        raise PacketError("format")
    fixed = FIXED_BYTES + 4 * cci_words
    start = 4 * words
    if start < fixed or len(data) < fixed:
        raise PacketError("short")
    _, _, _, slot_index, channel, psn, session, toi = (_SHORT if cci_words == 1 else _LONG).unpack_from(data)
    is_long, closes = cci_words == 2, bool(flags & _CLOSE)
    if len(data) < start + PAYLOAD_ID_BYTES:
        if closes and len(data) == start:  # ALC: a packet that only ends the session has no payload
            return Alc(session, slot_index, channel, psn, is_long, toi, encoding, closes=True)
        raise PacketError("short")
    payload_id = int.from_bytes(data[start : start + PAYLOAD_ID_BYTES], "big")
    symbol = data[start + PAYLOAD_ID_BYTES :]
    fdt_instance, fdt_bytes, description = (None, 0, b"") if start == fixed else _extensions(data[fixed:start])
    return Alc(
        session,
        slot_index,
        channel,
        psn,
        is_long,
        toi,
        encoding,
        payload_id,
        symbol,
        closes,
        fdt_instance,
        fdt_bytes,
        description,
    )


def _extensions(data: bytes) -> tuple[int | None, int, bytes]:
    """The FDT's instance and length and the session's description, where there are such; unknown extensions are skipped
    (RFC 5651, 5.2)."""
    instance, length, description = None, 0, b""
    at = 0
    while at < len(data):
        kind = data[at]
        size = 4 if kind >= FIRST_FIXED_EXTENSION else 4 * data[at + 1]
        if size == 0 or at + size > len(data):
            raise PacketError("extension")
        if kind == EXT_FDT:
            instance = int.from_bytes(data[at : at + 4], "big") & 0xFFFFF
        elif kind == EXT_FTI and size >= _FDT_FTI.size:
            _, _, high, low, _, _, _ = _FDT_FTI.unpack_from(data, at)
            length = high << 32 | low
        elif kind == EXT_SESSION:
            description = data[at : at + size]
        at += size
    return instance, length, description


def encode_close(session: int, slot_index: int, channel: int, psn: int, *, is_long: bool) -> bytes:
    """A packet that only says that the session ends."""
    return encode(Alc(session, slot_index, channel, psn, is_long, closes=True))[:-PAYLOAD_ID_BYTES]

"""WEBRC's packets: ALC (RFC 5775) over LCT (RFC 5651), with RFC 3738's congestion control information.

The codepoint is the FEC Encoding ID (RFC 6726, 5): 6 for RaptorQ (RFC 6330; block 8 bits, symbol 24 bits), 5 for
Reed-Solomon (RFC 5510; 24 and 8 bits), 0 for data without a code (RFC 5445; 16 and 16 bits). There is no common Canopy
header in front. Behind the extensions and the FEC Payload ID follows the encoding symbol.

What we send has identifiers of 32 bits; what others send may have any that LCT allows, and no congestion control.
"""

import struct
from functools import lru_cache
from typing import Any, Final, NamedTuple

from hosts.endpoint import Datagram
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
EXT_TIME: Final = 2
EXT_FTI: Final = 64
EXT_SESSION: Final = 120
"""Ours (description.py), of the types that are each protocol instantiation's own and have a length (RFC 5651, 5.2)."""
EXT_FDT: Final = 192
EXT_CENC: Final = 193
"""RFC 6726, 3.4.3: the content encoding of an FDT instance."""
FIRST_FIXED_EXTENSION: Final = 128
"""Extension types from here on are one word long, without a length (RFC 5651, 5.2)."""
FLUTE_VERSIONS: Final = (1, 2)
"""In EXT_FDT (RFC 3926, 3.4.1; RFC 6726, 3.4.1)."""
MAX_PACKET_BYTES: Final = 14 + ETHERNET_MTU_BYTES


def _lct(name: str, meaning: str, congestion_control: tuple[Field, ...], *, is_end: bool = False) -> Layout[object]:
    """LCT's header; `is_end`: of a packet without payload, and so without an object (RFC 6726, 3.1)."""
    words = sum(field.bits for field in congestion_control) // 32
    object_words = 0 if is_end else 1
    behind = (
        Number("toi", 32, "transport object identifier: 0 the FDT"),
        Words("extensions", "header extensions", "header_words"),
        Number("payload_id", 32, "FEC Payload ID"),
    )
    return Layout[object](
        name,
        None,
        Number("version", 4, "of LCT", least=LCT_VERSION, most=LCT_VERSION),
        Number("c", 2, "words of congestion control information, less 1", least=words - 1, most=words - 1),
        Number("psi", 2, "for the protocol; not used"),
        Number("s", 1, "the session has an identifier of 32 bits", least=1, most=1),
        Number("o", 2, "words of the object's identifier", least=object_words, most=object_words),
        Number("h", 1, "half words more in both identifiers", most=0),
        Reserved("reserved", 2),
        Number("close_session", 1, "the session ends", least=int(is_end)),
        Number("close_object", 1, "no more of this object is sent"),
        Number("header_words", 8, "32-bit words up to the FEC Payload ID", default=2 + words + object_words),
        Number("codepoint", 8, "FEC Encoding ID"),
        *congestion_control,
        Number("session", 32, "transport session identifier: the session's id"),
        *(() if is_end else behind),
        meaning=meaning,
    )


_SHORT_CCI: Final = (
    Number("slot_index", 8, "TSI in the paper, CTSI in RFC 3738"),
    Number("channel", 8, "CN"),
    Number("psn", 16, "packet sequence number"),
)
_LONG_CCI: Final = (
    Number("slot_index", 16, "TSI in the paper, CTSI in RFC 3738"),
    Number("channel", 16, "CN"),
    Number("psn", 32, "packet sequence number"),
)
SHORT: Final = _lct("short", "RFC 3738's short format.", _SHORT_CCI)
LONG: Final = _lct("long", "RFC 3738's long format.", _LONG_CCI)
SHORT_END: Final = _lct("short end", "The session ends, in RFC 3738's short format.", _SHORT_CCI, is_end=True)
LONG_END: Final = _lct("long end", "The session ends, in RFC 3738's long format.", _LONG_CCI, is_end=True)

_FIRST: Final = struct.Struct("!HBB")
"""What both formats begin with: the bits up to `close_object`, `header_words`, `codepoint`."""
_SHORT: Final = SHORT.struct
_LONG: Final = LONG.struct
_SHORT_DATA: Final = struct.Struct(_SHORT.format + "I")
_LONG_DATA: Final = struct.Struct(_LONG.format + "I")
"""With the FEC Payload ID."""
_S: Final = 0x80
_O: Final = 0x20
_CLOSE: Final = 0x02
_SCT_HIGH: Final = 0x8000
"""In EXT_TIME: the sender's time, seconds, follows (RFC 5651, 5.2.2)."""
_TIME: Final = struct.Struct("!BBHI")
FDT_EXTENSION_BYTES: Final = 4 + 4 + _TIME.size + 16
"""Of those that a packet with the FDT has at most: EXT_FDT, EXT_CENC, EXT_TIME, EXT_FTI."""


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
    description: bytes = b""
    """The extension with the session's parameters (description.py), where it has one."""
    fti: bytes = b""
    """EXT_FTI (flute/transmission.py), where it has one."""
    content_encoding: int = 0
    """EXT_CENC, with the FDT; 0: none."""
    sent_ntp: int | None = None
    """EXT_TIME: when the sender sent it, NTP seconds."""
    flute_version: int = 2
    """EXT_FDT's."""
    is_controlled: bool = True
    """Whether there is congestion control information; a sender without any says 0 (RFC 5775, 2.2)."""


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
        extensions = _fdt_extensions(packet) + extensions
    elif packet.fti:
        extensions = packet.fti + extensions
    cci, cci_words = (_LONG, 2) if packet.is_long else (_SHORT, 1)
    flags = LCT_VERSION << 12 | (cci_words - 1) << 10 | _S | _O | (_CLOSE if packet.closes else 0)
    words = 3 + cci_words + len(extensions) // 4
    header = cci.pack(
        flags, words, packet.encoding, packet.slot_index, packet.channel, packet.psn, packet.session, packet.toi
    )
    return b"".join((header, extensions, packet.payload_id.to_bytes(4, "big"), packet.symbol))


def encode_head(
    session: int, slot_index: int, channel: int, psn: int, is_long: bool, toi: int, encoding: int, payload_id: int
) -> bytes:
    """What is in front of the symbol in a packet without extensions, as nearly all are: as `encode` has it, in a third
    of the time."""
    whole, cci_words = (_LONG_DATA, 2) if is_long else (_SHORT_DATA, 1)
    flags = LCT_VERSION << 12 | (cci_words - 1) << 10 | _S | _O
    return whole.pack(flags, 3 + cci_words, encoding, slot_index, channel, psn, session, toi, payload_id)


def read_plain(data: bytes, size: int, *, is_long: bool) -> Alc | None:
    """The first packet, of `size` bytes, where it has this format, no extensions and closes nothing, as nearly all are;
    None: it is another one. As `parse` has it, in a third of the time."""
    whole, cci_words = (_LONG_DATA, 2) if is_long else (_SHORT_DATA, 1)
    if not whole.size < size <= len(data):
        return None
    flags, words, encoding, slot_index, channel, psn, session, toi, payload_id = whole.unpack_from(data)
    if flags != LCT_VERSION << 12 | (cci_words - 1) << 10 | _S | _O or words != 3 + cci_words:
        return None
    if not (slot_index | channel | psn):  # without congestion control
        return None
    return Alc(session, slot_index, channel, psn, is_long, toi, encoding, payload_id, data[whole.size : size])


def _fdt_extensions(packet: Alc) -> bytes:
    assert packet.fdt_instance is not None
    found = (EXT_FDT << 24 | packet.flute_version << 20 | packet.fdt_instance).to_bytes(4, "big")
    if packet.content_encoding:
        found += (EXT_CENC << 24 | packet.content_encoding << 16).to_bytes(4, "big")
    if packet.sent_ntp is not None:
        found += _TIME.pack(EXT_TIME, _TIME.size // 4, _SCT_HIGH, packet.sent_ntp & 0xFFFFFFFF)
    return found + packet.fti


def read_session(datagram: Datagram) -> int | None:
    """The session of a datagram that does not end it; None: it is no packet."""
    try:
        packet = parse(datagram.data)
    except PacketError:
        return None
    return None if packet.closes else packet.session


def parse(data: bytes) -> Alc:
    """The packet in a datagram. PacketError: it is none, or of a kind that cannot be used."""
    if len(data) < FIXED_BYTES:  # as long as LCT's header with identifiers of half a word each, and no more
        raise PacketError("short")
    flags, words, encoding = _FIRST.unpack_from(data)
    if flags >> 12 != LCT_VERSION:
        raise PacketError("sealed" if flags >> 8 == SEALED_VERSION else "version")
    cci_words = 1 + (flags >> 10 & 3)
    is_long, closes = cci_words == 2, bool(flags & _CLOSE)
    start = 4 * words
    if flags & 0xF0 == _S | _O and cci_words <= 2:  # as ours
        fixed = FIXED_BYTES + 4 * cci_words
        if start < fixed or len(data) < fixed:
            raise PacketError("short")
        _, _, _, slot_index, channel, psn, session, toi = (_SHORT if cci_words == 1 else _LONG).unpack_from(data)
    else:
        fixed, slot_index, channel, psn, session, toi = _identifiers(data, flags, cci_words, start)
    is_controlled = cci_words <= 2 and (slot_index | channel | psn) != 0
    if len(data) < start + PAYLOAD_ID_BYTES:
        if closes and len(data) == start:  # ALC: a packet that only ends the session has no payload
            return Alc(
                session, slot_index, channel, psn, is_long, toi, encoding, closes=True, is_controlled=is_controlled
            )
        raise PacketError("short")
    payload_id = int.from_bytes(data[start : start + PAYLOAD_ID_BYTES], "big")
    symbol = data[start + PAYLOAD_ID_BYTES :]
    packet = Alc(session, slot_index, channel, psn, is_long, toi, encoding, payload_id, symbol, closes)
    if start != fixed:
        packet = _with_extensions(packet, data[fixed:start])
    return packet if is_controlled else packet._replace(is_controlled=False)


parse_once: Final = lru_cache(maxsize=1)(parse)
"""The same, for receivers that share a process: they are handed the same bytes one after another."""


def _identifiers(data: bytes, flags: int, cci_words: int, start: int) -> tuple[int, int, int, int, int, int]:
    """Where the extensions begin, congestion control information as RFC 3738 has it, and identifiers of any length that
    LCT allows (RFC 5651, 5.1)."""
    half = 2 * (flags >> 4 & 1)
    session_at = 4 + 4 * cci_words
    toi_at = session_at + 4 * (flags >> 7 & 1) + half
    fixed = toi_at + 4 * (flags >> 5 & 3) + half
    if start < fixed or len(data) < fixed:
        raise PacketError("short")
    session, toi = int.from_bytes(data[session_at:toi_at], "big"), int.from_bytes(data[toi_at:fixed], "big")
    is_end = flags & _CLOSE and len(data) == start  # it is of no object
    if toi_at == session_at or (fixed == toi_at and not is_end):  # without them there is no FLUTE (RFC 6726, 3.1)
        raise PacketError("format")
    if cci_words == 1:
        return fixed, data[4], data[5], int.from_bytes(data[6:8], "big"), session, toi
    if cci_words == 2:
        slot_index, channel, psn = struct.unpack_from("!HHI", data, 4)
        return fixed, slot_index, channel, psn, session, toi
    return fixed, 0, 0, 0, session, toi


def _with_extensions(packet: Alc, data: bytes) -> Alc:
    """With what header extensions say; unknown ones are skipped (RFC 5651, 5.2)."""
    found: dict[str, Any] = {}
    at = 0
    while at < len(data):
        kind = data[at]
        size = 4 if kind >= FIRST_FIXED_EXTENSION else 4 * data[at + 1]
        if size == 0 or at + size > len(data):
            raise PacketError("extension")
        if kind == EXT_FDT:
            found["flute_version"] = data[at + 1] >> 4
            found["fdt_instance"] = int.from_bytes(data[at : at + 4], "big") & 0xFFFFF
            if found["flute_version"] not in FLUTE_VERSIONS:
                raise PacketError("version")
        elif kind == EXT_FTI:
            found["fti"] = data[at : at + size]
        elif kind == EXT_CENC:
            found["content_encoding"] = data[at + 1]
        elif kind == EXT_TIME and size >= _TIME.size:
            _, _, use, seconds = _TIME.unpack_from(data, at)
            if use & _SCT_HIGH:
                found["sent_ntp"] = seconds
        elif kind == EXT_SESSION:
            found["description"] = data[at : at + size]
        at += size
    return packet._replace(**found)


def encode_close(session: int, slot_index: int, channel: int, psn: int, *, is_long: bool) -> bytes:
    """A packet that only says that the session ends: without payload it has no object either (RFC 6726, 3.1)."""
    whole, words = (LONG_END.struct, 4) if is_long else (SHORT_END.struct, 3)
    flags = LCT_VERSION << 12 | (words - 3) << 10 | _S | _CLOSE
    return whole.pack(flags, words, NO_CODE, slot_index, channel, psn, session)

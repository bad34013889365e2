"""IGMP packets as the controller sends them: queries to hosts, and reports that it replays into a switch.

Built by hand from RFC 3376 and RFC 1112 (mapping to Ethernet): a few fixed fields do not need a packet library in a
long-running process.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from ipaddress import IPv4Address

ALL_HOSTS = IPv4Address("224.0.0.1")
ALL_IGMPV3_ROUTERS = IPv4Address("224.0.0.22")  # RFC 3376, section 4.2.14
MAX_RECORDS = 100  # with a source each they are 1,200 bytes, within an Ethernet frame

_QUERY = 0x11
_REPORT_V3 = 0x22
_ROUTER_ALERT = bytes([0x94, 0x04, 0x00, 0x00])  # RFC 2113
_IPPROTO_IGMP = 2
_TOS_INTERNETWORK_CONTROL = 0xC0  # RFC 3376, section 4

# Record types, RFC 3376, section 4.2.12.
_ALLOW_NEW_SOURCES = 5
_BLOCK_OLD_SOURCES = 6
_CHANGE_TO_INCLUDE = 3
_CHANGE_TO_EXCLUDE = 4


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071) of `data`, with a zero byte appended when its length is odd."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def group_mac(group: IPv4Address) -> bytes:
    """The Ethernet address of a multicast group (RFC 1112, section 6.4)."""
    return b"\x01\x00\x5e" + (int(group) & 0x7FFFFF).to_bytes(3, "big")


def parse_mac(mac: str) -> bytes:
    """`aa:bb:cc:dd:ee:ff` as six bytes."""
    return bytes.fromhex(mac.replace(":", ""))


def encode_time_code(value: int) -> int:
    """The 8-bit floating-point code of RFC 3376, sections 4.1.1 and 4.1.7, rounded down; at most 31744."""
    if value < 128:
        return max(value, 0)
    value = min(value, 31744)
    exponent = value.bit_length() - 8
    return 0x80 | exponent << 4 | (value >> (exponent + 3)) & 0x0F


def query(
    mac: str,
    sender: IPv4Address,
    asked: tuple[IPv4Address | None, IPv4Address] | None = None,
    *,
    response_s: float,
    interval_s: float,
    robustness: int,
) -> bytes:
    """An IGMPv3 query (RFC 3376, section 4.1), an Ethernet frame: a general one, or who is a member of (source, group),
    or of (None, group). Hosts answer within `response_s` seconds; `interval_s` is the one of general queries."""
    source, group = asked or (None, None)
    max_resp_code = max(1, encode_time_code(round(response_s * 10)))  # 0 would mean IGMPv1
    named = group.packed if group is not None else b""
    sources = source.packed if source is not None else b""
    interval_code = encode_time_code(round(interval_s))
    body = struct.pack("!BBH4sBBH", _QUERY, max_resp_code, 0, named, robustness, interval_code, len(sources) // 4)
    return frame(mac, sender, group or ALL_HOSTS, body + sources)  # section 4.1.12


def report(
    mac: str, sender: IPv4Address, groups: Sequence[tuple[IPv4Address | None, IPv4Address]], *, join: bool
) -> bytes:
    """An IGMPv3 report, an Ethernet frame: one record for each (source, group), or (None, group) for any source, all
    joins or all leaves. At most MAX_RECORDS."""
    if len(groups) > MAX_RECORDS:
        raise ValueError(f"{len(groups)} records are too many for one report")
    records = b""
    for source, group in groups:
        if source is None:
            kind, sources = (_CHANGE_TO_EXCLUDE if join else _CHANGE_TO_INCLUDE), b""
        else:
            kind, sources = (_ALLOW_NEW_SOURCES if join else _BLOCK_OLD_SOURCES), source.packed
        records += struct.pack("!BBH4s", kind, 0, len(sources) // 4, group.packed) + sources
    return frame(mac, sender, ALL_IGMPV3_ROUTERS, struct.pack("!BBHHH", _REPORT_V3, 0, 0, 0, len(groups)) + records)


def frame(mac: str, source: IPv4Address, destination: IPv4Address, body: bytes) -> bytes:
    """Put the checksum into an IGMP message, and IPv4 (with router alert) and Ethernet in front of it."""
    body = body[:2] + checksum(body).to_bytes(2, "big") + body[4:]
    header = struct.pack(
        "!BBHHHBBH4s4s4s",
        0x46,  # version 4, six words
        _TOS_INTERNETWORK_CONTROL,
        24 + len(body),
        0,
        0,
        1,  # TTL 1: never beyond the next hop
        _IPPROTO_IGMP,
        0,
        source.packed,
        destination.packed,
        _ROUTER_ALERT,
    )
    header = header[:10] + checksum(header).to_bytes(2, "big") + header[12:]
    return group_mac(destination) + parse_mac(mac) + b"\x08\x00" + header + body

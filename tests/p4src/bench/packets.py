"""Packets for the switch, built with Scapy, and what leaves it taken apart again."""

import ipaddress
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from scapy.layers.inet import IP, UDP, IPOption_Router_Alert
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Packet, Raw
from scapy.utils import checksum

from tests.p4src.bench.program import enum

SWITCH_MAC = "02:00:00:00:00:fe"
ALL_V3_ROUTERS = "224.0.0.22"
UDP_PORT = 5000
UDP_PROTOCOL = 17
KEPT = 256
"""Messages that are kept as they were made: tests send the same ones again and again, and Scapy takes its time."""


def address(text: str) -> int:
    """ "10.0.0.1" as a number."""
    return int(ipaddress.IPv4Address(text))


def mac(text: str) -> int:
    return int(text.replace(":", ""), 16)


def host_ip(port: int) -> str:
    """The host at a port, in tests that need no other plan."""
    return f"10.0.0.{port}"


def host_mac(port: int) -> str:
    return f"02:00:00:00:01:{port:02x}"


def group_mac(group: str) -> str:
    """RFC 1112 6.4."""
    low = address(group) & 0x7FFFFF
    return f"01:00:5e:{low >> 16:02x}:{low >> 8 & 0xFF:02x}:{low & 0xFF:02x}"


def unicast(source: str, destination: str, *, ttl: int = 8, size: int = 64, to_mac: str = SWITCH_MAC) -> Packet:
    """A UDP packet for the switch to route; fields may be changed before it is turned into bytes."""
    return (
        Ether(src=host_mac(1), dst=to_mac)
        / IP(src=source, dst=destination, ttl=ttl)
        / UDP(sport=5000, dport=5001)
        / Raw(bytes(index % 251 for index in range(size)))
    )


def data(source: str, group: str, *, ttl: int = 8, size: int = 64) -> Packet:
    """A UDP datagram to a group."""
    return unicast(source, group, ttl=ttl, size=size, to_mac=group_mac(group))


def udp_frame(source_mac: str, destination_mac: str, source: str, destination: str, ttl: int, payload: bytes) -> bytes:
    """A UDP datagram from and to `UDP_PORT` in a frame, with all checksums: as Scapy makes it
    (tests/p4src/whole/test_udp_frame.py), and a hundred times as fast, for tests that send ten thousands."""
    ends = ipaddress.IPv4Address(source).packed + ipaddress.IPv4Address(destination).packed
    length = 8 + len(payload)
    udp = struct.pack("!HHHH", UDP_PORT, UDP_PORT, length, 0)
    udp_checksum = checksum(ends + struct.pack("!HH", UDP_PROTOCOL, length) + udp + payload) or 0xFFFF  # RFC 768
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + length, 1, 0, ttl, UDP_PROTOCOL, 0) + ends
    return b"".join(
        (
            bytes.fromhex((destination_mac + source_mac).replace(":", "")),
            b"\x08\x00",
            ip[:10],
            struct.pack("!H", checksum(ip)),
            ends,
            udp[:6],
            struct.pack("!H", udp_checksum),
            payload,
        )
    )


def arp_request(sender_ip: str, sender_mac: str, target_ip: str) -> Packet:
    return Ether(src=sender_mac, dst="ff:ff:ff:ff:ff:ff") / ARP(op=1, hwsrc=sender_mac, psrc=sender_ip, pdst=target_ip)


@dataclass(frozen=True)
class Record:
    """One group record of an IGMPv3 report; `kind` is a member of record_type_t, or a number that is none."""

    kind: str | int
    group: str
    sources: Sequence[str] = ()
    auxiliary: bytes = b""

    def encode(self) -> bytes:
        kind = self.kind if isinstance(self.kind, int) else enum("record_type", self.kind)
        words = len(self.auxiliary) // 4
        head = struct.pack("!BBHI", kind, words, len(self.sources), address(self.group))
        return head + b"".join(struct.pack("!I", address(source)) for source in self.sources) + self.auxiliary


def igmp_message(kind: int, code: int, rest: bytes) -> bytes:
    """An IGMP message with its checksum."""
    message = struct.pack("!BBH", kind, code, 0) + rest
    return message[:2] + struct.pack("!H", checksum(message)) + message[4:]


def igmp_packet(
    message: bytes, *, source: str = "10.0.0.99", destination: str = ALL_V3_ROUTERS, router_alert: bool = True
) -> Packet:
    options = [IPOption_Router_Alert()] if router_alert else []
    ip = IP(src=source, dst=destination, ttl=1, tos=0xC0, proto=2, options=options)
    return Ether(src="02:00:00:00:00:99", dst=group_mac(destination)) / ip / Raw(message)


def report_message(records: Sequence[Record], *, count: int | None = None) -> bytes:
    """An IGMPv3 report; `count` lies about the number of records."""
    body = b"".join(record.encode() for record in records)
    number = len(records) if count is None else count
    return igmp_message(enum("igmp_type", "report_v3"), 0, struct.pack("!HH", 0, number) + body)


def report(*records: Record, source: str = "10.0.0.99", router_alert: bool = True) -> bytes:
    """An IGMPv3 report as it is on the wire."""
    return bytes(igmp_packet(report_message(records), source=source, router_alert=router_alert))


@lru_cache(maxsize=KEPT)
def join(group: str, source: str | None = None) -> bytes:
    """What a host sends upon joining: ALLOW for a source, TO_EX for any."""
    return report(Record("allow", group, [source]) if source else Record("to_ex", group))


@lru_cache(maxsize=KEPT)
def leave(group: str, source: str | None = None) -> bytes:
    return report(Record("block", group, [source]) if source else Record("to_in", group))


@lru_cache(maxsize=KEPT)
def report_v2(group: str) -> bytes:
    message = igmp_message(enum("igmp_type", "report_v2"), 0, struct.pack("!I", address(group)))
    return bytes(igmp_packet(message, destination=group))


@lru_cache(maxsize=KEPT)
def report_v1(group: str) -> bytes:
    message = igmp_message(enum("igmp_type", "report_v1"), 0, struct.pack("!I", address(group)))
    return bytes(igmp_packet(message, destination=group, router_alert=False))


@lru_cache(maxsize=KEPT)
def leave_v2(group: str) -> bytes:
    message = igmp_message(enum("igmp_type", "leave_v2"), 0, struct.pack("!I", address(group)))
    return bytes(igmp_packet(message, destination="224.0.0.2"))


def parse_report(packet: bytes) -> tuple[str, str, str | None]:
    """One of the switch's own reports as (record type, group, source or None); every other byte is asserted."""
    assert packet[0:6] == bytes.fromhex("01005e000016")
    assert packet[6:12] == bytes.fromhex(SWITCH_MAC.replace(":", ""))
    assert packet[12:14] == b"\x08\x00"
    ip = IP(packet[14:])
    assert (ip.version, ip.ihl, ip.tos, ip.ttl, ip.proto, ip.id, ip.frag, int(ip.flags)) == (4, 6, 0xC0, 1, 2, 0, 0, 0)
    assert (ip.src, ip.dst) == ("0.0.0.0", ALL_V3_ROUTERS)
    assert packet[34:38] == bytes.fromhex("94040000")
    assert len(packet) == 14 + ip.len
    assert checksum(packet[14:38]) == 0
    message = packet[38:]
    assert checksum(message) == 0
    kind, code, _, reserved, records = struct.unpack("!BBHHH", message[:8])
    assert (kind, code, reserved, records) == (0x22, 0, 0, 1)
    record_kind, auxiliary, number, group = struct.unpack("!BBHI", message[8:16])
    assert auxiliary == 0
    assert len(message) == 16 + 4 * number
    source = str(ipaddress.IPv4Address(message[16:20])) if number else None
    names = {enum("record_type", name): name for name in ("is_in", "is_ex", "to_in", "to_ex", "allow", "block")}
    return names[record_kind], str(ipaddress.IPv4Address(group)), source

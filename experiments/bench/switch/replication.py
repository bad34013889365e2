"""The project's program as it is used: one source, one group, eight members.

The members join by the IGMP reports that their kernels would send, so that the path measured is the one that real
packets take.
"""

import struct
from ipaddress import IPv4Address
from pathlib import Path

from experiments.bench.switch.workload import Entry, Workload, checksum, ipv4_packet, udp_datagram

PROGRAM_FOLDER = Path(__file__).resolve().parents[3] / "p4src"
PROGRAM_JSON = PROGRAM_FOLDER / "canopy.json"
PROGRAM_P4INFO = PROGRAM_FOLDER / "canopy.p4info.txtpb"

SOURCE_PORT = 1
MEMBER_PORTS = tuple(range(2, 10))
PACKET_BYTES = 1000

_SLOT = 0
_EPOCH_SHIFT = 40  # the longest that the program knows, 12 days: no member expires while it is measured
_SWITCH_MAC = 0x02CA00000001
_SOURCE = IPv4Address("10.0.0.1")
_GROUP = IPv4Address("232.1.1.1")
_IGMP_ROUTERS = IPv4Address("224.0.0.22")  # RFC 3376, 4.2.14
_ROUTER_ALERT = bytes.fromhex("94040000")  # RFC 2113
_MEMBERS_BITMAP = sum(1 << port - 1 for port in MEMBER_PORTS)

_IP_PROTOCOL_IGMP = 2
_IP_PROTOCOL_UDP = 17
_IGMP_V3_REPORT = 0x22
_ALLOW_NEW_SOURCES = 5

ENTRIES = (
    Entry("switch_config", None, "set_config", {"mac": _SWITCH_MAC, "epoch_shift": _EPOCH_SHIFT, "bitmap_groups": 1}),
    Entry(
        "route_sg",
        {"source": int(_SOURCE), "group": int(_GROUP)},
        "set_source_route",
        {"slot": _SLOT, "upstream": 0, "accept": 1 << SOURCE_PORT - 1},
    ),
)


def group_frame(source: IPv4Address, group: IPv4Address, packet: bytes) -> bytes:
    """An Ethernet frame to a group, with the MAC address that belongs to it (RFC 1112, 6.4)."""
    destination = 0x01005E000000 | int(group) & 0x7FFFFF
    return destination.to_bytes(6, "big") + b"\x02\x00" + source.packed + b"\x08\x00" + packet


def data_frame() -> bytes:
    """A UDP datagram of the source to the group, as a frame of `PACKET_BYTES`."""
    packet = ipv4_packet(_SOURCE, _GROUP, 64, _IP_PROTOCOL_UDP, udp_datagram(PACKET_BYTES - 14 - 20))
    return group_frame(_SOURCE, _GROUP, packet)


def join_frame(port: int) -> bytes:
    """The IGMPv3 report with which the host at a port joins the group."""
    record = struct.pack("!BBH", _ALLOW_NEW_SOURCES, 0, 1) + _GROUP.packed + _SOURCE.packed
    unfinished = struct.pack("!BBHHH", _IGMP_V3_REPORT, 0, 0, 0, 1) + record
    report = unfinished[:2] + struct.pack("!H", checksum(unfinished)) + unfinished[4:]
    source = IPv4Address(f"10.0.0.{port}")
    return group_frame(
        source, _IGMP_ROUTERS, ipv4_packet(source, _IGMP_ROUTERS, 1, _IP_PROTOCOL_IGMP, report, _ROUTER_ALERT)
    )


REPLICATION = Workload(
    name="canopy",
    title=f"Canopy, {PACKET_BYTES:,} bytes, 1 to {len(MEMBER_PORTS)}",
    program_json=PROGRAM_JSON,
    p4info=PROGRAM_P4INFO,
    input_port=SOURCE_PORT,
    output_ports=MEMBER_PORTS,
    frame=data_frame(),
    entries=ENTRIES,
    groups={_MEMBERS_BITMAP: MEMBER_PORTS},
    joins={port: join_frame(port) for port in MEMBER_PORTS},
)

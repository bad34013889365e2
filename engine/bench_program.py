"""The benchmark's configuration of the P4 program: one source, one group, eight members.

It is data, applied to the embedded switch through its own interface and to any switch through P4Runtime. The members
join by the IGMP reports that their kernels would send, so that the path measured is the one that real packets take.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import canopy_engine
import finsy as fy

PROGRAM_FOLDER = Path(__file__).resolve().parents[1] / "p4src"
PROGRAM_JSON = PROGRAM_FOLDER / "canopy.json"
PROGRAM_P4INFO = PROGRAM_FOLDER / "canopy.p4info.txtpb"

CPU_PORT = 510
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


@dataclass(frozen=True)
class Entry:
    """A table entry, or with match None the table's default entry. Names are aliases, values numbers."""

    table: str
    match: Mapping[str, int] | None
    action: str
    params: Mapping[str, int]


ENTRIES = (
    Entry("switch_config", None, "set_config", {"mac": _SWITCH_MAC, "epoch_shift": _EPOCH_SHIFT, "bitmap_groups": 1}),
    Entry(
        "route_sg",
        {"source": int(_SOURCE), "group": int(_GROUP)},
        "set_source_route",
        {"slot": _SLOT, "upstream": 0, "accept": 1 << SOURCE_PORT - 1},
    ),
)


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071) of an even number of bytes."""
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total >> 16) + (total & 0xFFFF)
    return ~total & 0xFFFF


def _ipv4_frame(
    source: IPv4Address, group: IPv4Address, ttl: int, protocol: int, payload: bytes, options: bytes = b""
) -> bytes:
    """An Ethernet frame to a group, with the MAC address that belongs to it (RFC 1112, 6.4)."""
    header_bytes = 20 + len(options)
    fields = (0x40 | header_bytes // 4, 0, header_bytes + len(payload), 0, 0, ttl, protocol)
    addresses = source.packed + group.packed + options
    unfinished = struct.pack("!BBHHHBBH", *fields, 0) + addresses
    header = struct.pack("!BBHHHBBH", *fields, checksum(unfinished)) + addresses
    destination = 0x01005E000000 | int(group) & 0x7FFFFF
    ethernet = destination.to_bytes(6, "big") + b"\x02\x00" + source.packed + b"\x08\x00"
    return ethernet + header + payload


def data_frame(length: int = PACKET_BYTES) -> bytes:
    """A UDP datagram of the source to the group, as a frame of `length` bytes."""
    udp_bytes = length - 14 - 20
    udp = struct.pack("!HHHH", 9000, 9000, udp_bytes, 0) + bytes(udp_bytes - 8)
    return _ipv4_frame(_SOURCE, _GROUP, 64, _IP_PROTOCOL_UDP, udp)


def join_frame(port: int) -> bytes:
    """The IGMPv3 report with which the host at a port joins the group."""
    record = struct.pack("!BBH", _ALLOW_NEW_SOURCES, 0, 1) + _GROUP.packed + _SOURCE.packed
    unfinished = struct.pack("!BBHHH", _IGMP_V3_REPORT, 0, 0, 0, 1) + record
    report = unfinished[:2] + struct.pack("!H", checksum(unfinished)) + unfinished[4:]
    return _ipv4_frame(IPv4Address(f"10.0.0.{port}"), _IGMP_ROUTERS, 1, _IP_PROTOCOL_IGMP, report, _ROUTER_ALERT)


def embedded_switch() -> canopy_engine.Switch:
    """A configured embedded switch that no member has joined at yet."""
    switch = canopy_engine.Switch(PROGRAM_JSON.read_text(), cpu_port=CPU_PORT)
    for entry in ENTRIES:
        _apply(switch, entry)
    switch.mcast_group_add(_MEMBERS_BITMAP, [(port, 0) for port in MEMBER_PORTS])
    return switch


def joined_switch() -> canopy_engine.Switch:
    """A configured embedded switch with all members, joined in process."""
    switch = embedded_switch()
    for port in MEMBER_PORTS:
        switch.process(port, join_frame(port))
    return switch


def _apply(switch: canopy_engine.Switch, entry: Entry) -> None:
    info = switch.table_info(entry.table)
    name, params = _find_action(info["actions"], entry.action)
    values = [_to_bytes(entry.params[param], bits) for param, bits in params]
    if entry.match is None:
        switch.table_set_default(entry.table, name, values)
        return
    key = [_to_bytes(entry.match[field["name"]], field["bits"]) for field in info["key"]]
    switch.table_add(entry.table, key, name, values)


def _find_action(actions: object, alias: str) -> tuple[str, Sequence[tuple[str, int]]]:
    assert isinstance(actions, list)
    return next((action["name"], action["params"]) for action in actions if action["name"].rpartition(".")[2] == alias)


def _to_bytes(value: int, bits: int) -> bytes:
    return value.to_bytes((bits + 7) // 8, "big")


async def configure(switch: fy.Switch) -> None:
    """Installs the same over P4Runtime."""
    entities = [
        fy.P4TableEntry(
            entry.table,
            match=None if entry.match is None else fy.P4TableMatch(entry.match),
            action=fy.P4TableAction(entry.action, **entry.params),
            is_default_action=entry.match is None,
        )
        for entry in ENTRIES
    ]
    # A default entry can only be modified.
    await switch.modify([entity for entity in entities if entity.is_default_action])
    await switch.insert([entity for entity in entities if not entity.is_default_action])
    await switch.insert([fy.P4MulticastGroupEntry(_MEMBERS_BITMAP, replicas=[(port, 0) for port in MEMBER_PORTS])])

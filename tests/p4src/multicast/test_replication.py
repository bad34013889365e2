"""replication.p4: copies, pruning, TTL, fragments, counters; switches of 12 and of 16 ports."""

import pytest
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

from tests.p4src.bench.packets import SWITCH_MAC, data, join, leave
from tests.p4src.bench.program import number
from tests.p4src.bench.setup import bitmap, install, route_group, route_source
from tests.p4src.bench.target import Target

SOURCE = "10.0.1.1"
GROUP = "232.1.1.1"


def _ports(target: Target, port: int, source: str = SOURCE) -> list[int]:
    return [out for out, _ in target.send(port, bytes(data(source, GROUP)))]


def test_each_copy_is_one_hop_on(switch: Target) -> None:
    route_source(switch, SOURCE, GROUP, 1, upstream=[1])
    for port in (2, 3, 8):
        switch.send(port, join(GROUP, SOURCE))
    packet = data(SOURCE, GROUP, ttl=8, size=1000)
    sent = switch.send(1, bytes(packet))
    expected = packet.copy()
    expected[Ether].src = SWITCH_MAC
    expected[IP].ttl = 7
    assert sent == [(port, bytes(expected)) for port in (2, 3, 8)]


@pytest.mark.parametrize("tos", [0b0010_1000 | ecn for ecn in range(4)])
@pytest.mark.parametrize("flooded", [False, True], ids=["group of the bitmap", "group of the slot"])
def test_every_copy_keeps_the_tos_byte(target: Target, tos: int, flooded: bool) -> None:
    ports = 16 if flooded else 8
    install(target, ports=ports)
    route_source(target, SOURCE, GROUP, 1, upstream=[1])
    for port in (2, 3, 8):
        target.send(port, join(GROUP, SOURCE))
    packet = data(SOURCE, GROUP)
    packet[IP].tos = tos
    sent = target.send(1, bytes(packet))
    assert [(port, IP(copy[14:]).tos) for port, copy in sent] == [(port, tos) for port in (2, 3, 8)]


def test_never_back_out_of_the_port_it_came_from(switch: Target) -> None:
    route_group(switch, GROUP, 1, accept=range(1, 9))
    for port in range(1, 9):
        switch.send(port, join(GROUP))
    for port in range(1, 9):
        assert _ports(switch, port) == [other for other in range(1, 9) if other != port]


def test_only_member_is_the_sender(switch: Target) -> None:
    route_group(switch, GROUP, 1, accept=range(1, 9))
    switch.send(3, join(GROUP))
    assert _ports(switch, 3) == []
    assert switch.drops() == {"no_members": 1}


@pytest.mark.parametrize(("ttl", "left"), [(0, None), (1, None), (2, 1), (255, 254)])
def test_ttl(switch: Target, ttl: int, left: int | None) -> None:
    route_group(switch, GROUP, 1, accept=[1, 2])
    switch.send(2, join(GROUP))
    sent = switch.send(1, bytes(data(SOURCE, GROUP, ttl=ttl)))
    assert [IP(packet[14:]).ttl for _, packet in sent] == ([] if left is None else [left])
    assert switch.drops() == ({"ttl_expired": 1} if left is None else {})


LAN = [2, 3, 4]


@pytest.mark.parametrize("ports", [8, 16], ids=["groups of bitmaps", "groups of slots"])
@pytest.mark.parametrize(
    ("port", "ttl", "expected"),
    [
        (2, 0, {}),
        (2, 1, {3: 1}),  # its own hosts only, and as it came
        (2, 2, {1: 1, 3: 1, 5: 1}),
        (5, 1, {}),  # of a port that is not the LAN's
        (4, 1, {3: 1}),
        (3, 1, {}),
    ],
)
def test_a_ttl_of_1_reaches_the_lan(target: Target, ports: int, port: int, ttl: int, expected: dict[int, int]) -> None:
    install(target, ports=ports)
    target.set_default("lan", "set_lan", {"lan_ports": bitmap(LAN)})
    route_group(target, GROUP, 1, accept=range(1, 6))
    for member in (1, 3, 5):
        target.send(member, join(GROUP))
    sent = target.send(port, bytes(data(SOURCE, GROUP, ttl=ttl)))
    assert {out: IP(packet[14:]).ttl for out, packet in sent} == expected
    assert all(IP(packet[14:]).chksum == _checksum(packet) for _, packet in sent)
    assert sum(target.drops().values()) == (not expected)


def _checksum(packet: bytes) -> int:
    header = IP(packet[14:])
    del header.chksum
    return int(IP(bytes(header)).chksum)


def test_fragments_of_a_datagram_are_forwarded(switch: Target) -> None:
    route_group(switch, GROUP, 1, accept=[1, 2])
    switch.send(2, join(GROUP))
    for flags, offset in (("MF", 0), ("MF", 185), (0, 370)):
        packet = data(SOURCE, GROUP)
        packet[IP].flags, packet[IP].frag = flags, offset
        ((port, sent),) = switch.send(1, bytes(packet))
        out = IP(sent[14:])
        assert (port, out.flags, out.frag, out.ttl) == (2, packet[IP].flags, offset, 7)


def test_copies_are_counted_per_slot_and_port(switch: Target) -> None:
    route_source(switch, SOURCE, GROUP, 4095, upstream=[1])
    switch.send(2, join(GROUP, SOURCE))
    switch.send(8, join(GROUP, SOURCE))
    packet = bytes(data(SOURCE, GROUP))
    for _ in range(3):
        switch.send(1, packet)
    switch.send(8, leave(GROUP, SOURCE))
    switch.send(1, packet)
    first = 4095 * number("MAX_PORTS") - 1
    assert switch.counter("slot_port", first + 2) == (4, 4 * len(packet))
    assert switch.counter("slot_port", first + 8) == (3, 3 * len(packet))
    assert switch.counter("slot_port", first + 1) == (0, 0)


def test_slots_are_apart(switch: Target) -> None:
    groups = [(f"232.0.{slot >> 8}.{slot & 255}", slot) for slot in (256, 257, 511, 4095)]
    for index, (group, slot) in enumerate(groups):
        route_source(switch, SOURCE, group, slot, upstream=[1])
        switch.send(2 + index, join(group, SOURCE))
    for index, (group, _) in enumerate(groups):
        assert [port for port, _ in switch.send(1, bytes(data(SOURCE, group)))] == [2 + index]


def test_twelve_ports_have_a_group_for_every_bitmap(target: Target) -> None:
    install(target, ports=12)
    route_group(target, GROUP, 1, accept=range(1, 13))
    members: list[int] = []
    for port in (12, 1, 7, 6, 11, 2, 10, 3, 9, 4, 8, 5):
        target.send(port, join(GROUP))
        members.append(port)
        assert _ports(target, 12) == sorted(set(members) - {12})
        assert _ports(target, 1) == sorted(set(members) - {1})
    for port in (5, 12, 1):
        target.send(port, leave(GROUP))
        members.remove(port)
        assert _ports(target, 4) == sorted(set(members) - {4})


def test_sixteen_ports_flood_until_the_slots_group_is_right(target: Target) -> None:
    install(target, ports=16)
    route_group(target, GROUP, 9, accept=range(1, 17))
    exact = number("FLOOD_GROUP") + 9
    for port in (2, 9, 16):
        target.send(port, join(GROUP))
    # No slot group yet.
    assert _ports(target, 1) == [2, 9, 16]
    assert _ports(target, 16) == [2, 9]
    # Exact for the members.
    target.set_groups({exact: [2, 9, 16]})
    params = {"multicast_group": exact, "ports": bitmap([2, 9, 16])}
    target.insert("slot_group", {"slot": 9}, "set_slot_group", params)
    assert _ports(target, 1) == [2, 9, 16]
    assert _ports(target, 9) == [2, 16]
    # A join that the controller has not followed yet is served at once, and so is a leave.
    target.send(3, join(GROUP))
    assert _ports(target, 1) == [2, 3, 9, 16]
    target.send(9, leave(GROUP))
    assert _ports(target, 1) == [2, 3, 16]
    # It follows.
    target.modify("slot_group", {"slot": 9}, "set_slot_group", {"multicast_group": exact, "ports": 0})
    target.change_group(exact, [2, 3, 16])
    assert _ports(target, 1) == [2, 3, 16]
    target.modify("slot_group", {"slot": 9}, "set_slot_group", {"multicast_group": exact, "ports": bitmap([2, 3, 16])})
    assert _ports(target, 1) == [2, 3, 16]
    assert _ports(target, 3) == [2, 16]
    assert target.drops() == {}


WIDE = [2, 17, 64, 65, 128, 129, 200, 256]


def test_256_ports(target: Target) -> None:
    install(target, ports=256)
    route_group(target, GROUP, 9, accept=range(1, 257))
    for port in WIDE:
        target.send(port, join(GROUP))
    assert _ports(target, 1) == WIDE
    assert _ports(target, 256) == WIDE[:-1]
    exact = number("FLOOD_GROUP") + 9
    target.set_groups({exact: WIDE[:-1]})  # less one, so that it can be told from the flood group
    target.insert("slot_group", {"slot": 9}, "set_slot_group", {"multicast_group": exact, "ports": bitmap(WIDE)})
    assert _ports(target, 1) == WIDE[:-1]
    target.send(129, leave(GROUP))
    assert _ports(target, 255) == [port for port in WIDE if port != 129]
    first = 9 * number("MAX_PORTS") - 1
    assert [target.counter("slot_port", first + port)[0] for port in (17, 129, 255, 256)] == [4, 3, 0, 2]
    assert target.drops() == {}


def test_beyond_256_ports(target: Target) -> None:
    install(target, ports=256)
    route_group(target, GROUP, 9, accept=range(1, 257))
    assert target.send(257, join(GROUP)) == []
    assert target.drops() == {"bad_port": 1}


def test_sixteen_ports_use_the_slots_group_when_it_is_exact(target: Target) -> None:
    """Seen from a group with too few ports, which the flood group would not have."""
    install(target, ports=16)
    route_group(target, GROUP, 9, accept=range(1, 17))
    for port in (2, 9, 16):
        target.send(port, join(GROUP))
    exact = number("FLOOD_GROUP") + 9
    target.set_groups({exact: [2, 9]})
    params = {"multicast_group": exact, "ports": bitmap([2, 9, 16])}
    target.insert("slot_group", {"slot": 9}, "set_slot_group", params)
    assert _ports(target, 1) == [2, 9]


def test_filtered_copies_are_not_counted(target: Target) -> None:
    install(target, ports=16)
    route_group(target, GROUP, 9, accept=range(1, 17))
    target.send(2, join(GROUP))
    assert _ports(target, 1) == [2]
    counts = [target.counter("slot_port", 9 * number("MAX_PORTS") + port - 1)[0] for port in range(1, 17)]
    assert counts == [0, 1] + 14 * [0]


def test_sixteen_ports_with_a_source_specific_and_an_any_source_slot(target: Target) -> None:
    install(target, ports=16)
    route_group(target, GROUP, 1, accept=range(1, 17))
    route_source(target, SOURCE, GROUP, 2, upstream=[1])
    target.send(15, join(GROUP))
    target.send(14, join(GROUP, SOURCE))
    assert _ports(target, 1) == [14, 15]
    exact = number("FLOOD_GROUP") + 2
    target.set_groups({exact: [14, 15]})
    target.insert("slot_group", {"slot": 2}, "set_slot_group", {"multicast_group": exact, "ports": bitmap([14, 15])})
    assert _ports(target, 1) == [14, 15]

"""group_routes.p4 and groups.p4: which data is taken from which port, and for whose members."""

import pytest
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

from tests.p4src.bench.packets import Record, data, join, leave, report
from tests.p4src.bench.program import enum, number
from tests.p4src.bench.setup import install, route_group, route_source
from tests.p4src.bench.target import Embedded, Target

SOURCE = "10.0.1.1"
OTHER_SOURCE = "10.0.1.2"
GROUP = "232.1.1.1"
OTHER_GROUP = "232.1.1.2"


def _ports(target: Target, port: int, source: str, group: str) -> list[int]:
    return [out for out, _ in target.send(port, bytes(data(source, group)))]


def test_unknown_group_is_dropped(switch: Target) -> None:
    route_source(switch, SOURCE, GROUP, 1, upstream=[1])
    assert _ports(switch, 1, OTHER_SOURCE, GROUP) == []
    assert _ports(switch, 1, SOURCE, OTHER_GROUP) == []
    assert switch.drops() == {"unknown_group": 2}


def test_data_without_members_is_dropped(switch: Target) -> None:
    route_source(switch, SOURCE, GROUP, 1, upstream=[1])
    assert _ports(switch, 1, SOURCE, GROUP) == []
    assert switch.drops() == {"no_members": 1}


def test_data_from_a_wrong_port_is_dropped(switch: Target) -> None:
    route_source(switch, SOURCE, GROUP, 1, upstream=[1])
    switch.send(2, join(GROUP, SOURCE))
    for port in (2, 3, 8):
        assert _ports(switch, port, SOURCE, GROUP) == []
    assert switch.drops() == {"wrong_port": 3}
    assert _ports(switch, 1, SOURCE, GROUP) == [2]


def test_own_source_has_no_upstream_but_a_port(switch: Target) -> None:
    route_source(switch, SOURCE, GROUP, 1, upstream=[], accept=[4])
    assert switch.send(2, join(GROUP, SOURCE)) == []
    assert _ports(switch, 4, SOURCE, GROUP) == [2]
    assert _ports(switch, 5, SOURCE, GROUP) == []


def test_sources_of_a_group_are_apart(switch: Target) -> None:
    route_source(switch, SOURCE, GROUP, 1, upstream=[1])
    route_source(switch, OTHER_SOURCE, GROUP, 2, upstream=[1])
    switch.send(2, join(GROUP, SOURCE))
    switch.send(3, join(GROUP, OTHER_SOURCE))
    assert _ports(switch, 1, SOURCE, GROUP) == [2]
    assert _ports(switch, 1, OTHER_SOURCE, GROUP) == [3]


def test_any_source_group_takes_data_from_its_ports_only(switch: Target) -> None:
    route_group(switch, GROUP, 3, upstream=[1, 2], accept=[1, 2, 5])
    for port in (1, 5, 6):
        switch.send(port, join(GROUP))
    assert _ports(switch, 1, SOURCE, GROUP) == [5, 6]
    assert _ports(switch, 5, OTHER_SOURCE, GROUP) == [1, 6]
    assert _ports(switch, 6, OTHER_SOURCE, GROUP) == []
    assert switch.drops() == {"wrong_port": 1}


def test_any_source_members_get_source_specific_data_too(switch: Target) -> None:
    route_group(switch, GROUP, 3, upstream=[1], accept=[1, 2, 3, 4])
    route_source(switch, SOURCE, GROUP, 4, upstream=[1])
    switch.send(2, join(GROUP))
    switch.send(3, join(GROUP, SOURCE))
    switch.send(4, join(GROUP, SOURCE))
    switch.send(4, join(GROUP))
    assert _ports(switch, 1, SOURCE, GROUP) == [2, 3, 4]
    assert _ports(switch, 1, OTHER_SOURCE, GROUP) == [2, 4]
    # The source's entry decides where its data may come from.
    assert _ports(switch, 2, SOURCE, GROUP) == []
    assert _ports(switch, 2, OTHER_SOURCE, GROUP) == [4]
    switch.send(4, leave(GROUP, SOURCE))
    assert _ports(switch, 1, SOURCE, GROUP) == [2, 3, 4]
    switch.send(4, leave(GROUP))
    assert _ports(switch, 1, SOURCE, GROUP) == [2, 3]


@pytest.mark.parametrize("group", ["224.0.0.1", "224.0.0.22", "224.0.0.251", "224.0.0.255"])
def test_link_local_groups_are_not_routed(switch: Target, group: str) -> None:
    route_group(switch, group, 3, upstream=[1], accept=[1, 2])
    assert switch.send(2, join(group)) == []
    assert _ports(switch, 1, SOURCE, group) == []
    assert switch.drops() == {"link_local": 1}
    assert switch.digests() == []


def test_group_just_above_link_local(switch: Target) -> None:
    route_group(switch, "224.0.1.0", 3, accept=[1, 2])
    switch.send(2, join("224.0.1.0"))
    assert _ports(switch, 1, SOURCE, "224.0.1.0") == [2]


def test_data_must_be_for_the_groups_mac(switch: Target) -> None:
    route_group(switch, GROUP, 3, accept=[1, 2])
    switch.send(2, join(GROUP))
    packet = data(SOURCE, GROUP)
    for wrong in ("ff:ff:ff:ff:ff:ff", "01:00:5e:01:01:02", "01:00:5e:81:01:01", "02:00:00:00:00:fe"):
        packet[Ether].dst = wrong
        assert switch.send(1, bytes(packet)) == []
    assert switch.drops() == {"foreign_mac": 4}


def test_group_addresses_that_share_a_mac_are_apart(switch: Target) -> None:
    route_group(switch, "232.1.1.1", 3, accept=[1, 2])
    switch.send(2, join("232.1.1.1"))
    assert _ports(switch, 1, SOURCE, "233.1.1.1") == []
    assert _ports(switch, 1, SOURCE, "232.129.1.1") == []
    assert switch.drops() == {"unknown_group": 2}


@pytest.mark.parametrize("port", [257, 258, 273, 400, 509])
def test_ports_without_a_bit_take_no_part(switch: Target, port: int) -> None:
    route_group(switch, GROUP, 3, accept=range(1, 17))
    switch.send(2, join(GROUP))
    assert switch.send(port, join(GROUP)) == []
    assert _ports(switch, port, SOURCE, GROUP) == []
    assert switch.drops() == {"bad_port": 2}
    assert _ports(switch, 1, SOURCE, GROUP) == [2]


def test_all_slots_at_once(embedded: Embedded) -> None:
    """4,096 (source, group) entries, of which each has the members that its own reports say."""
    install(embedded)
    slots = number("MAX_SLOTS")
    groups = [f"232.{slot >> 8}.{slot & 255}.7" for slot in range(slots)]
    for slot, group in enumerate(groups):
        route_source(embedded, SOURCE, group, slot, upstream=[1])
    records = [Record("allow", group, [SOURCE]) for slot, group in enumerate(groups) if slot % 3 == 0]
    for first in range(0, len(records), 100):
        embedded.send(2, report(*records[first : first + 100], router_alert=False))
    for slot in (0, 1, 2, 3, 1023, 1024, 2047, 2048, 4094, 4095):
        assert _ports(embedded, 1, SOURCE, groups[slot]) == ([2] if slot % 3 == 0 else []), slot
    joined = [digest["slot"] for digest in embedded.digests()]
    assert joined == list(range(0, slots, 3))


def test_entries_change_while_members_stay(switch: Target) -> None:
    """A new tree: the source is behind another port now, the members need not join again."""
    route_source(switch, SOURCE, GROUP, 1, upstream=[1])
    switch.send(3, join(GROUP, SOURCE))
    switch.delete("route_sg", {"source": 0x0A000101, "group": 0xE8010101})
    assert _ports(switch, 1, SOURCE, GROUP) == []
    route_source(switch, SOURCE, GROUP, 1, upstream=[2])
    assert _ports(switch, 2, SOURCE, GROUP) == [3]
    assert _ports(switch, 1, SOURCE, GROUP) == []


def test_replayed_data_counts_as_arriving_at_its_port(switch: Target) -> None:
    route_source(switch, SOURCE, GROUP, 1, upstream=[1])
    switch.send(3, join(GROUP, SOURCE))
    packet = bytes(data(SOURCE, GROUP))
    mode = enum("packet_out_mode", "receive")
    assert [port for port, _ in switch.packet_out(packet, port=1, mode=mode)] == [3]
    assert switch.packet_out(packet, port=2, mode=mode) == []
    ((_, sent),) = switch.packet_out(packet, port=1, mode=mode)
    assert IP(sent[14:]).ttl == 7
    assert len(sent) == len(packet)

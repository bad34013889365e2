from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import finsy as fy
import pytest

from controller.groups import GroupKey, Slot
from controller.program import MembersChanged, Program, ProgramError, UnknownGroup, bitmap, ports
from controller.state import difference, make_state
from controller.trees import Route

PROGRAM = Program()
SOURCE, GROUP = IPv4Address("10.0.0.1"), IPv4Address("232.1.0.1")


def test_bitmaps() -> None:
    assert bitmap([1, 3, 16]) == 0b1000000000000101
    assert ports(0b1000000000000101) == {1, 3, 16}
    assert ports(0) == frozenset()


def test_a_switch_of_up_to_12_ports_has_a_group_for_each_set_of_them() -> None:
    entries = PROGRAM.port_groups([2, 5, 12])
    assert {str(entry) for entry in entries} == {
        "multicast_group 2 -> 2",
        "multicast_group 16 -> 5",
        "multicast_group 2048 -> 12",
        "multicast_group 18 -> 2 5",
        "multicast_group 2050 -> 2 12",
        "multicast_group 2064 -> 5 12",
        "multicast_group 2066 -> 2 5 12",
    }
    assert len(PROGRAM.port_groups(range(1, 13))) == 2**12 - 1
    assert PROGRAM.port_groups([12, 2, 5]) is entries


def test_a_larger_switch_has_a_group_of_all_ports() -> None:
    assert [str(entry) for entry in PROGRAM.port_groups([1, 13])] == ["multicast_group 4096 -> 1 13"]
    assert not PROGRAM.has_bitmap_groups([13])
    assert PROGRAM.has_bitmap_groups([])


def test_slots_name_their_ports() -> None:
    source_specific = PROGRAM.slot(Slot(7, GroupKey(SOURCE, GROUP)), [3], [3])
    any_source = PROGRAM.slot(Slot(8, GroupKey(None, GROUP)), [3, 4], [1, 3, 4])
    assert str(source_specific) == (
        "route_sg source=0xa000001 group=0xe8010001 -> set_source_route(accept=0x4, slot=0x7, upstream=0x4)"
    )
    assert str(any_source) == "route_g group=0xe8010001 -> set_group_route(accept=0xd, slot=0x8, upstream=0xc)"
    assert PROGRAM.slot_of(source_specific) == (7, GroupKey(SOURCE, GROUP))
    assert PROGRAM.slot_of(any_source) == (8, GroupKey(None, GROUP))
    assert PROGRAM.slot_of(PROGRAM.route(Route(IPv4Network(SOURCE), 1, "02:00:00:00:00:01"))) is None


def test_what_is_read_back_reads_the_same() -> None:
    """Through P4Runtime's messages and back, with another order of parameters and replicas."""
    entries = [
        PROGRAM.switch_config("02:00:00:00:00:01", 25, bitmap_groups=True),
        PROGRAM.assist([2, 3]),
        PROGRAM.route(Route(IPv4Network(SOURCE), 1, "02:00:00:00:00:01")),
        PROGRAM.slot(Slot(7, GroupKey(SOURCE, GROUP)), [3], [3]),
        PROGRAM.slot_group(7, 4099, [1, 2]),
        PROGRAM.multicast_group(4099, [1, 2]),
        *PROGRAM.report_sessions([1]),
        *PROGRAM.digests(),
    ]
    for entry in entries:
        message = entry.entity.encode(PROGRAM.schema)
        if message.HasField("table_entry"):
            parameters = list(message.table_entry.action.action.params)
            del message.table_entry.action.action.params[:]
            message.table_entry.action.action.params.extend(reversed(parameters))
        again = PROGRAM.describe(type(entry.entity).decode(message, PROGRAM.schema))
        assert (again.key, again.value) == (entry.key, entry.value)


def test_large_switches_groups_are_recognised() -> None:
    entry = PROGRAM.slot_group(7, 4099, [1, 2])
    assert PROGRAM.slot_group_of(entry) == (7, 4099, frozenset({1, 2}))
    group = PROGRAM.multicast_group(4099, [1, 2])
    decoded = fy.P4MulticastGroupEntry.decode(group.entity.encode(PROGRAM.schema), PROGRAM.schema)
    assert PROGRAM.bitmap_group_of(PROGRAM.describe(decoded)) == (4099, frozenset({1, 2}))
    assert PROGRAM.bitmap_group_of(PROGRAM.multicast_group(4096, [1])) is None
    assert PROGRAM.slot_group_of(group) is None


def test_digests() -> None:
    key = {"source": int(SOURCE), "group": int(GROUP), "timestamp": 1}
    assert PROGRAM.decode_digest("unknown_group", key | {"port": 3}) == UnknownGroup(GroupKey(SOURCE, GROUP), 3)
    changed = key | {"source": 0, "change": 2, "slot": 9, "ports": 0b10, "members": 0b101}
    assert PROGRAM.decode_digest("members_changed", changed) == MembersChanged(
        "leave", 9, GroupKey(None, GROUP), frozenset({2}), frozenset({1, 3})
    )
    with pytest.raises(ValueError, match="members_changed"):
        PROGRAM.decode_digest("members_changed", {})


def test_packets() -> None:
    out = PROGRAM.send_out(b"frame", [1, 3])
    assert (out.payload, out["port"], out["mode"], out["ports"]) == (b"frame", 0, 2, 0b101)
    replayed = PROGRAM.receive_at(b"frame", 5)
    assert (replayed["port"], replayed["mode"], replayed["ports"]) == (5, 1, 0)
    packet_in = fy.P4PacketIn(b"", metadata={"ingress_port": 4, "reason": 3})
    assert PROGRAM.packet_in_reason(packet_in) == ("igmp_query", 4)
    assert PROGRAM.drop_reasons({16: 5, 99: 1}) == {"wrong_port": 5, "99": 1}


def test_a_program_that_is_missing_or_broken(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="No such file"):
        Program(tmp_path)
    for name in ("canopy.p4info.txtpb", "canopy.json", "canopy.constants.json"):
        (tmp_path / name).write_text("{")
    with pytest.raises(ProgramError, match=str(tmp_path)):
        Program(tmp_path)


def test_differences_are_exact_and_in_an_order_that_disturbs_least() -> None:
    group, other = PROGRAM.multicast_group(4097, [1]), PROGRAM.multicast_group(4098, [1, 2])
    have = make_state([PROGRAM.slot_group(1, 4097, [1]), group, PROGRAM.slot_group(2, 4097, [1])])
    want = make_state([PROGRAM.slot_group(1, 4098, [1, 2]), PROGRAM.slot_group(3, 4098, [1, 2]), other])
    changes = difference(have, want)
    assert [entry.key for entry in changes.inserts] == ["multicast_group 4098", "slot_group slot=0x3"]
    assert [entry.key for entry in changes.modifies] == ["slot_group slot=0x1"]
    assert [entry.key for entry in changes.deletes] == ["slot_group slot=0x2", "multicast_group 4097"]
    assert len(difference(want, want)) == 0
    assert str(changes) == "2 inserted, 1 modified, 2 deleted"
    with pytest.raises(ValueError, match="two entries for multicast_group 4097"):
        make_state([group, group])


def test_a_default_action_is_only_ever_modified() -> None:
    config = PROGRAM.switch_config("02:00:00:00:00:01", 25, bitmap_groups=True)
    other = PROGRAM.switch_config("02:00:00:00:00:01", 24, bitmap_groups=True)
    for have in ([], [other]):
        changes = difference(make_state(have), make_state([config]))
        assert (changes.inserts, changes.modifies, changes.deletes) == ((), (config,), ())
    assert len(difference(make_state([config]), {})) == 0
    start = fy.P4TableEntry("switch_config", is_default_action=True, action=fy.Action("not_configured"))
    assert PROGRAM.is_unconfigured(PROGRAM.describe(start))
    assert not PROGRAM.is_unconfigured(config)

"""Decisions without switches: what is wanted, what is sent, what is told, with time moved by hand."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable
from ipaddress import IPv4Address
from typing import Any

import finsy as fy
import pytest

from controller.core import Core, epoch_shift
from controller.events import EventLog
from controller.groups import GroupKey, SlotTable
from controller.network import Network, SessionSpec
from controller.program import Program, bitmap
from controller.state import Difference
from tests.controller import networks
from tests.controller.fat_tree import fat_tree

PROGRAM = Program()
SOURCE, GROUP, ANY = IPv4Address("10.0.0.1"), IPv4Address("232.1.0.1"), IPv4Address("239.1.0.1")
KEY, ANY_KEY = GroupKey(SOURCE, GROUP), GroupKey(None, ANY)
NOTHING = Difference((), (), ())


class Switch:
    """A switch's app that only remembers."""

    def __init__(self) -> None:
        self.touched = 0
        self.packets: list[fy.P4PacketOut] = []

    def touch(self) -> None:
        self.touched += 1

    def send(self, packets: Iterable[fy.P4PacketOut]) -> None:
        self.packets += packets

    def take(self) -> list[tuple[int, bytes]]:
        """Replayed reports: (port, record type and group and source)."""
        packets, self.packets = self.packets, []
        return [(packet["port"], packet.payload[46:47] + packet.payload[50:]) for packet in packets]


class World:
    """A core with its switches and a clock."""

    def __init__(self, network: Network, *, begin: bool = True, **options: Any) -> None:
        self.now = 1000.0
        self.events = EventLog(None)
        self.core = Core(network, PROGRAM, self.events, clock=lambda: self.now, **options)
        self.switches = {spec.name: Switch() for spec in network.switches}
        self.core.connect(self.switches)
        if begin:
            self.core.begin()

    def entries(self, switch: str, table: str) -> list[str]:
        return [str(entry) for entry in self.core.wanted(switch) if entry.key.startswith(table)]

    def unknown(self, switch: str, port: int, key: GroupKey) -> None:
        item = {"source": int(key.source or 0), "group": int(key.group), "port": port, "timestamp": 1}
        self.core.digest(switch, "unknown_group", item)

    def changed(self, switch: str, key: GroupKey, change: int, ports: list[int], members: list[int]) -> None:
        slot = self.core.slots.get(key)
        item = {
            "change": change,
            "slot": slot.index if slot else 0,
            "source": int(key.source or 0),
            "group": int(key.group),
            "ports": bitmap(ports),
            "members": bitmap(members),
            "timestamp": 1,
        }
        self.core.digest(switch, "members_changed", item)

    def kinds(self) -> list[str]:
        return [event["event"] for event in self.events.recent(1000)]


JOIN, LEAVE, EXPIRE, REFRESH, LEAVING = 1, 2, 3, 4, 5


def line(**fields: Any) -> World:
    """h1, h2 on s1; h3 on s2; h4 on s3."""
    return World(Network.model_validate(networks.line() | fields))


def test_an_epoch_covers_the_membership_interval() -> None:
    assert epoch_shift(22.0) == 25
    assert 2**24 / 1e6 < 22.0 <= 2**25 / 1e6
    assert epoch_shift(0.001) == 18
    assert epoch_shift(1e9) == 40


def test_an_unknown_group_gets_a_slot_everywhere_and_its_join_again() -> None:
    world = line()
    world.unknown("s3", 1, KEY)
    assert {name: switch.touched for name, switch in world.switches.items()} == {"s1": 2, "s2": 2, "s3": 2}
    assert [len(world.entries(name, "route_sg")) for name in ("s1", "s2", "s3")] == [1, 1, 1]
    assert world.switches["s3"].take() == [(1, b"\x05" + GROUP.packed + SOURCE.packed)]
    world.unknown("s2", 3, KEY)  # from a switch that had not heard of it yet: replayed, no second slot
    assert world.switches["s2"].take() == [(3, b"\x05" + GROUP.packed + SOURCE.packed)]
    assert len(world.core.slots) == 1
    world.unknown("s3", 1, ANY_KEY)
    assert world.switches["s3"].take() == [(1, b"\x04" + ANY.packed)]


def test_refusals_are_told_but_not_each_one() -> None:
    world = line()
    for n in range(300):
        world.unknown("s3", 1, GroupKey(None, ANY + n))
    assert len(world.core.slots) == world.core.slots.held_by(("s3", 1)) == 256
    refused = [event for event in world.events.recent(1000) if event["event"] == "refused"]
    assert [(event["port"], event["unreported"]) for event in refused] == [(1, 0)]
    world.now += 6
    world.unknown("s3", 1, GroupKey(None, ANY + 999))
    assert world.events.recent(1)[0]["unreported"] == 43
    world.unknown("s3", 1, GroupKey(IPv4Address("10.9.9.9"), GROUP))
    world.unknown("s3", 9, KEY)
    assert len(world.core.slots) == 256


def test_members_follow_the_switches_word() -> None:
    world = line()
    world.unknown("s1", 1, KEY)
    world.changed("s1", KEY, JOIN, [1], [1])
    world.changed("s1", KEY, JOIN, [2], [1, 2])
    world.changed("s1", KEY, REFRESH, [2], [1, 2])
    assert world.core.members.ports(KEY) == {("s1", 1), ("s1", 2)}
    world.changed("s1", KEY, LEAVE, [1], [2])
    world.changed("s1", KEY, EXPIRE, [2], [])
    assert world.core.members.ports(KEY) == frozenset()
    assert world.kinds() == ["group_added", "join", "join", "leave", "expire"]


def test_a_digest_makes_up_for_those_that_were_lost() -> None:
    world = line()
    world.unknown("s1", 1, KEY)
    world.changed("s1", KEY, REFRESH, [2], [1, 2])
    assert world.core.members.ports(KEY) == {("s1", 1), ("s1", 2)}
    world.changed("s1", KEY, REFRESH, [3], [3])
    assert world.core.members.ports(KEY) == {("s1", 3)}
    assert world.kinds()[1:] == ["join", "join", "join", "leave", "leave"]


def test_a_digest_about_a_slot_that_was_given_back_is_ignored() -> None:
    world = line()
    world.changed("s1", KEY, JOIN, [1], [1])
    world.core.digest("s1", "members_changed", {"nonsense": 1})
    assert len(world.core.members) == 0


def test_silent_members_and_idle_groups_go() -> None:
    world = line()
    world.unknown("s1", 1, KEY)
    world.changed("s1", KEY, JOIN, [1], [1])
    world.now += world.core.members.lifetime_s - 1
    world.core.tick()
    assert len(world.core.members) == 1
    world.now += 1
    world.core.tick()
    assert len(world.core.members) == 0
    assert len(world.core.slots) == 1
    touched = world.switches["s2"].touched
    world.now += 120
    world.core.tick()
    assert len(world.core.slots) == 0
    assert world.switches["s2"].touched == touched + 1
    assert world.kinds() == ["group_added", "join", "expire", "group_removed"]


def test_a_group_that_makes_room_for_others_is_taken_from_the_switches_too() -> None:
    """Also when the room comes too late for the one that asked: the slot rests, and must have no new members."""
    world = line()
    core = world.core
    core.slots = SlotTable(size=2, rest_s=60.0, idle_s=600.0)
    for n in range(2):
        world.unknown("s1", 1, GroupKey(None, ANY + n))
    world.now += 60
    touched = world.switches["s2"].touched
    world.unknown("s1", 2, KEY)
    assert [slot.key for slot in core.slots] == [GroupKey(None, ANY + 1)]
    assert world.kinds()[2:] == ["refused", "group_removed"]
    assert world.switches["s2"].touched == touched + 1


def test_known_sessions_keep_their_slots() -> None:
    sessions = [{"session": n, "protocol": "mtcp", "group": f"232.1.0.{n}", "source": "10.0.0.1"} for n in (1, 2)]
    world = line(sessions=sessions)
    world.now += 1e6
    world.core.tick()
    assert [(slot.index, slot.pinned) for slot in world.core.slots] == [(0, True), (1, True)]


def test_queries_go_to_all_host_ports_of_a_switch() -> None:
    world = line()
    world.core.synchronised("s1", NOTHING, fresh=True)
    world.core.tick()
    (packet,) = world.switches["s1"].packets
    assert (packet["mode"], packet["ports"]) == (2, 0b11)
    assert packet.payload[38] == 0x11
    world.core.disconnected("s1")
    world.now += 100
    world.core.tick()
    assert len(world.switches["s1"].packets) == 1


def test_a_leave_at_a_shared_port_holds_after_two_queries() -> None:
    world = World(Network.model_validate(networks.shared()))
    assert "0x1" in str(world.entries("s1", "shared"))
    guarded = world.entries("s1", "source_guard")
    assert len(guarded) == 4 + 3  # two hosts, none and the rest; one host, none and the rest
    world.unknown("s1", 1, KEY)
    world.changed("s1", KEY, JOIN, [1], [1])
    world.switches["s1"].packets.clear()
    world.changed("s1", KEY, LEAVING, [1], [1])
    sent = []
    for _ in range(5):
        world.core.tick()
        sent.append([(packet["mode"], packet.payload[38]) for packet in world.switches["s1"].packets])
        world.switches["s1"].packets.clear()
        world.now += 1.0
    assert sent == [[(2, 0x11)], [(2, 0x11)], [(3, 0x22)], [], []]
    assert world.core.members.ports(KEY) == {("s1", 1)}  # until the switch says that it took the leave
    world.changed("s1", KEY, LEAVE, [1], [])
    assert not world.core.members.ports(KEY)


def test_a_switch_that_lost_its_state_gets_its_members_back() -> None:
    world = line()
    world.unknown("s3", 1, KEY)
    for name, port in (("s3", 1), ("s2", 3), ("s1", 3)):
        world.changed(name, KEY, JOIN, [port], [port])
    world.changed("s2", KEY, JOIN, [1], [1, 3])
    for switch in world.switches.values():
        switch.take()
    world.core.synchronised("s2", NOTHING, fresh=True)
    assert sorted(port for port, _ in world.switches["s2"].take()) == [1, 3]
    assert world.switches["s1"].take() == []
    assert world.core.members.ports(KEY) == {("s3", 1), ("s1", 3)}  # until the switch says so
    world.core.synchronised("s1", NOTHING, fresh=False)
    assert world.switches["s1"].take() == []


def test_a_host_of_many_groups_gets_them_back_in_few_reports() -> None:
    world = line()
    keys = [GroupKey(SOURCE, GROUP + n) for n in range(150)]
    for key in keys:
        world.unknown("s1", 2, key)
        world.changed("s1", key, JOIN, [2], [2])
    world.switches["s1"].take()
    world.core.synchronised("s1", NOTHING, fresh=True)
    assert [len(report) for _, report in world.switches["s1"].take()] == [1 + 8 + 99 * 12, 1 + 8 + 49 * 12]


def test_a_link_that_breaks_moves_members_to_the_new_tree() -> None:
    world = World(networks.ring())
    world.unknown("s4", 1, KEY)
    for name, port in (("s4", 1), ("s3", 3), ("s2", 3), ("s1", 2)):
        world.changed(name, KEY, JOIN, [port], [port])
    for switch in world.switches.values():
        switch.take()
    assert world.core.set_link("s2-s3", up=False)
    join, leave = b"\x05" + GROUP.packed + SOURCE.packed, b"\x06" + GROUP.packed + SOURCE.packed
    assert {name: switch.take() for name, switch in world.switches.items()} == {
        "s1": [(3, join), (2, leave)],
        "s2": [(3, leave)],
        "s3": [(3, leave)],
        "s4": [],
    }
    assert not world.core.set_link("s2-s3", up=False)
    assert world.core.trees.down == {"s2:3-s3:2"}
    with pytest.raises(KeyError):
        world.core.set_link("s1-s3", up=False)


@pytest.mark.parametrize("group", [GROUP, None], ids=["a group", "no group"])
def test_a_links_failure_concerns_the_switches_with_other_entries_only(group: IPv4Address | None) -> None:
    """All others have what they should have, and are not even asked."""
    sessions = [] if group is None else [{"session": 1, "protocol": "mtcp", "group": str(group), "source": "10.0.0.1"}]
    world = World(fat_tree(4).model_copy(update={"sessions": [SessionSpec.model_validate(one) for one in sessions]}))
    untouched: set[str] = set()
    for link in random.Random(1).sample(world.core.network.links, k=12):
        before = {name: {str(entry) for entry in world.core.wanted(name)} for name in world.switches}
        for switch in world.switches.values():
            switch.touched = 0
        assert world.core.set_link(link.name, up=False)
        after = {name: {str(entry) for entry in world.core.wanted(name)} for name in world.switches}
        touched = {name for name, switch in world.switches.items() if switch.touched}
        assert {name for name in world.switches if before[name] != after[name]} <= touched
        untouched |= world.switches.keys() - touched
        fresh = World(world.core.network, down_links=world.core.trees.down)
        assert after == {name: {str(entry) for entry in fresh.core.wanted(name)} for name in world.switches}
        if len(world.core.trees.down) > 6:
            world.core.set_link(link.name, up=True)
    assert untouched


async def test_adoption_waits_for_all_switches_and_keeps_slots() -> None:
    sessions = [{"session": 1, "protocol": "mtcp", "group": str(GROUP), "source": "10.0.0.1"}]
    before = line(sessions=sessions)
    before.unknown("s1", 1, ANY_KEY)
    found = {name: before.core.wanted(name) for name in before.switches}
    after = World(before.core.network, begin=False)
    adoptions = [asyncio.create_task(after.core.adopt(name, found[name])) for name in ("s3", "s2")]
    await asyncio.sleep(0)
    assert not any(task.done() for task in adoptions)
    assert await after.core.adopt("s1", [])
    assert all(await asyncio.gather(*adoptions))
    assert [(slot.index, slot.key, slot.pinned) for slot in after.core.slots] == [(0, KEY, True), (1, ANY_KEY, False)]


async def test_members_that_a_controller_before_knew_are_those_of_groups_that_switches_have() -> None:
    before = line()
    before.unknown("s1", 1, ANY_KEY)
    after = World(before.core.network, begin=False, members=[(ANY_KEY, ("s3", 1)), (KEY, ("s1", 1))])
    for name in before.switches:
        assert after.core.take_over(name, before.core.wanted(name))
    assert after.core.members.places() == [(ANY_KEY, ("s3", 1))]
    (slot,) = after.core.slots
    assert slot.idle_since is None
    after.core.synchronised("s1", NOTHING, fresh=True)
    assert [port for port, _ in after.switches["s1"].take()] == sorted(
        port for switch, port in after.core.trees.memberships(*ANY_KEY, [("s3", 1)]) if switch == "s1"
    )
    after.now += after.core.members.lifetime_s
    after.core.tick()
    assert after.core.members.places() == []


async def test_a_switch_with_another_group_in_a_slot_is_refused() -> None:
    mine, other = line(), line()
    mine.unknown("s1", 1, KEY)
    other.unknown("s1", 1, ANY_KEY)
    assert not await mine.core.adopt("s1", other.core.wanted("s1"))
    # A group that was given back meanwhile is no contradiction: it will be deleted.
    idle = line()
    assert await idle.core.adopt("s1", other.core.wanted("s1"))


def large() -> World:
    """14 hosts on one switch."""
    data = networks.build([], {f"h{n}": "s1" for n in range(1, 15)})
    return World(Network.model_validate(data))


def test_a_large_switch_has_exact_groups_for_its_members() -> None:
    world = large()
    both = GroupKey(None, GROUP)
    for key in (KEY, both):
        world.unknown("s1", 2, key)
    world.changed("s1", KEY, JOIN, [2], [2])
    world.changed("s1", both, JOIN, [14], [14])
    # Data of the source's slot goes to the group's members too.
    assert world.entries("s1", "slot_group") == [
        "slot_group slot=0x0 -> set_slot_group(multicast_group=0x1002, ports=0x2002)",
        "slot_group slot=0x1 -> set_slot_group(multicast_group=0x1001, ports=0x2000)",
    ] or world.entries("s1", "slot_group") == [
        "slot_group slot=0x0 -> set_slot_group(multicast_group=0x1001, ports=0x2002)",
        "slot_group slot=0x1 -> set_slot_group(multicast_group=0x1002, ports=0x2000)",
    ]
    assert "multicast_group 4096 -> 1 2 3 4 5 6 7 8 9 10 11 12 13 14" in world.entries("s1", "multicast_group")
    touched = world.switches["s1"].touched
    world.changed("s1", KEY, REFRESH, [2], [2])
    assert world.switches["s1"].touched == touched
    world.changed("s1", KEY, LEAVE, [2], [])
    assert world.switches["s1"].touched == touched + 1


async def test_a_large_switchs_members_survive_the_controller() -> None:
    before = large()
    before.unknown("s1", 2, KEY)
    before.changed("s1", KEY, JOIN, [2], [2])
    before.changed("s1", KEY, JOIN, [3], [2, 3])
    found = before.core.wanted("s1")
    after = World(before.core.network, begin=False)
    assert await after.core.adopt("s1", found)
    assert {str(entry) for entry in after.core.wanted("s1")} == {str(entry) for entry in found}
    assert after.core.members.ports(KEY) == {("s1", 2), ("s1", 3)}

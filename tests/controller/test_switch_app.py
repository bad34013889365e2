"""Awkward switches: several controllers, contradictions, refusals, floods, many ports."""

from __future__ import annotations

import asyncio
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from controller.groups import GroupKey
from controller.service import Service
from tests.controller import networks
from tests.controller.conftest import MakeWorld
from tests.controller.world import all_ready, all_settled, controlled, controller, eventually

SOURCE, GROUP, OTHER = "10.0.0.1", "232.1.0.1", "232.1.0.2"


def events(service: Service, kind: str) -> list[dict[str, Any]]:
    return [event for event in service.events.recent(1000) if event["event"] == kind]


def star(hosts: int) -> dict[str, Any]:
    """One switch with so many hosts."""
    return networks.build([], {f"h{n}": "s1" for n in range(1, hosts + 1)})


async def test_the_controller_started_last_is_in_charge(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world(star(3))
    async with controlled(world, tmp_path / "first") as first:
        world.join("h2", GROUP, SOURCE)
        await world.delivers("h1", GROUP, ["h2"])
        await all_settled(first)
        async with controller(world.network, tmp_path / "second") as second:
            await all_ready(second)
            await eventually(lambda: first.apps["s1"].status == "standby")
            assert second.apps["s1"].writes == 0
            await world.delivers("h1", GROUP, ["h2"])
        await all_ready(first)
        world.join("h3", GROUP, SOURCE)
        await world.delivers("h1", GROUP, ["h2", "h3"])


async def test_a_switch_that_contradicts_the_controller_starts_afresh(make_world: MakeWorld, tmp_path: Path) -> None:
    """s2 is away while the first controller gives slot 0 to one group, and s1 while the second gives it to another."""
    world = make_world(networks.build([("s1", "s2", 1)], {"h1": "s1", "h2": "s1", "h3": "s2", "h4": "s2"}))
    one, two = GroupKey(IPv4Address(SOURCE), IPv4Address(GROUP)), GroupKey(IPv4Address(SOURCE), IPv4Address(OTHER))
    async with world.running():
        async with controller(world.network, tmp_path / "state") as service:
            await all_ready(service)
            world.join("h2", GROUP, SOURCE)
            await world.delivers("h1", GROUP, ["h2"])
        async with controller(world.network, tmp_path / "state") as service:
            # As after a time without s1: the slot has gone to another group.
            service.core.slots.pin(two, 0.0)
            await all_ready(service)
            assert service.core.slots.at(0) is service.core.slots.get(two)
            assert service.core.slots.get(one) is None
            world.join("h2", OTHER, SOURCE)
            await world.delivers("h1", OTHER, ["h2"])
            await world.delivers("h1", GROUP, [])
            assert service.apps["s1"].was_fresh


async def test_a_switch_that_is_missing_does_not_hold_up_the_others(
    make_world: MakeWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controller.service.ADOPTION_S", 0.5)
    world = make_world(networks.line())
    async with world.running():
        await world.stop_switch("s3")
        async with controller(world.network, tmp_path / "state") as service:
            await eventually(lambda: service.apps["s1"].ready and service.apps["s2"].ready)
            world.join("h3", GROUP, SOURCE)
            await world.delivers("h1", GROUP, ["h3"])
            await world.start_switch("s3")
            await all_ready(service)
            world.join("h4", GROUP, SOURCE)
            await world.delivers("h1", GROUP, ["h3", "h4"])


async def test_a_host_that_joins_thousands_of_groups_harms_nobody(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world(star(3))
    async with controlled(world, tmp_path / "state") as service:
        for n in range(20):  # 100 groups in each report: within the limit on reports
            first = IPv4Address("232.9.0.0") + 100 * n
            world.report("h3", [(IPv4Address(SOURCE), first + k) for k in range(100)])
        await eventually(lambda: service.core.slots.held_by(("s1", 3)) == 256)
        await eventually(lambda: events(service, "refused"))
        world.advance(1.0)
        world.join("h2", GROUP, SOURCE)
        await world.delivers("h1", GROUP, ["h2"])
        assert len(service.core.slots) == 257
        assert service.apps["s1"].ready


async def test_a_host_that_sends_thousands_of_reports_is_cut_off(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world(star(3))
    async with controlled(world, tmp_path / "state") as service:
        world.join("h3", GROUP, SOURCE)
        await world.delivers("h1", GROUP, ["h3"])
        for _ in range(1000):
            world.join("h3", GROUP, SOURCE)
        world.join("h2", OTHER, SOURCE)
        await world.delivers("h1", OTHER, ["h2"])
        drops = service.core.program.drop_reasons(await service.apps["s1"].read_counter("drops"))
        assert drops["igmp_rate"] > 500


async def test_what_somebody_else_changed_is_repaired(
    make_world: MakeWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controller.switch_app.AUDIT_S", 0.2)
    world = make_world(star(2))
    async with controlled(world, tmp_path / "state") as service:
        app = service.apps["s1"]
        before = app.entries()
        assert app._switch is not None
        assert app._have is not None
        await app._switch.delete([app._have["multicast_group 3"].entity])
        await eventually(lambda: events(service, "repaired"))
        assert events(service, "repaired")[0]["changes"] == "1 inserted, 0 modified, 0 deleted"
        await eventually(lambda: app.entries() == before)
        await asyncio.sleep(0.5)
        assert len(events(service, "repaired")) == 1


async def test_a_slot_counts_from_zero_for_its_next_group(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world(star(3))
    async with controlled(world, tmp_path / "state") as service:
        app, slots = service.apps["s1"], service.core.slots
        world.join("h2", GROUP, SOURCE)
        await world.delivers("h1", GROUP, ["h2"])
        (slot,) = slots
        cell = service.core.program.slot_counter(slot.index, 2)
        assert (await app.read_counter("slot_port", [cell]))[cell] > 0
        slots.set_idle(slot, True, 0.0)
        service.core._released(slots.expire(service.core.clock() + 1e9))
        await eventually(lambda: not any(entry.startswith("route_sg") for entry in app.entries()))
        await all_settled(service)
        assert await app.read_counter("slot_port", [cell]) == {}


async def test_a_switch_of_14_ports_has_exact_groups(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world(star(14))
    key = GroupKey(IPv4Address(SOURCE), IPv4Address(GROUP))
    async with world.running():
        async with controller(world.network, tmp_path / "state") as service:
            await all_ready(service)
            for host in ("h2", "h9", "h14"):
                world.join(host, GROUP, SOURCE)
            await world.delivers("h1", GROUP, ["h14", "h2", "h9"])
            exact = "slot_group slot=0x0 -> set_slot_group(multicast_group="
            await eventually(
                lambda: any(e.startswith(exact) and e.endswith("ports=0x2102)") for e in service.apps["s1"].entries())
            )
            await world.delivers("h1", GROUP, ["h14", "h2", "h9"])
            await all_settled(service)
            before = service.apps["s1"].entries()
        async with controller(world.network, tmp_path / "state") as service:
            await all_ready(service)
            assert service.apps["s1"].writes == 0
            assert service.apps["s1"].entries() == before
            assert service.core.members.ports(key) == {("s1", 2), ("s1", 9), ("s1", 14)}
            world.join("h9", GROUP, SOURCE, join=False)
            await world.delivers("h1", GROUP, ["h14", "h2"])


async def test_a_switch_of_12_ports_has_a_group_for_every_set(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world(star(12))
    async with controlled(world, tmp_path / "state") as service:
        assert sum(entry.startswith("multicast_group") for entry in service.apps["s1"].entries()) == 4095
        for host in ("h2", "h7", "h12"):
            world.join(host, GROUP, SOURCE)
        await world.delivers("h1", GROUP, ["h12", "h2", "h7"])


async def test_two_switches_behind_one_state_directory_keep_apart(make_world: MakeWorld, tmp_path: Path) -> None:
    """A packet-out for a switch that is away is counted, not kept for a switch that has forgotten what it is about."""
    world = make_world(star(2))
    async with controlled(world, tmp_path / "state") as service:
        await world.stop_switch("s1")
        app = service.apps["s1"]
        await eventually(lambda: app.status == "connecting")
        app.send([service.core.program.send_out(b"frame", [1])])
        assert app.packets_lost == 1
        assert app.entries() == frozenset()
        assert await app.read_counter("drops") == {}

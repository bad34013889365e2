"""The controller with real switches: whole state, its own restarts and the switches', groups, members, links."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Coroutine
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest

from controller.groups import GroupKey
from controller.network import CPU_PORT
from controller.program import Program
from controller.service import Service, read_credentials
from controller.statedir import claim
from engine.command.tls import TlsFileError
from engine.switch.certificates import make_certificates
from engine.switch.p4runtime.datapath import MemoryDataPath
from engine.switch.p4runtime.server import P4RuntimeServer, TlsFiles
from tests.controller import networks
from tests.controller.conftest import MakeWorld
from tests.controller.nodes import free_port
from tests.controller.world import all_ready, controlled, controller, eventually

SOURCE = "10.0.0.1"
KNOWN, UNKNOWN, ANY = "232.1.0.1", "232.1.0.9", "239.1.0.1"
KNOWN_KEY = GroupKey(IPv4Address(SOURCE), IPv4Address(KNOWN))
UNKNOWN_KEY = GroupKey(IPv4Address(SOURCE), IPv4Address(UNKNOWN))
ANY_KEY = GroupKey(None, IPv4Address(ANY))


def line() -> dict[str, Any]:
    """h1, h2 on s1; h3 on s2; h4 on s3; a source-specific and an any-source session."""
    return networks.line() | {
        "sessions": [
            {"session": 1, "protocol": "mtcp", "group": KNOWN, "source": SOURCE},
            {"session": 2, "protocol": "mtcp", "group": ANY},
        ]
    }


def events(service: Service, *kinds: str) -> list[dict[str, Any]]:
    return [event for event in service.events.recent(1000) if event["event"] in kinds]


def members(service: Service, key: GroupKey) -> set[tuple[str, int]]:
    return set(service.core.members.ports(key))


def has_members(service: Service, key: GroupKey, expected: set[tuple[str, int]]) -> Coroutine[Any, Any, None]:
    return eventually(lambda: members(service, key) == expected, lambda: members(service, key))


async def test_a_switch_gets_exactly_this_state(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world(line())
    async with controlled(world, tmp_path / "state") as service:
        assert service.apps["s2"].entries() == {
            "switch_config default -> set_config(bitmap_groups=0x1, epoch_shift=0x19, mac=0x20000000002)",
            "assist default -> set_assist(switch_ports=0x6)",
            "lan default -> set_lan(lan_ports=0x0)",
            "shared default -> set_shared(shared_ports=0x0)",
            "source_guard port=0x1 source=0xa000003 -> permit()",
            "source_guard port=0x1 source=0x0 -> permit()",
            "source_guard port=0x1 -> deny()",
            "digest members_changed -> list=1 timeout=0 ack=0",
            "digest unknown_group -> list=1 timeout=0 ack=0",
            "meter report_meter[1] -> cir=100/100 pir=100/100",
            "clone_session 1 -> 1 class=0 bytes=0",
            "clone_session 2 -> 2 class=0 bytes=0",
            "clone_session 3 -> 3 class=0 bytes=0",
            "multicast_group 1 -> 1",
            "multicast_group 2 -> 2",
            "multicast_group 3 -> 1 2",
            "multicast_group 4 -> 3",
            "multicast_group 5 -> 1 3",
            "multicast_group 6 -> 2 3",
            "multicast_group 7 -> 1 2 3",
            "ipv4_lpm destination=0xa000001 -> forward(mac=0x20000000001, port=0x2)",
            "ipv4_lpm destination=0xa000002 -> forward(mac=0x20000000001, port=0x2)",
            "ipv4_lpm destination=0xa000003 -> forward(mac=0x3, port=0x1)",
            "ipv4_lpm destination=0xa000004 -> forward(mac=0x20000000003, port=0x3)",
            "route_sg source=0xa000001 group=0xe8010001 -> set_source_route(accept=0x2, slot=0x0, upstream=0x2)",
            "route_g group=0xef010001 -> set_group_route(accept=0x7, slot=0x1, upstream=0x6)",
        }


async def test_members_of_known_groups_are_served_and_seen(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world(line())
    async with controlled(world, tmp_path / "state") as service:
        world.join("h4", KNOWN, SOURCE)
        await has_members(service, KNOWN_KEY, {("s3", 1), ("s2", 3), ("s1", 3)})
        world.join("h2", KNOWN, SOURCE)
        await world.delivers("h1", KNOWN, ["h2", "h4"])
        world.join("h4", KNOWN, SOURCE, join=False)
        await has_members(service, KNOWN_KEY, {("s1", 2)})
        await world.delivers("h1", KNOWN, ["h2"])
        assert {event["peer"] for event in events(service, "leave")} == {"h4", "s3", "s2"}


async def test_an_unknown_group_gets_a_slot_and_its_join_is_replayed(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world(line())
    async with controlled(world, tmp_path / "state") as service:
        world.join("h4", UNKNOWN, SOURCE)
        await has_members(service, UNKNOWN_KEY, {("s3", 1), ("s2", 3), ("s1", 3)})
        await world.delivers("h1", UNKNOWN, ["h4"])
        slot = service.core.slots.get(UNKNOWN_KEY)
        assert slot is not None
        assert (slot.index, slot.owner) == (2, ("s3", 1))
        # Nobody's address: no slot for it.
        world.join("h4", UNKNOWN, "10.9.9.9")
        await eventually(lambda: events(service, "refused"))
        assert len(service.core.slots) == 3


async def test_any_source_groups_reach_members_from_every_side(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world(line())
    async with controlled(world, tmp_path / "state") as service:
        for host in ("h1", "h3", "h4"):
            world.join(host, ANY)
        ports = {("s1", 1), ("s1", 3), ("s2", 1), ("s2", 2), ("s2", 3), ("s3", 1), ("s3", 2)}
        await has_members(service, ANY_KEY, ports)
        await world.delivers("h1", ANY, ["h3", "h4"])
        await world.delivers("h4", ANY, ["h1", "h3"])
        await world.delivers("h2", ANY, ["h1", "h3", "h4"])


async def test_a_restarted_controller_changes_nothing(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world(line())
    async with world.running():
        async with controller(world.network, tmp_path / "state") as service:
            await all_ready(service)
            world.join("h4", UNKNOWN, SOURCE)
            await has_members(service, UNKNOWN_KEY, {("s3", 1), ("s2", 3), ("s1", 3)})
            before = {name: app.entries() for name, app in service.apps.items()}
        await world.delivers("h1", UNKNOWN, ["h4"])
        async with controller(world.network, tmp_path / "state") as service:
            await all_ready(service)
            assert {name: app.writes for name, app in service.apps.items()} == {"s1": 0, "s2": 0, "s3": 0}
            assert {name: app.entries() for name, app in service.apps.items()} == before
            await world.delivers("h1", UNKNOWN, ["h4"])
            # A digest tells all members of its slot, so that one new member brings the others back too.
            world.join("h3", UNKNOWN, SOURCE)
            await eventually(lambda: {("s2", 1), ("s2", 3)} <= members(service, UNKNOWN_KEY))
            await world.delivers("h1", UNKNOWN, ["h3", "h4"])


async def test_a_switch_that_comes_back_empty_is_restored(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world(line())
    async with controlled(world, tmp_path / "state") as service:
        world.join("h4", UNKNOWN, SOURCE)
        world.join("h3", KNOWN, SOURCE)
        await has_members(service, UNKNOWN_KEY, {("s3", 1), ("s2", 3), ("s1", 3)})
        await has_members(service, KNOWN_KEY, {("s2", 1), ("s1", 3)})
        before = service.apps["s2"].entries()
        await world.stop_switch("s2")
        await eventually(lambda: not service.apps["s2"].ready)
        await world.start_switch("s2")
        await all_ready(service)
        assert service.apps["s2"].entries() == before
        await has_members(service, UNKNOWN_KEY, {("s3", 1), ("s2", 3), ("s1", 3)})
        await has_members(service, KNOWN_KEY, {("s2", 1), ("s1", 3)})
        await world.delivers("h1", UNKNOWN, ["h4"])
        await world.delivers("h1", KNOWN, ["h3"])
        assert [event["fresh"] for event in events(service, "switch_ready") if event["switch"] == "s2"] == [True] * 2


async def test_switches_may_come_later_than_the_controller(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world(line())
    async with controller(world.network, tmp_path / "state") as service:
        await eventually(lambda: all(app.problem for app in service.apps.values()))
        async with world.running():
            await all_ready(service)
            world.join("h4", KNOWN, SOURCE)
            await world.delivers("h1", KNOWN, ["h4"])


async def test_hosts_are_queried_when_a_switch_is_ready(make_world: MakeWorld, tmp_path: Path) -> None:
    world = make_world(line())
    async with controlled(world, tmp_path / "state"):
        await eventually(lambda: all(world.received.values()), lambda: world.received)
        for frames in world.received.values():
            assert frames[0][:6] == bytes.fromhex("01005e000001")
            assert frames[0][38] == 0x11


@pytest.fixture
def ring() -> dict[str, Any]:
    """Four switches in a ring, a host each; s4-s1 is expensive."""
    return networks.build(
        [("s1", "s2", 1), ("s2", "s3", 1), ("s3", "s4", 1), ("s4", "s1", 10)],
        {"h1": "s1", "h2": "s2", "h3": "s3", "h4": "s4"},
        sessions=[
            {"session": 1, "protocol": "mtcp", "group": KNOWN, "source": SOURCE},
            {"session": 2, "protocol": "mtcp", "group": ANY},
        ],
    )


@pytest.mark.parametrize(("group", "source", "key"), [(KNOWN, SOURCE, KNOWN_KEY), (ANY, None, ANY_KEY)])
async def test_trees_go_around_a_broken_link_and_back(
    make_world: MakeWorld, tmp_path: Path, ring: dict[str, Any], group: str, source: str | None, key: GroupKey
) -> None:
    world = make_world(ring)
    async with controlled(world, tmp_path / "state") as service:
        world.join("h3", group, source)
        world.join("h4", group, source)
        await world.delivers("h1", group, ["h3", "h4"])
        before = service.core.trees.memberships(key.source, key.group, [("s3", 1), ("s4", 1)])
        await has_members(service, key, before)  # data may be faster than digests
        link = service.core.trees.find_link("s2-s3").name
        world.cut.add(link)
        service.core.set_link("s2-s3", up=False)
        await world.delivers("h1", group, ["h3", "h4"])
        around = service.core.trees.memberships(key.source, key.group, [("s3", 1), ("s4", 1)])
        assert ("s1", 3) in around
        assert ("s2", 3) not in around
        await has_members(service, key, around)
        world.cut.clear()
        service.core.set_link("s2-s3", up=True)
        await has_members(service, key, before)
        await world.delivers("h1", group, ["h3", "h4"])


async def test_a_switch_that_comes_back_empty_has_the_members_that_the_last_controller_knew(
    make_world: MakeWorld, tmp_path: Path, ring: dict[str, Any]
) -> None:
    """The others' registers have them, of which switches tell again only in the next epoch."""
    world = make_world(ring)
    async with world.running():
        async with controller(world.network, tmp_path / "state") as service:
            await all_ready(service)
            world.join("h3", KNOWN, SOURCE)
            await world.delivers("h1", KNOWN, ["h3"])
            await has_members(service, KNOWN_KEY, service.core.trees.memberships(*KNOWN_KEY, [("s3", 1)]))
        async with controller(world.network, tmp_path / "state") as service:
            await all_ready(service)
            await world.stop_switch("s1")
            await world.start_switch("s1")
            await world.delivers("h1", KNOWN, ["h3"])


async def test_it_controls_over_tls_and_nobody_does_without(tmp_path: Path) -> None:
    folder = tmp_path / "tls"
    make_certificates(folder, ["127.0.0.1"])
    files = TlsFiles(folder / "127.0.0.1.pem", folder / "127.0.0.1.key", folder / "ca.pem", require_client=True)
    path = MemoryDataPath(cpu_port=CPU_PORT)
    server = P4RuntimeServer(1, path)
    network = networks.network([], {"h1": "s1"}, base_port=free_port() - 1)
    async with server:
        await server.start(network.switches[0].address, files)
        with claim(tmp_path / "state"):
            stranger = Service(network, Program(), tmp_path / "state")
            async with stranger.running():
                await eventually(lambda: stranger.apps["s1"].attempts > 1)
                assert server.device.active is None
            service = Service(network, Program(), tmp_path / "state", read_credentials(folder))
            async with service.running():
                await all_ready(service)
                assert server.device.active is not None


def test_credentials_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(TlsFileError, match=r"controller\.key: No such file"):
        read_credentials(tmp_path)


def test_what_draws_and_serves_metrics_is_loaded_when_it_is_wanted() -> None:
    """Together they took as long as a third of all else."""
    script = "import sys, controller.service; print({'prometheus_client', 'rich'} & set(sys.modules))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"

"""A malicious receiver exhausts its own quota, and nobody else notices."""

from __future__ import annotations

import asyncio
import random
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from controller import igmp
from controller.groups import GroupKey
from controller.service import Service
from tests.controller import networks
from tests.controller.nodes import EmbeddedNode
from tests.controller.world import World, all_ready, controller, eventually, udp, with_free_addresses
from tests.p4src.bench.program import number

SOURCE, GROUP, OTHER = "10.0.0.1", "232.1.0.1", "232.1.0.2"
VICTIM, ATTACKER, SENDER = "h2", "h3", "h1"
JOINS = 100_000
PER_REPORT = 100
REPORT_INTERVAL_S = 0.01
"""The rate that the switch takes from a port: no report is lost to it, so that the later limits have to hold."""


@asynccontextmanager
async def star(folder: Path) -> AsyncIterator[tuple[World, Service, EmbeddedNode]]:
    """One switch with three hosts, of which the victim is a member of the sender's group."""
    network = with_free_addresses(networks.build([], {f"h{n}": "s1" for n in (1, 2, 3)}))
    world = World(network, EmbeddedNode)
    async with world.running(), controller(network, folder / "state") as service:
        await all_ready(service)
        world.join(VICTIM, GROUP, SOURCE)
        await world.delivers(SENDER, GROUP, [VICTIM])
        node = world.nodes["s1"]
        assert isinstance(node, EmbeddedNode)
        yield world, service, node


async def others_are_served(world: World) -> None:
    """The victim still gets what it has joined, and can join more."""
    world.advance(1.0)
    await world.delivers(SENDER, GROUP, [VICTIM])
    world.join(VICTIM, OTHER, SOURCE)
    await world.delivers(SENDER, OTHER, [VICTIM])


async def drops(service: Service) -> dict[str, int]:
    return service.core.program.drop_reasons(await service.apps["s1"].read_counter("drops"))


async def test_joins_to_100_000_groups(tmp_path: Path) -> None:
    async with star(tmp_path) as (world, service, node):
        attacker = world.network.host_by_name[ATTACKER]
        before = node.stats()["digests"]
        for first in range(0, JOINS, PER_REPORT):
            groups = [(IPv4Address(SOURCE), IPv4Address("232.9.0.0") + first + n) for n in range(PER_REPORT)]
            world.report(ATTACKER, groups)
            world.advance(REPORT_INTERVAL_S)
            await asyncio.sleep(0)
        await eventually(lambda: service.core.slots.held_by(("s1", attacker.port)) == 256)
        await others_are_served(world)
        seconds = JOINS / PER_REPORT * REPORT_INTERVAL_S
        stats = node.stats()
        # 500 a second and 1,000 at once; the others' few are among them.
        assert stats["digests"] - before < 500 * seconds + 1000 + 200
        assert stats["digests_limited"] > 1000
        assert stats["events_lost"] == 0
        assert len(service.core.slots) <= 256 + 2
        assert service.apps["s1"].ready


async def test_more_reports_than_a_port_may_send(tmp_path: Path) -> None:
    async with star(tmp_path) as (world, service, _):
        for n in range(1000):
            world.report(ATTACKER, [(None, IPv4Address("239.9.0.0") + n)])
        await others_are_served(world)
        assert (await drops(service))["igmp_rate"] >= 800
        assert service.apps["s1"].ready


async def test_joins_and_leaves_of_a_known_group_in_turn(tmp_path: Path) -> None:
    """Each changes the members, and wants to be told."""
    async with star(tmp_path) as (world, service, node):
        pairs = [(IPv4Address(SOURCE), IPv4Address(GROUP))] * 50
        for _ in range(200):
            world.report(ATTACKER, pairs, join=True)
            world.report(ATTACKER, pairs, join=False)
            world.advance(2 * REPORT_INTERVAL_S)
            await asyncio.sleep(0)
        await others_are_served(world)
        assert node.stats()["events_lost"] == 0
        # What the controller believes of the attacker is put right by the next query's answers, as ever.
        key = GroupKey(IPv4Address(SOURCE), IPv4Address(GROUP))
        victim = world.network.host_by_name[VICTIM]
        assert ("s1", victim.port) in set(service.core.members.ports(key))


def spoofed(world: World, sender: str) -> list[bytes]:
    """Frames of the attacker's in another's name: a leave, a join, data and a unicast packet."""
    host, group = world.network.host_by_name[sender], IPv4Address(GROUP)
    mac = world.network.host_by_name[ATTACKER].mac
    pair = [(IPv4Address(SOURCE), group)]
    return [
        igmp.report(mac, host.ip, pair, join=False),
        igmp.report(mac, host.ip, [(IPv4Address(SOURCE), IPv4Address(OTHER))], join=True),
        udp(mac, host.ip, group, b"forged data"),
        udp(mac, host.ip, world.network.host_by_name[VICTIM].ip, b"forged feedback"),
    ]


@pytest.mark.parametrize("name", [SENDER, VICTIM])
async def test_a_host_that_calls_itself_another(tmp_path: Path, name: str) -> None:
    async with star(tmp_path) as (world, service, _):
        for frame in spoofed(world, name):
            world.host_sends(ATTACKER, frame)
        assert not world.receivers(b"forged data")
        assert not world.receivers(b"forged feedback")
        await others_are_served(world)
        assert (await drops(service))["spoofed_source"] == 4
        owners = {slot.owner for slot in service.core.slots}
        assert ("s1", world.network.host_by_name[ATTACKER].port) not in owners


def absurd_messages(chooser: random.Random) -> list[bytes]:
    """IGMP bodies whose counts lie: of records, of sources, of auxiliary words; and bytes at random."""
    group = IPv4Address("232.9.0.1").packed
    made = []
    for records in (0, 1, 2, 1000, 0xFFFF):
        for sources in (0, 1, 366, 0x7FFF, 0xFFFF):
            for auxiliary in (0, 255):
                record = struct.pack("!BBH4s", chooser.randrange(8), auxiliary, sources, group)
                body = struct.pack("!BBHHH", 0x22, 0, 0, 0, records) + record + chooser.randbytes(chooser.randrange(60))
                made.append(body)
    made += [bytes([kind]) + chooser.randbytes(chooser.randrange(7, 200)) for kind in (0x11, 0x12, 0x16, 0x17, 0x22)]
    return made


async def test_igmp_with_absurd_counts(tmp_path: Path) -> None:
    async with star(tmp_path) as (world, service, node):
        host = world.network.host_by_name[ATTACKER]
        bodies = absurd_messages(random.Random(1))
        for message in bodies:
            world.host_sends(ATTACKER, igmp.frame(host.mac, host.ip, IPv4Address("224.0.0.22"), message))
            world.advance(REPORT_INTERVAL_S)
        await others_are_served(world)
        stats = node.stats()
        # No report makes the switch work for more passes.
        assert stats["resubmitted"] <= number("MAX_REPORT_PASSES") * (len(bodies) + 20)
        assert (await drops(service))["igmp_malformed"] > 10
        assert service.apps["s1"].ready

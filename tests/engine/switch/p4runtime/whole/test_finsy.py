"""The server as finsy sees it, the library that the controller uses."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import finsy as fy
import pytest

from engine.switch.p4runtime.datapath import MemoryDataPath
from engine.switch.p4runtime.server import P4RuntimeServer
from tests.engine.entities import CPU_PORT, DATA, frame, program_file

LIMIT_S = 20.0

OPTIONS = fy.SwitchOptions(
    p4info=DATA / "entities.p4info.txtpb", p4blob=program_file(), device_id=1, initial_election_id=10
)


def with_switch(use: Callable[[fy.Switch, MemoryDataPath], Awaitable[None]]) -> None:
    """Run `use` with a finsy switch that is ready, connected to a server in the same event loop."""

    async def run() -> None:
        path = MemoryDataPath(cpu_port=CPU_PORT)
        async with P4RuntimeServer(1, path) as server:
            await server.start("127.0.0.1:0")
            async with fy.Switch("s1", f"127.0.0.1:{server.port}", OPTIONS) as switch:
                await asyncio.wait_for(use(switch, path), LIMIT_S)

    asyncio.run(run())


def read(switch: Any, *entities: object) -> AsyncIterator[object]:
    """finsy annotates its generator as a coroutine."""
    found: AsyncIterator[object] = switch.read(entities)
    return found


async def state(switch: fy.Switch) -> set[str]:
    """What the switch holds, as text."""
    found = set()
    async for entity in read(switch, fy.P4TableEntry(), fy.P4MulticastGroupEntry(), fy.P4DigestEntry()):
        match entity:
            case fy.P4TableEntry():
                match_text = entity.match_str(switch.p4info, wildcard="*")
                found.add(f"{entity.table_id} {match_text} {entity.action_str(switch.p4info)}")
            case fy.P4MulticastGroupEntry():
                found.add(f"group {entity.multicast_group_id}: {entity.replicas_str()}")
            case fy.P4DigestEntry():
                found.add(f"digest {entity.digest_id}")
    return found


CONSTANT = {"fixed type=0xde00/&0xff00 known()", "fixed type=0xdead known()"}
ENTRIES = [
    fy.P4TableEntry("l2", match=fy.Match(dst=1), action=fy.Action("flood", group=1)),
    fy.P4TableEntry("acl", match=fy.Match(type=0x800), action=fy.Action("pass"), priority=3),
    fy.P4TableEntry(
        "routes",
        match=fy.Match({"dst": (0x12 << 40, 8)}),
        action=fy.IndirectAction([(1, fy.Action("forward", port=1)), (2, fy.Action("forward", port=2))]),
    ),
    fy.P4MulticastGroupEntry(1, replicas=[1, (2, 1)]),
    fy.P4DigestEntry("learned_t", max_list_size=1),
]


def test_the_pipeline_is_pushed_and_state_is_written_and_cleared() -> None:
    async def use(switch: fy.Switch, path: MemoryDataPath) -> None:
        assert switch.is_primary
        empty = await state(switch)
        await switch.insert(ENTRIES)
        assert await state(switch) - empty == {
            "l2 dst=0x1 flood(group=0x1)",
            "acl src=* type=0x800 ingress_port=* pass()",
            "routes dst=0x120000000000/8 1*forward(port=0x1) 2*forward(port=0x2)",
            "group 1: 1 2#1",
            "digest learned_t",
        }
        assert sorted(port for port, _ in path.process(9, frame(1))) == [1, 2]
        # finsy 0.30 deletes nothing but table entries here when the program has constant tables.
        await switch.delete_all()
        await switch.delete([fy.P4MulticastGroupEntry(1)])
        assert await state(switch) == empty

    with_switch(use)


def test_digests_and_packets() -> None:
    async def use(switch: fy.Switch, path: MemoryDataPath) -> None:
        to_cpu = fy.P4TableEntry("l2", match=fy.Match(dst=2), action=fy.Action("to_cpu", reason=3))
        await switch.insert([fy.P4DigestEntry("learned_t", max_list_size=1, ack_timeout_ns=10**12), to_cpu])
        packets, digests = switch.read_packets(), switch.read_digests("learned_t")
        next_packet, next_digest = asyncio.ensure_future(anext(packets)), asyncio.ensure_future(anext(digests))
        await asyncio.sleep(0)
        path.process(5, frame(2, src=7))
        packet = await next_packet
        assert (packet["ingress_port"], packet["reason"], packet.payload) == (5, 3, frame(2, src=7))
        digest = await next_digest
        assert digest[0] == {"src": 7, "port": 5}
        await switch.write([digest.ack(), fy.P4PacketOut(frame(9), egress_port=4, padding=0)])
        async for _ in read(switch, fy.P4TableEntry("l2")):
            pass
        while not path.from_cpu:
            await asyncio.sleep(0)
        assert path.from_cpu == [(4, frame(9))]

    with_switch(use)


def test_errors_name_their_update() -> None:
    async def use(switch: fy.Switch, path: MemoryDataPath) -> None:
        await switch.insert([ENTRIES[0]])
        with pytest.raises(fy.P4ClientError) as caught:
            await switch.insert([ENTRIES[1], ENTRIES[0]])
        assert caught.value.details.keys() == {1}
        assert "Pipe.l2" in caught.value.details[1].message
        await switch.delete([fy.P4MulticastGroupEntry(9)], strict=False)

    with_switch(use)


def test_a_second_controller_waits_and_takes_over() -> None:
    async def use(switch: fy.Switch, path: MemoryDataPath) -> None:
        async with fy.Switch("s2", switch.address, OPTIONS) as second:
            assert not second.is_primary
            became = second.ee.event_future(fy.SwitchEvent.BECOME_PRIMARY)
            assert switch._p4client is not None
            await switch._p4client.close()
            await became
            assert second.is_primary
            await second.insert([ENTRIES[0]])

    with_switch(use)


def test_a_controller_that_knows_no_p4info_reads_it() -> None:
    async def use(switch: fy.Switch, path: MemoryDataPath) -> None:
        async with fy.Switch("s2", switch.address, fy.SwitchOptions(device_id=1, initial_election_id=1)) as reader:
            assert {table.alias for table in reader.p4info.tables} == {table.alias for table in switch.p4info.tables}

    with_switch(use)

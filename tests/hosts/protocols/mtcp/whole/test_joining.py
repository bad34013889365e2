"""Trees that build themselves: the nearest agent, balance, the limit, latecomers."""

from collections import Counter

import pytest

from hosts.endpoint import PeerJoined, SessionEnded
from tests.hosts.protocols.mtcp.world import World


def parents(world: World) -> dict[str, str]:
    """Receiver -> parent, by names."""
    names = {host.address: host.name for host in world.network.hosts.values()}
    found = {}
    for index, host in enumerate(world.receivers):
        parent = world.core(index).attachment.parent
        if parent is not None:
            found[host.name] = names[parent]
    return found


def test_without_agents_all_join_the_sender() -> None:
    world = World(5)
    world.finish()
    world.assert_all_have_it()
    assert set(parents(world).values()) == {"sender"}


def test_agents_are_joined_and_share_the_load() -> None:
    """All receivers are one router from each other and two from the sender."""
    world = World(10, agents={0, 1}, size=200_000)
    world.finish()
    world.assert_all_have_it()
    found = parents(world)
    load = Counter(found[f"r{index}"] for index in range(2, 10))
    assert set(load) <= {"r0", "r1"}
    assert max(load.values()) <= 6
    assert "sender" in (found["r0"], found["r1"])


def test_the_nearest_agent_is_joined() -> None:
    """Two sites with an agent and three receivers each, behind routers of their own."""
    world = World(0, wanted=8)
    network = world.network
    for site in ("a", "b"):
        network.link("edge", f"router-{site}", delay_s=0.005)
        network.link(f"router-{site}", f"lan-{site}", delay_s=0.001)
        for index in range(4):
            network.link(f"lan-{site}", f"{site}{index}")
            world.add_receiver(f"{site}{index}", parameters={"agent": index == 0})
    world.finish()
    world.assert_all_have_it()
    found = parents(world)
    for site in ("a", "b"):
        assert [found[f"{site}{index}"] for index in range(1, 4)] == [f"{site}0"] * 3


@pytest.mark.parametrize(("receivers", "fan_out"), [(12, 3), (20, 2), (40, 4)])
def test_the_fan_out_is_limited_and_others_step_in(receivers: int, fan_out: int) -> None:
    """Nobody offers to serve: when the sender has no more room, receivers do."""
    world = World(receivers, size=100_000, wait=60.0, parameters={"fan_out": fan_out})
    world.finish()
    world.assert_all_have_it()
    load = Counter(parents(world).values())
    assert max(load.values()) <= fan_out
    assert load["sender"] == fan_out
    assert len(world.sender.events_of(PeerJoined)) == receivers


def test_when_nobody_may_step_in_the_rest_is_refused() -> None:
    world = World(4, wanted=4, wait=10.0, parameters={"fan_out": 2, "spare": False})
    world.finish()
    refused = [host for host in world.receivers if host.end is not None and not host.end.complete]
    assert len(refused) == 2
    for host in refused:
        assert host.end == SessionEnded(False, "refused: the session has as many receivers as it takes")


def test_a_latecomer_finds_a_parent_and_gets_all_that_follows() -> None:
    world = World(6, agents={0, 1}, size=None, rate_bps=4e6)
    world.network.link("edge", "late")
    late = world.add_receiver("late", parameters={"from_start": False})
    late.endless = True
    late.start, start = lambda: None, late.start  # type: ignore[method-assign]
    late.first_offset = None
    world.network.at(3.0, start)
    world.network.run(8)
    assert parents(world)["late"] in ("r0", "r1")
    assert late.rate_bps(5, 8) > 0.9 * world.receivers[0].rate_bps(5, 8)
    assert world.receivers[0].rate_bps(5, 8) > 0.9 * world.receivers[0].rate_bps(2, 3)


def test_a_latecomer_that_wants_everything_is_refused() -> None:
    world = World(2, size=None)
    world.network.link("edge", "late")
    late = world.add_receiver("late")
    late.start, start = lambda: None, late.start  # type: ignore[method-assign]
    world.network.at(3.0, start)
    world.network.run(5)
    assert late.end == SessionEnded(False, "refused: the session has already started")

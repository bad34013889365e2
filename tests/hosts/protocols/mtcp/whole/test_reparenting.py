"""Parents that die or leave: their children find others and lose nothing."""

import random

import pytest

from hosts.endpoint import PeerDropped, PeerFinished
from hosts.protocols.mtcp.receiver import MtcpReceiver
from tests.hosts.host import Host
from tests.hosts.protocols.mtcp.whole.test_joining import parents
from tests.hosts.protocols.mtcp.world import World

BUSH = {2: 0, 3: 0, 4: 1, 5: 1, 6: 2, 7: 2}
RATE_BPS = 5e6
"""At which they are half through when somebody dies."""
SLOW_BPS = RATE_BPS / 2
"""Likewise, of half as much."""
QUICK = {"drop_after_s": 8, "parent_timeout_s": 2.0, "probe_interval_s": 0.5, "silence_s": 60}


def survivors_have_it(world: World, dead: set[int]) -> None:
    """All that live have the exact bytes, and the sender lists them and the dead."""
    for index, host in enumerate(world.receivers):
        if index not in dead:
            assert bytes(host.received) == world.data, index
            assert host.end is not None
            assert host.end.complete, (index, host.end)
    assert world.sender.end is not None
    dropped = {event.peer for event in world.sender.events_of(PeerDropped)}
    assert dropped == {world.receivers[index].address for index in dead}
    finished = {event.peer for event in world.sender.events_of(PeerFinished)}
    assert finished == {host.address for index, host in enumerate(world.receivers) if index not in dead}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("victim", [0, 2])
def test_an_agent_is_killed(victim: int, seed: int) -> None:
    """Its children lack up to a window of packets that it had, and that its parent must still have."""
    loss = 0.05 * (seed % 3)
    world = World(
        8,
        size=1_200_000,
        rate_bps=RATE_BPS,
        seed=seed,
        parents=BUSH,
        losses=dict.fromkeys(range(8), loss),
        parameters=QUICK,
    )
    world.network.at(0.8 + 0.1 * seed, world.receivers[victim].kill)
    world.finish(300)
    survivors_have_it(world, {victim})
    for index, parent in BUSH.items():
        if parent == victim:
            assert world.core(index).counters["reparented"] >= 1


def test_the_grandparent_is_asked_first() -> None:
    world = World(8, size=600_000, rate_bps=SLOW_BPS, parents=BUSH, parameters=QUICK)
    world.network.at(1.0, world.receivers[2].kill)
    world.finish(300)
    found = parents(world)
    assert (found["r6"], found["r7"]) == ("r0", "r0")


def test_a_parent_and_its_own_parent_die_at_once() -> None:
    world = World(8, size=600_000, rate_bps=SLOW_BPS, parents=BUSH, parameters=QUICK)
    world.network.at(1.0, world.receivers[2].kill)
    world.network.at(1.0, world.receivers[0].kill)
    world.finish(300)
    survivors_have_it(world, {0, 2})


def test_a_whole_branch_dies() -> None:
    """Nobody is left to tell of those further down: the sender gives them up."""
    world = World(8, size=600_000, rate_bps=SLOW_BPS, parents=BUSH, parameters=QUICK)
    for index in (0, 2, 6, 7):
        world.network.at(1.0, world.receivers[index].kill)
    world.finish(300)
    survivors_have_it(world, {0, 2, 6, 7})


def leave(host: Host) -> None:
    host.apply(host.endpoint.close(now=host.now, reason="interrupted"))


@pytest.mark.parametrize("seed", range(4))
def test_an_agent_leaves(seed: int) -> None:
    """It hands its children over and stays until they have gone: nothing times out."""
    world = World(
        8,
        size=600_000,
        rate_bps=SLOW_BPS,
        seed=seed,
        parents=BUSH,
        losses=dict.fromkeys(range(8), 0.02 * seed),
        parameters=QUICK,
    )
    world.network.at(1.0, leave, world.receivers[2])
    world.finish(300)
    for index, host in enumerate(world.receivers):
        if index != 2:
            assert bytes(host.received) == world.data
    (left,) = [event for event in world.sender.events_of(PeerFinished) if not event.complete]
    assert left == PeerFinished(world.receivers[2].address, False, "interrupted")
    assert world.sender.events_of(PeerDropped) == []
    found = parents(world)
    assert (found["r6"], found["r7"]) == ("r0", "r0")
    gone_at = max(time for time, _ in world.receivers[2].events)
    assert gone_at < 2.0


def test_an_agent_that_is_cut_off_for_a_while_comes_back() -> None:
    """Its parent gives it up meanwhile, and so do its children."""
    world = World(8, size=1_000_000, rate_bps=SLOW_BPS, parents=BUSH, parameters={**QUICK, "drop_after_s": 4})

    def switch(up: bool) -> None:
        for link in world.links[2]:
            link.up = up

    world.network.at(1.0, switch, False)
    world.network.at(4.0, switch, True)
    world.finish(300)
    survivors_have_it(world, set())


@pytest.mark.parametrize("seed", range(20))
def test_agents_die_and_leave_at_random(seed: int) -> None:
    """A tree that built itself; a third of the receivers die or leave at some time."""
    rng = random.Random(seed)
    count = 12
    world = World(
        count,
        size=300_000,
        seed=seed,
        agents=set(range(0, count, 3)),
        losses=dict.fromkeys(range(count), rng.choice([0.0, 0.02, 0.1])),
        back_loss=rng.choice([0.0, 0.05]),
        duplicate=0.05,
        jitter_s=rng.choice([0.0, 0.005]),
        wait=20.0,
        rate_bps=1.5e6,
        parameters={**QUICK, "fan_out": 3},
    )
    dead, gone = set(), set()
    for index in rng.sample(range(count), count // 3):
        at = rng.uniform(0.5, 4.0)
        if rng.random() < 0.6:
            dead.add(index)
            world.network.at(at, world.receivers[index].kill)
        else:
            gone.add(index)
            world.network.at(at, leave, world.receivers[index])
    world.finish(400)
    for index, host in enumerate(world.receivers):
        if index not in dead | gone:
            assert bytes(host.received) == world.data, (index, host.end)
    assert world.sender.end is not None
    for host in world.receivers:
        core = host.endpoint
        assert isinstance(core, MtcpReceiver)
        if host.alive:
            assert core.closed

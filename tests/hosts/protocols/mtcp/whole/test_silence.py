"""A receiver that falls silent does not stop the others, and gets all that it missed when it is back."""

import pytest

from tests.hosts.protocols.mtcp.world import World

RATE_BPS = 2e6
"""Low, so that the tests are cheap."""


def _cut_off(world: World, index: int, start: float, stop: float) -> None:
    """A receiver's link is down for some time, both ways."""

    def switch(up: bool) -> None:
        for link in world.links[index]:
            link.up = up

    world.network.at(start, switch, False)
    world.network.at(stop, switch, True)


def _least(world: World, start: float, stop: float, indices: tuple[int, ...]) -> float:
    return min(world.receivers[index].rate_bps(start, stop) for index in indices)


@pytest.mark.parametrize("delay_s", [0.005, 0.05])
def test_the_others_go_on_when_one_dies(delay_s: float) -> None:
    world = World(3, size=None, rate_bps=RATE_BPS, delays_s=(delay_s,))
    world.network.at(5.0, world.receivers[2].kill)
    world.network.run(10)
    before = _least(world, 3, 5, (0, 1))
    assert _least(world, 5, 10, (0, 1)) > 0.8 * before
    assert world.sender_core.counters["set_aside"] == 1
    assert world.sender_core.counters["dropped"] == 0


def test_below_an_agent() -> None:
    """Two of its three children die: their parent does not wait for them, and neither does the sender."""
    world = World(4, size=None, rate_bps=RATE_BPS, parents={1: 0, 2: 0, 3: 0})
    world.network.at(5.0, world.receivers[2].kill)
    world.network.at(5.0, world.receivers[3].kill)
    world.network.run(10)
    before = _least(world, 3, 5, (0, 1))
    assert _least(world, 5, 10, (0, 1)) > 0.8 * before
    assert world.core(0).counters["set_aside"] == 2
    assert world.sender_core.counters["set_aside"] == 0


def test_when_no_more_can_be_kept_who_is_silent_is_dropped() -> None:
    """At the sender, and at an agent; by then the others have waited for a second or two."""
    for parents in ({}, {1: 0, 2: 0}):
        world = World(3, size=None, rate_bps=RATE_BPS, parents=parents, parameters={"buffer_bytes": 50_000})
        world.network.at(5.0, world.receivers[2].kill)
        world.network.run(12)
        core = world.core(0) if parents else world.sender_core
        assert core.counters["dropped"] == 1
        assert _least(world, 10, 12, (0, 1)) > 0.8 * _least(world, 3, 5, (0, 1))


def test_who_was_silent_gets_everything() -> None:
    world = World(3, size=2_000_000, rate_bps=RATE_BPS)
    _cut_off(world, 2, 2.0, 5.0)
    world.network.run(5)
    assert _least(world, 2, 5, (0, 1)) > 0.6 * _least(world, 1, 2, (0, 1))
    world.finish()
    world.assert_all_have_it()
    assert world.sender_core.counters["set_aside"] >= 1
    assert world.network.now < 18  # alone it takes 8.5 s; the silent one needs three more, as much again for repairs


def test_silent_again_and_again() -> None:
    """Whoever comes and goes, even to the end, has it all."""
    world = World(3, size=1_250_000, rate_bps=RATE_BPS, losses={1: 0.01})
    for index, start in ((2, 1.0), (1, 2.0), (2, 3.5), (0, 5.0), (2, 6.0)):
        _cut_off(world, index, start, start + 1.2)
    world.finish()
    world.assert_all_have_it()


def test_all_silent_is_the_senders_own_link() -> None:
    world = World(2, size=500_000, rate_bps=RATE_BPS)
    for index in (0, 1):
        _cut_off(world, index, 1.0, 3.0)
    world.finish()
    world.assert_all_have_it()
    assert world.sender_core.counters["set_aside"] == 0


def test_the_paper_waits() -> None:
    world = World(2, size=None, rate_bps=RATE_BPS, parameters={"rules": "paper"})
    world.network.at(3.0, world.receivers[1].kill)
    world.network.run(6)
    assert world.receivers[0].rate_bps(4, 6) < 0.01 * RATE_BPS


@pytest.mark.parametrize("agents", [False, True])
def test_half_of_all_acknowledgments_may_be_lost(agents: bool) -> None:
    """16 children at the sender, of which two are agents or none. Taken for lost packets, they leave a tenth of the
    link; and for good nothing when an agent's word that there is room again is lost.
    """
    parents = {16: 0, 17: 0, 18: 1, 19: 1} if agents else None
    world = World(
        20 if agents else 16, size=None, rate_bps=2e6, limit_packets=4, back_loss=0.5, parents=parents, wait=3
    )
    world.network.run(12)
    assert _least(world, 6, 12, tuple(range(len(world.receivers)))) > 0.45 * 2e6

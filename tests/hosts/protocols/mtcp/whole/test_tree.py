"""Trees of more than one level, with parents that are given."""

import pytest

from hosts.endpoint import PeerFinished, PeerJoined
from tests.hosts.protocols.mtcp.world import World

CHAIN = {1: 0, 2: 1, 3: 2}
BUSH = {2: 0, 3: 0, 4: 1, 5: 1, 6: 2, 7: 2}


@pytest.mark.parametrize("parents", [{1: 0}, CHAIN, BUSH])
def test_a_clean_network(parents: dict[int, int]) -> None:
    world = World(max(parents) + 1, parents=parents)
    world.finish()
    world.assert_all_have_it()
    addresses = {host.address for host in world.receivers}
    assert {event.peer for event in world.sender.events_of(PeerJoined)} == addresses
    assert {event.peer for event in world.sender.events_of(PeerFinished)} == addresses
    assert set(world.sender_core.family.former) == {
        world.receivers[index].address for index in range(len(world.receivers)) if index not in parents
    }
    assert world.sender_core.counters["repair_packets"] == 0


@pytest.mark.parametrize("seed", range(10))
def test_loss_everywhere(seed: int) -> None:
    loss = 0.02 + 0.05 * (seed % 5)
    world = World(
        8,
        seed=seed,
        size=60_000,
        losses=dict.fromkeys(range(8), loss),
        back_loss=loss,
        duplicate=0.1,
        jitter_s=0.01,
        parents=BUSH,
        wait=20.0,
        parameters={"drop_after_s": 120, "silence_s": 120},
    )
    world.finish(600)
    world.assert_all_have_it()


def test_agents_repair_their_children() -> None:
    world = World(8, size=400_000, parents=BUSH, losses={6: 0.05, 7: 0.05})
    world.finish()
    world.assert_all_have_it()
    assert world.sender_core.counters["repair_packets"] == 0
    assert world.core(2).counters["child_repair_packets"] > 10


def test_the_pipe_is_filled() -> None:
    world = World(8, size=None, rate_bps=5e6, parents=BUSH)
    world.network.run(8)
    assert world.share(4, 8) > 0.9


def test_an_agent_without_children_is_as_quiet_as_a_leaf() -> None:
    """Its children have left: it has no summary any more, and no reason to tell of one again and again."""
    world = World(3, size=None, parents={2: 0}, parameters={"rate_limit_bps": 1e5})
    child = world.receivers[2]
    world.network.at(3.0, lambda: child.apply(child.endpoint.close(now=child.now, reason="enough")))
    world.network.run(4)
    before = [world.core(index).counters["feedback_packets"] for index in (0, 1)]
    world.network.run(14)
    agent, leaf = (world.core(index).counters["feedback_packets"] - before[index] for index in (0, 1))
    assert leaf - 5 <= agent <= leaf + 5

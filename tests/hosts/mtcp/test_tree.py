"""Trees of more than one level, with parents that are given."""

import pytest

from hosts.endpoint import PeerFinished, PeerJoined
from tests.hosts.mtcp.world import World

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
    world = World(8, size=None, parents=BUSH)
    world.network.run(15)
    assert world.share(5, 15) > 0.9

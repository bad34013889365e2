"""Files over Arbor, in an in-memory network: every receiver ends with the exact bytes, whatever the network does."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts import protocols
from hosts.endpoint import Address, Datagram, PeerDropped, SessionEnded
from hosts.parts.fec.pieces import LEAST_PAYLOAD_BYTES
from hosts.protocol import Session
from hosts.protocols.arbor.packets import Blocks, encode_blocks
from tests.hosts.files import GROUP, FileWorld
from tests.hosts.network import Clock


class World(FileWorld):
    """Arbor's."""

    def __init__(self, receivers: int = 3, **given: Any) -> None:
        super().__init__("arbor", receivers, **given)


@pytest.mark.parametrize("size", [0, 1, 1384, 256 * 1384, 256 * 1384 + 1, 3_000_000])
def test_a_file_arrives(size: int) -> None:
    world = World(size=size)
    world.finish()
    world.check()


@pytest.mark.parametrize(
    "trouble",
    [
        {"loss": 0.1},
        {"loss": 0.02, "back_loss": 0.3},
        {"duplicate": 0.1, "jitter_s": 0.01},
        {"clocks": {"sender": Clock(1e6, 1e-4), "r1": Clock(5e5, -1e-4)}},
    ],
)
def test_it_arrives_whatever_the_network_does(trouble: dict[str, Any]) -> None:
    world = World(size=400_000, seed=3, **trouble)
    world.finish()
    world.check()


def test_the_smallest_packets_carry_a_file() -> None:
    world = World(1, size=5000, parameters={"payload_bytes": LEAST_PAYLOAD_BYTES})
    world.finish()
    world.check()


def test_it_fills_a_link() -> None:
    world = World(size=6_000_000)
    world.finish()
    world.check()
    # Joining, the sender's parting and the time step of the world included.
    assert 6_000_000 * 8 / world.network.now > 0.75 * 10e6


def test_repairs_are_few_for_independent_losses_of_many() -> None:
    world = World(16, size=1_000_000, loss=0.02)
    world.finish(600)
    world.check()
    lost = sum(host.endpoint.sample(now=0.0)["lost_packets"] for host in world.receivers)  # type: ignore[misc]
    assert world.core.blocks.repair_packets < 0.4 * lost


def test_a_receiver_that_dies_is_left_behind() -> None:
    world = World(size=2_000_000, parameters={"drop_after_s": 3.0})
    world.network.at(0.8, world.receivers[1].kill)
    world.finish()
    assert bytes(world.receivers[0].received) == bytes(world.receivers[2].received) == world.data
    assert [event.peer.host for event in world.sender.events_of(PeerDropped)] == [world.network.address("r1").host]
    end = world.sender.end
    assert end is not None
    assert not end.complete


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=80), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(0, 255))
def test_hostile_words_on_blocks_change_nothing(garbage: bytes, receiver: int, number: int, kind: int) -> None:
    world = World(size=100_000)
    stranger = Address("10.9.9.9", 9)
    core = world.core
    status = Blocks(core.number, receiver, number, number, ((number, 65535),) * 3)
    for data in (bytes((1, 6, kind, 0)) + garbage, encode_blocks(status)):
        for source in (stranger, world.network.address("r0")):
            world.network.at(0.3, lambda data=data, source=source: world.sender.receive(Datagram(data, source, GROUP)))
    world.finish()
    world.check()
    assert world.sender.end == SessionEnded(True, "")


def test_who_comes_when_it_has_begun_is_refused_and_holds_nobody_back() -> None:
    world = World(2, size=1_000_000)
    network = world.network
    network.link("edge", "late", rate_bps=1e9, delay_s=0.001, limit_packets=1000)
    receiver = protocols.get("arbor").receiver(Session(GROUP), Random(99), {})
    network.run(0.8)
    late = network.host("late", receiver)
    late.start()
    world.finish()
    world.check()
    assert late.end == SessionEnded(False, "refused: the session has already started")

"""Files over TFMCC, in an in-memory network: every receiver ends with the exact bytes, whatever the network does."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts import protocols
from hosts.endpoint import Address, Datagram, PeerDropped, SessionEnded
from hosts.parts.fec.pieces import LEAST_PAYLOAD_BYTES, MOST_NEEDS, BlockStatus
from hosts.protocol import Session
from hosts.protocols.tfmcc.blocks import encode_status, is_blocks, parse_status
from hosts.wire.header import PacketError
from tests.hosts.files import GROUP, FileWorld
from tests.hosts.network import Clock

TFMCC = protocols.get("tfmcc")


class World(FileWorld):
    """TFMCC's."""

    def __init__(self, receivers: int = 3, **given: Any) -> None:
        super().__init__("tfmcc", receivers, **given)


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
        {"loss": 0.05, "parameters": {"rules": "rfc", "history_discounting": True, "loss_intervals": 16}},
    ],
)
def test_it_arrives_whatever_the_network_does(trouble: dict[str, Any]) -> None:
    world = World(size=400_000, seed=3, **trouble)
    world.finish()
    world.check()


def test_the_smallest_packets_carry_a_file_and_smaller_ones_are_refused() -> None:
    world = World(1, size=5000, parameters={"payload_bytes": LEAST_PAYLOAD_BYTES})
    world.finish()
    world.check()
    with pytest.raises(ValueError, match=f"'payload_bytes' must be in {LEAST_PAYLOAD_BYTES}"):
        TFMCC.parse_options({"payload_bytes": LEAST_PAYLOAD_BYTES - 1})


def test_who_comes_too_late_is_told_so() -> None:
    world = World(2, size=2_000_000)
    network = world.network
    network.run(0.8)
    network.link("edge", "late", rate_bps=1e9, delay_s=0.001, limit_packets=1000)
    receiver = TFMCC.receiver(Session(GROUP, network.address("sender").host), random.Random(3))
    late = network.host("late", receiver)
    late.start()
    network.run(1.0)
    assert late.end == SessionEnded(False, "refused: the session has already started")
    world.finish()
    world.check()


def test_it_fills_a_link() -> None:
    world = World(size=6_000_000)
    world.finish()
    world.check()
    assert (
        6_000_000 * 8 / world.network.now > 0.7 * 10e6
    )  # handshake, slowstart and the time step of the world included


def test_repairs_are_few_for_independent_losses_of_many() -> None:
    world = World(16, size=1_000_000, loss=0.02)
    world.finish(600)
    world.check()
    lost = sum(host.endpoint.sample(now=0.0)["lost_packets"] for host in world.receivers)  # type: ignore[misc]
    assert world.core.blocks.repair_packets < 0.5 * lost


def test_a_receiver_that_dies_is_left_behind() -> None:
    world = World(size=2_000_000, parameters={"drop_after_s": 3.0})
    world.network.at(0.8, world.receivers[1].kill)
    world.finish()
    assert bytes(world.receivers[0].received) == bytes(world.receivers[2].received) == world.data
    assert [event.peer.host for event in world.sender.events_of(PeerDropped)] == [world.network.address("r1").host]
    end = world.sender.end
    assert end is not None
    assert not end.complete


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=80), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(0, 255))
def test_hostile_words_on_blocks_change_nothing(garbage: bytes, receiver: int, number: int, kind: int) -> None:
    world = World(size=100_000)
    stranger = Address("10.9.9.9", 9)
    core = world.core
    for data in (
        bytes((1, 2, kind, 0)) + garbage,
        encode_status(BlockStatus(core.number, receiver, number, number, ((number, 65535),) * 3)),
    ):
        for source in (stranger, world.network.address("r0")):
            world.network.at(0.3, lambda data=data, source=source: world.sender.receive(Datagram(data, source, GROUP)))
    world.finish()
    world.check()


needs = st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**16 - 1)), max_size=MOST_NEEDS).map(tuple)


@given(*[st.integers(0, 2**32 - 1)] * 4, needs)
def test_words_on_blocks_survive_the_way(
    session: int, receiver: int, seq: int, delivered: int, wanted: tuple[tuple[int, int], ...]
) -> None:
    status = BlockStatus(session, receiver, seq, delivered, wanted)
    data = encode_status(status)
    assert is_blocks(data)
    assert parse_status(data) == status
    for wrong in (data[:-1], data + b"x"):
        with pytest.raises(PacketError):
            parse_status(wrong)

"""Files by protocols whose senders know their receivers, in an in-memory network: whatever the network does, every
receiver ends with the exact bytes."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts import protocols
from hosts.endpoint import Address, Datagram, PeerDropped, SessionEnded
from hosts.parts.fec.pieces import LEAST_PAYLOAD_BYTES, BlockStatus
from hosts.protocol import Session
from hosts.protocols.arbor.packets import Blocks, encode_blocks
from hosts.protocols.tfmcc.blocks import encode_status
from tests.hosts.files import GROUP, FileWorld
from tests.hosts.host import Clock

PROTOCOLS = ("arbor", "tfmcc")
STATUS: dict[str, Callable[[int, int, int], bytes]] = {
    "arbor": lambda session, receiver, number: encode_blocks(
        Blocks(session, receiver, number, number, ((number, 65535),) * 3)
    ),
    "tfmcc": lambda session, receiver, number: encode_status(
        BlockStatus(session, receiver, number, number, ((number, 65535),) * 3)
    ),
}
"""A receiver's word on blocks: session, receiver, and a number for all the rest."""
TROUBLES: list[dict[str, Any]] = [
    {"loss": 0.1},
    {"loss": 0.02, "back_loss": 0.3},
    {"duplicate": 0.1, "jitter_s": 0.01},
    {"clocks": {"sender": Clock(1e6, 1e-4), "r1": Clock(5e5, -1e-4)}},
]
RFC = {"loss": 0.05, "parameters": {"rules": "rfc", "history_discounting": True, "loss_intervals": 16}}

by_each = pytest.mark.parametrize("protocol", PROTOCOLS)


@by_each
@pytest.mark.parametrize("size", [0, 1, 1384, 256 * 1384, 256 * 1384 + 1, 3_000_000])
def test_a_file_arrives(protocol: str, size: int) -> None:
    world = FileWorld(protocol, size=size)
    world.finish()
    world.check()


@pytest.mark.parametrize(
    ("protocol", "trouble"), [*((one, trouble) for one in PROTOCOLS for trouble in TROUBLES), ("tfmcc", RFC)]
)
def test_it_arrives_whatever_the_network_does(protocol: str, trouble: dict[str, Any]) -> None:
    world = FileWorld(protocol, size=400_000, seed=3, **trouble)
    world.finish()
    world.check()


@by_each
def test_the_smallest_packets_carry_a_file_and_smaller_ones_are_refused(protocol: str) -> None:
    world = FileWorld(protocol, 1, size=5000, parameters={"payload_bytes": LEAST_PAYLOAD_BYTES})
    world.finish()
    world.check()
    with pytest.raises(ValueError, match=f"'payload_bytes' must be in {LEAST_PAYLOAD_BYTES}"):
        protocols.get(protocol).parse_options({"payload_bytes": LEAST_PAYLOAD_BYTES - 1})


@pytest.mark.parametrize(("protocol", "least"), [("arbor", 0.75), ("tfmcc", 0.7)])
def test_it_fills_a_link(protocol: str, least: float) -> None:
    """Joining, slow start, the sender's parting and the time step of the world included."""
    world = FileWorld(protocol, size=3_000_000, rate_bps=5e6)
    world.finish()
    world.check()
    assert 3_000_000 * 8 / world.network.now > least * 5e6


@pytest.mark.parametrize(("protocol", "most"), [("arbor", 0.4), ("tfmcc", 0.5)])
def test_repairs_are_few_for_independent_losses_of_many(protocol: str, most: float) -> None:
    world = FileWorld(protocol, 16, size=1_000_000, loss=0.02)
    world.finish(600)
    world.check()
    lost = sum(host.endpoint.sample(now=0.0)["lost_packets"] for host in world.receivers)  # type: ignore[misc]
    assert world.core.blocks.repair_packets < most * lost


@by_each
def test_a_receiver_that_dies_is_left_behind(protocol: str) -> None:
    world = FileWorld(protocol, size=1_000_000, rate_bps=5e6, parameters={"drop_after_s": 3.0})
    world.network.at(0.8, world.receivers[1].kill)
    world.finish()
    assert bytes(world.receivers[0].received) == bytes(world.receivers[2].received) == world.data
    assert [event.peer.host for event in world.sender.events_of(PeerDropped)] == [world.network.address("r1").host]
    end = world.sender.end
    assert end is not None
    assert not end.complete


@pytest.mark.parametrize("protocol", [*PROTOCOLS, "mtcp", "rla"])
@pytest.mark.parametrize("size", [2_000_000, 20_000_000])
def test_a_receiver_whose_disk_works_is_waited_for(protocol: str, size: int) -> None:
    """It takes four times what one without progress is given, and longer than a silent sender is borne with."""
    world = FileWorld(protocol, size=size, rate_bps=size * 8 / 2, parameters={"drop_after_s": 10.0})
    world.receivers[1].consume_bps = size * 8 / 40
    world.finish()
    world.check()
    assert 40 < world.network.now < 50


@by_each
@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=80), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(0, 255))
def test_hostile_words_on_blocks_change_nothing(
    protocol: str, garbage: bytes, receiver: int, number: int, kind: int
) -> None:
    world = FileWorld(protocol, size=100_000)
    stranger = Address("10.9.9.9", 9)
    head = bytes((1, protocols.get(protocol).number, kind, 0))
    for data in (head + garbage, STATUS[protocol](world.core.number, receiver, number)):
        for source in (stranger, world.network.address("r0")):
            world.network.at(0.3, lambda data=data, source=source: world.sender.receive(Datagram(data, source, GROUP)))
    world.finish()
    world.check()


@by_each
@pytest.mark.parametrize("knows_the_sender", [False, True])
def test_who_comes_when_all_have_the_first_block_is_refused_and_holds_nobody_back(
    protocol: str, knows_the_sender: bool
) -> None:
    world = FileWorld(protocol, 2, size=3_000_000)
    network = world.network
    network.link("edge", "late", rate_bps=1e9, delay_s=0.001, limit_packets=1000)
    source = network.address("sender").host if knows_the_sender else None
    receiver = protocols.get(protocol).receiver(Session(GROUP, source), Random(99), {})
    network.run(1.5)
    late = network.host("late", receiver)
    late.start()
    world.finish()
    world.check()
    assert late.end == SessionEnded(False, "refused: the session has already started")

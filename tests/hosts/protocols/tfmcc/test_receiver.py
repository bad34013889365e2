"""TFMCC's receiver: what it tells when."""

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from hosts.endpoint import Address, Datagram, Send
from hosts.protocol import Session
from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.packets import Data, encode_data
from hosts.protocols.tfmcc.rate_float import NO_RATE, decode_rtt, encode_rate, encode_rtt
from hosts.protocols.tfmcc.receiver import TfmccReceiver
from tests.hosts.protocols.tfmcc.world import World
from tests.hosts.star import GROUP

NEAR_US = 20_000
"""One way from the edge to a receiver; the rest takes none."""


def rtt_at_first(options: Mapping[str, Any]) -> float:
    """What a receiver takes for its round trip time before it has measured it."""
    world = World([{"delay_us": NEAR_US}], options=options)
    world.run(0.6)  # the first packet that comes after the join
    receiver = world.receivers[0]
    assert receiver.data_packets > 0
    assert not receiver.path.round_trip.has_measurement
    return receiver.rtt


def test_synchronised_clocks_initialise_the_round_trip_time() -> None:
    assert rtt_at_first({}) == TfmccOptions().initial_rtt
    assert rtt_at_first({"clock_error_s": 0.03}) == pytest.approx(2 * (0.02 + 0.03), rel=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_a_first_loss_is_told_within_a_feedback_delay_however_many_follow(seed: int) -> None:
    options = TfmccOptions(initial_rtt_s=0.02)
    receiver = TfmccReceiver(Session(GROUP, session=7, realtime=True), options, Random(seed))
    sender = Address("10.0.0.1", 40000)
    receiver.start(now=0.0)
    max_rtt = encode_rtt(0.5)
    lost_at = told_at = None
    for seq in range(400):
        now = seq * 0.01
        told = list(receiver.handle_timer(now=now))
        if seq % 10 == 9:  # a loss event each 0.1 s
            lost_at = lost_at or now
        else:
            sent_us = int(now * 1e6)
            data = Data(7, 0, seq, 1, encode_rate(1e9), NO_RATE, NO_RATE, max_rtt, 99, 0, 0, 0, sent_us, 0, b"x" * 900)
            told += receiver.receive(Datagram(encode_data(data), sender, GROUP), now=now)
        if any(isinstance(effect, Send) for effect in told):
            told_at = told_at or now
    assert lost_at is not None
    assert told_at is not None
    assert lost_at < told_at < lost_at + 4 * decode_rtt(max_rtt) + 0.1


def test_a_queue_that_marks_limits_the_rate_without_losses() -> None:
    queue = {"queue": "codel", "limit_packets": 200, "ecn": True}
    world = World([{}], bottleneck={"rate_bps": 2e6, "delay_us": NEAR_US, **queue})
    assert 0.8 * 2e6 < world.rate(0, 10.0, 20.0) <= 2e6
    receiver = world.receivers[0]
    assert receiver.counters["marked"] > 0
    assert receiver.path.history.events > 0
    assert receiver.path.history.lost_packets < 20

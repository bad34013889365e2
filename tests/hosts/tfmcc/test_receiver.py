"""TFMCC's receiver in whole simulated sessions."""

from collections.abc import Mapping
from typing import Any

import pytest

from hosts.tfmcc.options import TfmccOptions
from tests.hosts.tfmcc.world import World

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

"""Whose losses mean congestion, and how often."""

import random

from hosts.endpoint import Address
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.losses import Losses
from hosts.protocols.mtcp.options import MtcpOptions

WINDOW = 20
"""Packets that are sent in a round trip."""


def reactions(rates: list[float], shared: float, rounds: int = 4000) -> float:
    """A round trip, on average: when each child loses something in it at its own rate, and all the same at `shared`."""
    rng = random.Random(1)
    children = [
        Child(number, Address("10.0.0.1", number), MtcpOptions(), 0.0, first=0, first_offset=0, buffer_bytes=1 << 20)
        for number in range(len(rates))
    ]
    losses = Losses(0)
    found = 0
    for turn in range(rounds):
        first, end = turn * WINDOW, (turn + 1) * WINDOW
        common = rng.random() < shared
        for child, rate in zip(children, rates, strict=True):
            if common or rng.random() < rate:
                found += losses.means_congestion(child, first, end, children)
    return found / rounds


def test_one_child_s_each_loss_does() -> None:
    assert reactions([0.05], 0.0) > 0.045


def test_what_all_lose_is_one_loss() -> None:
    for count in (1, 8, 16):
        assert 0.09 < reactions([0.0] * count, 0.1) < 0.11


def test_others_losing_other_packets_does_not_make_it_more() -> None:
    """Sixteen that lose at one rate are as often reacted on as about one of them."""
    assert 0.02 < reactions([0.03] * 16, 0.0) < 0.06


def test_the_child_that_loses_most_governs() -> None:
    assert 0.035 < reactions([0.05, *[0.005] * 7], 0.0) < 0.06


def test_both_together() -> None:
    assert 0.08 < reactions([0.02] * 8, 0.1) < 0.16


def test_what_has_been_reacted_on_is_not_again() -> None:
    child = Child(0, Address("10.0.0.1", 1), MtcpOptions(), 0.0, first=0, first_offset=0, buffer_bytes=1 << 20)
    losses = Losses(0)
    losses.reacted(10)
    assert not losses.means_congestion(child, 9, 20, [child])
    assert not losses.means_congestion(child, 12, 20, [child])  # the same round trip of that child
    assert losses.means_congestion(child, 20, 30, [child])

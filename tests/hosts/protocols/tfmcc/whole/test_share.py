"""TFMCC's share beside a TCP of today, with its defaults, on links that nobody tuned."""

from typing import Literal

import pytest

from tests.hosts.protocols.tfmcc.world import World
from tests.hosts.star import add_tcp

SETTLED_S = 25.0
END_S = 50.0


@pytest.mark.parametrize(
    ("control", "rate_bps", "delay_us", "queue"),
    [("cubic", 4e6, 100, 24), ("cubic", 4e6, 20_000, 30), ("cubic", 5e6, 70_000, 90), ("reno", 4e6, 20_000, 30)],
)
def test_a_fair_share(control: Literal["cubic", "reno"], rate_bps: float, delay_us: float, queue: int) -> None:
    """A LAN's queue, an ordinary path, and a long one."""
    bottleneck = {"rate_bps": rate_bps, "delay_us": delay_us, "limit_packets": queue}
    world = World([{"delay_us": 100 * (number + 1)} for number in range(2)], bottleneck=bottleneck)
    add_tcp(world.sim, control)
    session = world.rate(0, SETTLED_S, END_S)
    # What the session leaves of the link is the TCP's: both together fill it but for a tenth.
    assert 0.2 * rate_bps < session < 0.75 * rate_bps


@pytest.mark.parametrize(("rate_bps", "delay_us", "queue"), [(10e6, 100, 30), (4e6, 5000, 20)])
def test_a_session_that_begins_slowly_soon_fills_the_link(rate_bps: float, delay_us: int, queue: int) -> None:
    """Nobody's round trip time is known for the two seconds of the first feedback round; then the rate doubles with
    each few packets."""
    bottleneck = {"rate_bps": rate_bps, "delay_us": delay_us, "limit_packets": queue}
    world = World([{"delay_us": 100 * (number + 1)} for number in range(4)], bottleneck=bottleneck)
    assert world.rate(0, 3.25, 4.0) > 0.8 * rate_bps


@pytest.mark.parametrize("queue", ["codel", "pie"])
@pytest.mark.parametrize("ecn", [False, True])
def test_alone_behind_a_queue_that_is_kept_short(queue: str, ecn: bool) -> None:
    """A CUBIC gets 0.91 of the link there."""
    world = World([{}], bottleneck={"rate_bps": 4e6, "delay_us": 45_000, "queue": queue, "ecn": ecn})
    assert world.rate(0, 15.0, END_S) > 0.8 * 4e6


def test_beside_a_reno_on_a_long_path() -> None:
    """A CUBIC would take four times as much as the Reno."""
    rate_bps = 10e6
    world = World([{}], bottleneck={"rate_bps": rate_bps, "delay_us": 100_000, "limit_packets": 165})
    add_tcp(world.sim, "reno")
    assert 0.25 * rate_bps < world.rate(0, 60.0, 100.0) < 2 / 3 * rate_bps


def test_alone_on_a_long_path_the_link_is_filled_again_as_a_cubic_fills_it() -> None:
    """By loss intervals alone it would wait at half of the link for as long as a TCP has between two losses."""
    rate_bps = 12e6
    world = World([{}], bottleneck={"rate_bps": rate_bps, "delay_us": 140_000, "limit_packets": 90})
    assert world.rate(0, 25.0, 40.0) > 0.85 * rate_bps

"""What hosts take of a round trip, and how much may be on its way through them."""

import pytest

from hosts.protocols.mtcp.host_time import MOST_S, HostTime
from hosts.protocols.mtcp.packets import Feedback, encode_feedback, parse


def feedback(echo_time_us: int, held_us: int) -> Feedback:
    packet = parse(encode_feedback(7, False, 9, echo_time_us, held_us, 0, 0, 0, 0, 0))
    assert isinstance(packet, Feedback)
    return packet


def test_what_waited_here_before_it_left_is_no_round_trip() -> None:
    host = HostTime()
    host.sends(1_000_000)
    host.sends(1_000_000)
    host.sends(1_000_200)
    host.handed_over(1.0005)
    host.sends(1_000_900)
    assert host.answered(feedback(1_000_000, 40), 1.001, 1.001).held_us == 540
    assert host.answered(feedback(1_000_200, 0), 1.001, 1.001).held_us == 300
    assert host.answered(feedback(1_000_900, 5), 1.001, 1.001).held_us == 5, "not handed over yet"
    assert host.answered(feedback(1, 5), 1.001, 1.001).held_us == 5, "of long ago"


def test_what_hosts_take_counts_as_far_as_it_is_longer_than_the_network() -> None:
    host = HostTime()
    assert host.packets(1e5, 0.0) == host.packets(1e5, 0.001) == 0, "nothing is known"
    for _ in range(100):
        host.answered(feedback(1, 700), 2.0, 2.0003)
    assert host.packets(1e5, 0.0002) == pytest.approx(80, abs=1)
    assert host.packets(1e5, 0.001) == 0, "a longer path"
    assert host.packets(1e5, 0.0) == 0, "the path is not known"


def test_it_is_bounded_where_a_host_is_overwhelmed() -> None:
    host = HostTime()
    for _ in range(100):
        host.answered(feedback(1, 2_000_000), 2.0, 5.0)
    assert host.packets(1e5, 0.0005) == int(1e5 * (MOST_S - 0.0005))

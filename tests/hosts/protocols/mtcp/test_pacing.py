"""When the next packet may leave."""

import itertools
import random

import pytest

from hosts.protocols.mtcp.pacing import LEAST_QUANTUM_S, PIECE_BYTES, QUANTUM_S, Pacer

PACKET_BYTES = 1436


def _departures(pace: float, seconds: float, *, beside_others: bool = False) -> list[float]:
    """Of a sender that always has something, and is woken when it asks for it."""
    pacer, now, times = Pacer(random.Random(1), PACKET_BYTES), 50.0, []
    while now < 50.0 + seconds:
        while pacer.allows(now):
            pacer.sent(pace, now, beside_others=beside_others)
            times.append(now)
        assert now < pacer.at
        now = pacer.at
    return times


@pytest.mark.parametrize("pace", [10.0, 900.0, 80_000.0])
def test_packets_leave_at_the_pace(pace: float) -> None:
    times = _departures(pace, 1.0)
    assert len(times) == pytest.approx(pace * (1 + 2 * QUANTUM_S), rel=0.01, abs=1.5)
    assert max(times.count(time) for time in set(times)) <= 1 + 3 * QUANTUM_S * pace


@pytest.mark.parametrize(("pace", "quantum"), [(40_000.0, QUANTUM_S), (1e6, LEAST_QUANTUM_S)])
def test_it_is_woken_once_a_quantum_at_most(pace: float, quantum: float) -> None:
    assert len(set(_departures(pace, 1.0))) <= 1 / quantum + 1


def test_no_more_leaves_together_than_one_frame_holds() -> None:
    """A gigabit's millisecond is 87 packets, which a queue of 64 has no room for."""
    times = _departures(87_000.0, 0.1)
    frame = PIECE_BYTES / PACKET_BYTES
    later = [time for time in times if time > times[0]]
    assert max(later.count(time) for time in set(later)) <= frame + 1
    pacer = Pacer(random.Random(1), PACKET_BYTES)
    assert [pacer.together(pace) for pace in (100.0, 10_000.0, 87_000.0)] == [1, 10, int(frame)]


def test_a_pause_is_made_up_for_by_no_more_than_two_quanta() -> None:
    pacer = Pacer(random.Random(1), PACKET_BYTES)
    pacer.sent(1000.0, 1.0)
    at_once = 0
    while pacer.allows(9.0):
        pacer.sent(1000.0, 9.0)
        at_once += 1
    assert at_once == 3


def test_beside_others_no_packet_leaves_at_a_regular_time() -> None:
    """Anything from at once to two packets' times after the one before, and the pace is the same."""
    times = _departures(100.0, 100.0, beside_others=True)
    assert len(times) == pytest.approx(10_000, rel=0.02)
    gaps = [later - sooner for sooner, later in itertools.pairwise(times)]
    assert max(gaps) < 0.0201
    assert 0.2 < sum(gap < 0.005 for gap in gaps) / len(gaps) < 0.3
    assert 0.2 < sum(gap > 0.015 for gap in gaps) / len(gaps) < 0.3

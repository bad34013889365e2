import itertools
import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.endpoint import DeliverDatagram
from hosts.parts.playout import PlayoutBuffer


def datagram(seq: int, sent_at: float, arrived_at: float) -> DeliverDatagram:
    return DeliverDatagram(seq, seq * 10, b"%010d" % seq, sent_at, arrived_at)


def test_the_senders_rhythm_comes_back() -> None:
    buffer = PlayoutBuffer(0.2)
    rng = Random(1)
    skew = -5000.0
    times = {seq: seq * 0.04 for seq in range(100)}
    arrivals = sorted((sent + rng.uniform(0.01, 0.1) + skew, seq) for seq, sent in times.items())
    played: list[tuple[float, bytes]] = []
    now = arrivals[0][0]
    while arrivals or buffer.next_at is not None:
        due = buffer.next_at
        if arrivals and (due is None or arrivals[0][0] <= due):
            now, seq = arrivals.pop(0)
            buffer.add(datagram(seq, times[seq], now))
        else:
            assert due is not None
            now = due
            played += [(now, piece) for piece in buffer.take(now)]
    assert [piece for _, piece in played] == [b"%010d" % seq for seq in range(100)]
    later = [at for at, _ in played[20:]]
    gaps = [after - before for before, after in itertools.pairwise(later)]
    assert gaps == pytest.approx([0.04] * len(gaps), abs=0.005)
    assert buffer.loss == 0
    assert 0.005 < buffer.jitter < 0.1


def test_what_is_missing_or_late_counts_as_lost_and_holds_nobody_up() -> None:
    buffer = PlayoutBuffer(0.1)
    buffer.add(datagram(0, 0.0, 1.0))
    buffer.add(datagram(1, 0.04, 1.04))
    buffer.add(datagram(3, 0.12, 1.12))
    assert buffer.take(1.1) == [b"%010d" % 0]
    assert buffer.take(1.22 + 1e-9) == [b"%010d" % 1, b"%010d" % 3]
    buffer.add(datagram(2, 0.08, 1.3))
    assert buffer.take(2.0) == []
    assert (buffer.lost, buffer.late, buffer.played) == (1, 1, 3)
    assert buffer.loss == pytest.approx(0.25)


def test_one_datagram_that_came_too_fast_makes_no_other_late() -> None:
    buffer = PlayoutBuffer(0.1)
    buffer.add(datagram(0, 0.0, 1.0))
    buffer.add(datagram(1, 3600.0, 1.02))
    buffer.add(datagram(1, 0.04, 1.04))
    assert buffer.take(2.0) == [b"%010d" % 0, b"%010d" % 1]
    assert buffer.late == 1
    for seq in (2, 3, 4):  # the way is shorter from now on
        buffer.add(datagram(seq, 5.0 + seq, 4.0 + seq))
    assert buffer.take(9.0) == [b"%010d" % 3, b"%010d" % 4]
    assert buffer.late == 2


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0, 10), st.floats(-10, 10)), max_size=60))
def test_any_arrivals_are_played_in_order_and_once(arrivals: list[tuple[int, float, float]]) -> None:
    buffer = PlayoutBuffer(0.5)
    played: list[bytes] = []
    for seq, sent_at, arrived_at in arrivals:
        buffer.add(datagram(seq, sent_at, arrived_at))
        played += buffer.take(arrived_at)
    played += buffer.take(1e9)
    assert buffer.next_at is None
    assert len(played) == buffer.played
    assert buffer.received == buffer.late + buffer.played


class Plain:
    """Playout by a minimum that never ages, on true clocks: what a datagram is played by, and whether it is late."""

    def __init__(self) -> None:
        self.least = math.inf

    def due(self, sent_at: float, arrived_at: float) -> float:
        self.least = min(self.least, arrived_at - sent_at)
        return sent_at + self.least + DELAY_S


DELAY_S = 0.2


@given(st.lists(st.floats(0, 0.5), min_size=1, max_size=200))
def test_without_drift_ten_seconds_play_within_a_millisecond_of_a_minimum_that_never_ages(jitter: list[float]) -> None:
    sent = [number * 9.5 / len(jitter) for number in range(len(jitter))]
    plain, buffer = Plain(), PlayoutBuffer(DELAY_S)
    late = 0
    for arrived_at, number in sorted(
        (at + extra, number) for number, (at, extra) in enumerate(zip(sent, jitter, strict=True))
    ):
        expected = plain.due(sent[number], arrived_at)
        one = datagram(number, sent[number], arrived_at)
        buffer.add(one)
        assert expected - 1e-9 <= buffer.due(one) <= expected + 1e-3 + 1e-9
        late += arrived_at > expected
        assert buffer.late <= late


@pytest.mark.parametrize("drift", [100e-6, -100e-6, 0.0])
def test_clocks_that_drift_for_an_hour_neither_delay_nor_lose(drift: float) -> None:
    """50 packets/s, of which many are late whatever the clocks do. `drift` is the receiver's."""
    rng = Random(7)
    gap = 0.02
    sent = [number * gap for number in range(int(3600 / gap))]
    jitter = [rng.uniform(0.03, 0.08) + (rng.random() < 0.1) * rng.uniform(0.1, 0.2) for _ in sent]
    plain, buffer = Plain(), PlayoutBuffer(DELAY_S)
    late = 0
    longest = 0.0
    for at, number in sorted((at + extra, number) for number, (at, extra) in enumerate(zip(sent, jitter, strict=True))):
        arrived_at = 5000.0 + at * (1 + drift)
        buffer.take(arrived_at)
        one = datagram(number, sent[number], arrived_at)
        buffer.add(one)
        due = plain.due(sent[number], at)
        late += at > due
        assert buffer.late <= late, f"late for its drift, {at:.0f} s after the beginning"
        longest = max(longest, (buffer.due(one) - 5000.0) / (1 + drift) - due)
    buffer.take(math.inf)
    assert buffer.next_at is None
    assert buffer.played + buffer.late == len(sent)
    assert late - buffer.late < 0.05 * late
    assert longest < 0.003

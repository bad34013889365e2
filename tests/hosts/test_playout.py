import itertools
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.endpoint import DeliverDatagram
from hosts.playout import PlayoutBuffer


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

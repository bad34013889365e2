from typing import Any

import pytest

from experiments.survey.distribution import Change, Tcp
from experiments.survey.outcome import Outcome, judge, recovery_s
from tests.experiments.survey.cells import FAR, small

BESIDE = (Tcp("reno", 0.0, 0.0),)


def run(goodput: float, **more: Any) -> dict[str, Any]:
    """What was measured: a constant rate of 50 windows of 0.4 s."""
    rates = [round(goodput)] * 50
    return {"goodput_bps": goodput, "rates_bps": rates, "tcps_bps": [], "stall_s": 0.4, "stalled": FAR} | more


def test_goodput_is_of_what_the_worst_tcp_gets() -> None:
    found = judge(small(), "tfmcc", run(9e5), [run(1.9e6), run(1e6), run(1.5e6)])
    assert found.reference_bps == 1e6
    assert (found.of_tcp, found.of_link) == (0.9, 0.45)
    assert (found.is_enough, found.is_fair, found.recovers) == (True, None, None)
    assert (found.stalls, found.collapses, found.badness) == (False, False, 0.0)


def test_the_share_is_of_the_mean_rate_beside_it() -> None:
    found = judge(small(tcps=BESIDE), "tfmcc", run(4.5e5, tcps_bps=[6e5, 1.4e6]), [run(1e6)])
    assert found.share == 0.45
    assert (found.is_enough, found.is_fair) == (None, False)
    assert found.badness == pytest.approx(0.152, abs=1e-3)


def test_a_slow_reader_holds_back_whoever_waits_for_it() -> None:
    cell = small(slow=(FAR, 5e5), tcps=BESIDE)
    waiting = judge(cell, "mtcp", run(5e5, tcps_bps=[1e6]), [run(1e6)])
    assert (waiting.reference_bps, waiting.of_tcp, waiting.share) == (5e5, 1.0, 1.0)
    live = judge(cell, "tfmcc", run(5e5, tcps_bps=[1e6]), [run(1e6)])
    assert (live.reference_bps, live.of_tcp, live.share) == (1e6, 0.5, 0.5)


def test_where_no_tcp_gets_anything_there_is_nothing_to_compare() -> None:
    found = judge(small(tcps=BESIDE), "tfmcc", run(5e5, tcps_bps=[0]), [run(0.0)])
    assert (found.of_tcp, found.share, found.collapses) == (None, None, None)


@pytest.mark.parametrize(("stall", "stalls"), [(5.0, False), (5.1, True)])
def test_a_stall_is_five_seconds_or_more(stall: float, stalls: bool) -> None:
    assert judge(small(), "tfmcc", run(1e6, stall_s=stall), [run(1e6)]).stalls is stalls


def test_a_stall_is_ten_round_trips_or_more() -> None:
    cell = small(change=Change("delay", 0.26))  # round trips of 600 ms
    assert not judge(cell, "tfmcc", run(1e6, stall_s=5.9), [run(1e6)]).stalls
    assert judge(cell, "tfmcc", run(1e6, stall_s=6.1), [run(1e6)]).stalls


def test_a_collapse_is_a_tenth_of_what_tcp_gets() -> None:
    assert judge(small(), "tfmcc", run(0.9e5), [run(1e6)]).collapses
    assert not judge(small(), "tfmcc", run(1.1e5), [run(1e6)]).collapses


def test_recovery_counts_from_the_change() -> None:
    cell = small(change=Change("rate", 1e6))
    # 2 Mbit/s until 10 s, 0.5 Mbit/s for 4 s, and then 0.9 of the new reference's 1 Mbit/s.
    rates = [2e6] * 25 + [5e5] * 10 + [9e5] * 15
    reference = run(1.5e6, rates_bps=[2e6] * 25 + [0] * 5 + [1e6] * 20)
    found = judge(cell, "tfmcc", run(7e5, rates_bps=rates), [reference])
    # Over 1.2 s, three windows: two of 0.9 and one of 0.5 have less than 0.85 on average.
    assert found.recovery_s == pytest.approx(4.0)
    assert found.recovers
    assert found.of_link == 0.7, "of the changed rate"


def test_who_does_not_recover_is_told() -> None:
    cell = small(change=Change("rate", 1e6))
    found = judge(cell, "tfmcc", run(5e5), [run(1e6)])
    assert (found.recovery_s, found.recovers) == (None, False)
    assert recovery_s(cell, [], 1e6) is None
    long = small(change=Change("rate", 1e6), duration_s=100.0)
    late = judge(long, "tfmcc", run(5e5, rates_bps=[5e5] * 180 + [1e6] * 70), [run(1e6)])
    assert late.recovery_s == pytest.approx(22.0)
    assert late.recovers is False


def test_worse_is_worse() -> None:
    def badness(goodput: float, **more: Any) -> float:
        return judge(small(), "tfmcc", run(goodput, **more), [run(1e6)]).badness

    ordered = [badness(9e5), badness(8e5), badness(2e5), badness(5e4), badness(5e4, stall_s=18.0), badness(0.0)]
    assert ordered == sorted(ordered)
    assert len(set(ordered)) == len(ordered)


def test_what_was_not_run_has_no_answers() -> None:
    found = Outcome(small(tcps=BESIDE, change=Change("rate", 1e6)), "tfmcc", "left out")
    answers = (found.stalls, found.collapses, found.is_enough, found.is_fair, found.recovers)
    assert answers == (None,) * 5
    assert found.badness == 0.0

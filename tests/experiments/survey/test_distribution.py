"""The distribution is docs/survey.md's: what is drawn, over many seeds."""

import math
from collections import Counter
from collections.abc import Callable
from functools import cache

import pytest

from experiments.survey.bound import LEAST_RTTS, LEAST_S
from experiments.survey.distribution import LOSS_KINDS, QUEUE_KINDS, Cell, draw

UNLIKELY = 1e-4
"""Seeds are fixed: a distribution that is right fails for one set of seeds in ten thousand."""


def chance_of_uniform(places: list[float]) -> float:
    from scipy import stats  # takes longer to import than its tests take, and here each process of a test run would

    return float(stats.kstest(places, "uniform").pvalue)


def chance_of_shares(found: list[int], expected: list[float] | None = None) -> float:
    from scipy import stats

    return float(stats.chisquare(found, expected).pvalue)


@cache  # and not when it is read, which is in each process of a test run
def cells() -> list[Cell]:
    return [draw(seed, number) for seed in range(1, 9) for number in range(250)]


def test_a_cell_is_of_its_seed_and_number_alone() -> None:
    assert draw(3, 7) == draw(3, 7)
    assert draw(3, 7) != draw(3, 8)
    assert draw(3, 7) != draw(4, 7)


@pytest.mark.parametrize(
    ("quantity", "least", "most"),
    [
        (lambda cell: cell.rate_bps, 1e6, 1e9),
        (lambda cell: cell.rtt_s, 1e-3, 0.4),
        (lambda cell: cell.queue.bdp, 0.2, 4.0),
    ],
    ids=["rate", "rtt", "queue"],
)
def test_what_is_log_uniform(quantity: Callable[[Cell], float], least: float, most: float) -> None:
    values = [quantity(cell) for cell in cells()]
    assert least <= min(values) <= max(values) <= most
    places = [math.log(value / least) / math.log(most / least) for value in values]
    assert chance_of_uniform(places) > UNLIKELY


def test_loss_rates_are_log_uniform_up_to_two_percent() -> None:
    lossy = [cell.losses.rate for cell in cells() if cell.losses.kind != "none"]
    assert all(cell.losses.rate == 0 for cell in cells() if cell.losses.kind == "none")
    assert 1e-4 <= min(lossy) <= max(lossy) <= 0.02
    assert chance_of_uniform([math.log(rate / 1e-4) / math.log(200) for rate in lossy]) > UNLIKELY


@pytest.mark.parametrize(
    ("quantity", "shares"),
    [
        (lambda cell: cell.queue.kind, dict.fromkeys(QUEUE_KINDS, 1 / 6)),
        (lambda cell: cell.queue.ecn, {True: 0.5, False: 0.5}),
        (lambda cell: cell.losses.kind, dict.fromkeys(LOSS_KINDS, 1 / 3)),
        (lambda cell: cell.losses.is_shared, {True: 0.5, False: 0.5}),
        (lambda cell: len(cell.tcps), {0: 0.4, 1: 0.15, 2: 0.15, 3: 0.15, 4: 0.15}),
        (lambda cell: cell.back and cell.back.kind, {None: 0.75, "udp": 0.125, "tcp": 0.125}),
        (lambda cell: cell.change and cell.change.kind, {None: 0.6, "delay": 0.2, "rate": 0.2}),
        (lambda cell: cell.slow is not None, {True: 0.15, False: 0.85}),
    ],
    ids=["queue", "ecn", "loss", "shared", "tcps", "back", "change", "slow"],
)
def test_what_has_kinds(quantity: Callable[[Cell], object], shares: dict[object, float]) -> None:
    found = Counter(quantity(cell) for cell in cells())
    assert set(found) == set(shares)
    expected = [shares[kind] * len(cells()) for kind in shares]
    assert chance_of_shares([found[kind] for kind in shares], expected) > UNLIKELY


def test_cross_traffic_is_of_all_kinds() -> None:
    found = Counter(tcp.kind for cell in cells() for tcp in cell.tcps)
    assert set(found) == {"reno", "cubic", "bbr", "prague"}
    assert chance_of_shares(list(found.values())) > UNLIKELY


def test_droptail_never_marks_and_dualpi2_always_does() -> None:
    marks = {(cell.queue.kind, cell.queue.ecn) for cell in cells()}
    sometimes = {(kind, ecn) for kind in ("red", "codel", "fq_codel", "pie") for ecn in (False, True)}
    assert marks == sometimes | {("droptail", False), ("dualpi2", True)}


def test_receivers_are_drawn_log_uniformly_and_then_bounded() -> None:
    wanted = [cell.wanted_receivers for cell in cells()]
    assert (min(wanted), max(wanted)) == (1, 64)
    # Half of a logarithmic scale from 1 to 64 is below 8; what is rounded to 8 is on both sides.
    assert sum(count < 7.5 for count in wanted) / len(cells()) == pytest.approx(math.log(7.5) / math.log(64), abs=0.04)
    for cell in cells():
        assert 1 <= len(cell.tree.receivers) <= cell.wanted_receivers
        assert cell.duration_s >= 0.999 * max(LEAST_S, LEAST_RTTS * cell.longest_rtt_s)


def test_some_cells_are_beyond_the_bound() -> None:
    assert 0.1 < sum(cell.is_beyond for cell in cells()) / len(cells()) < 0.3


def test_the_farthest_receiver_is_a_round_trip_away() -> None:
    for cell in cells():
        longest = 2 * (cell.trunk_s + max(cell.tree.delays().values()))
        assert longest == pytest.approx(cell.rtt_s, rel=2e-3)


def test_somebody_stays_and_events_leave_time() -> None:
    for cell in cells():
        assert cell.steady
        times = [*cell.late.values(), *([cell.dying[1]] if cell.dying else [])]
        assert all(0.19 * cell.duration_s < at < 0.41 * cell.duration_s for at in times)
        assert cell.dying is None or cell.dying[0] not in cell.late
        assert cell.slow is None or cell.slow[0] in cell.steady
        assert len(cell.late) <= 3
    several = [cell for cell in cells() if len(cell.tree.receivers) > 1]
    assert sum(bool(cell.late) for cell in several) / len(several) == pytest.approx(0.25, abs=0.05)


def test_changes_are_within_a_factor_of_four() -> None:
    for cell in cells():
        if cell.change is not None:
            before = cell.rate_bps if cell.change.kind == "rate" else cell.trunk_s
            assert 0.2499 < cell.change.value / before < 4.001
            if cell.change.kind == "rate":
                assert 1e6 <= cell.change.value <= 1e9


def test_the_longest_round_trip_counts_a_longer_path() -> None:
    longer = [
        cell for cell in cells() if cell.change and cell.change.kind == "delay" and cell.change.value > cell.trunk_s
    ]
    assert longer
    for cell in longer:
        assert cell.change is not None
        assert cell.longest_rtt_s == pytest.approx(cell.rtt_s + 2 * (cell.change.value - cell.trunk_s))

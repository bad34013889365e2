"""Which link is a session's bottleneck, and how full it was."""

import tracemalloc
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pytest

from tests.topologies.scenarios import TEXT, small_scenario
from topologies.plan import Plan, make_plan
from topologies.results.bottleneck import Bottleneck, bottleneck_link, carried, counter_rate, rate_between
from topologies.scenario import parse_scenario
from topologies.scenario.scenario import Scenario

SCENARIO = small_scenario()
PLAN = make_plan(SCENARIO)


class Sending(NamedTuple):
    sending_from: float | None = 1.0
    sending_until: float | None = 9.0
    id: int = 3


def found(scenario: Scenario, plan: Plan, rows: Iterable[Mapping[str, Any]], session: Sending) -> Bottleneck | None:
    links = carried(scenario, plan, [session])
    for row in rows:
        for link in links:
            link.take(row)
    return links[0].bottleneck if links else None


def test_the_bottleneck_is_the_slowest_link_towards_receivers_that_stay() -> None:
    link = bottleneck_link(SCENARIO, 0)
    assert link is not None
    assert (link.source, link.destination, link.rate_bps) == ("s1", "s2", 10e6)
    upwards = bottleneck_link(SCENARIO, 1)  # b to c, by s2 only
    assert upwards is not None
    assert (upwards.source, upwards.destination) == ("s2", "c")


def test_a_network_without_rates_has_no_bottleneck() -> None:
    lines = [line for line in TEXT.splitlines() if not line.startswith("    rate: 20")]
    text = "\n".join(lines).replace("rate: 100 Mbps, delay", "delay").replace("rate: 10 Mbps, ", "")
    free = parse_scenario(text.replace(", rate: 50 Mbps}", "}"))
    assert bottleneck_link(free, 0) is None
    assert found(free, make_plan(free), [], Sending()) is None


def test_utilisation_leaves_start_up_and_tail_out() -> None:
    def carried(at: float) -> float:  # bytes: half the rate for 3 s, all of it up to 9 s, nothing after
        return min(at, 3.0) * 625_000 + max(min(at, 9.0) - 3.0, 0.0) * 1_250_000

    rows = [{"t": n / 4, "switch": "s1", "port": 2, "tx_bytes": carried(n / 4)} for n in range(60)]
    rows += [{"t": n / 4, "switch": "s2", "port": 7, "tx_bytes": n} for n in range(60)]
    bottleneck = found(SCENARIO, PLAN, rows, Sending())
    assert bottleneck is not None
    assert (bottleneck.source, bottleneck.destination, bottleneck.from_s, bottleneck.to_s) == ("s1", "s2", 3.0, 9.0)
    assert bottleneck.utilisation == pytest.approx(1.0)


def test_a_short_transfer_has_a_short_start_up() -> None:
    rows = [{"t": n / 4, "switch": "s1", "port": 2, "tx_bytes": n * 312_500} for n in range(20)]
    bottleneck = found(SCENARIO, PLAN, rows, Sending(1.0, 3.0))
    assert bottleneck is not None
    assert bottleneck.from_s == pytest.approx(1.5)


def test_a_session_that_never_sent_has_no_utilisation() -> None:
    assert found(SCENARIO, PLAN, [], Sending(None, None)) is None


def test_rates_need_two_samples() -> None:
    assert rate_between([(0.0, 0), (1.0, 1000)], 0.0, 1.0) == 8000.0
    assert rate_between([(0.0, 0), (1.0, 1000)], 0.5, 1.0) is None
    assert rate_between([], 0.0, 1.0) is None
    assert counter_rate([{"t": 0.0, "n": 0}, {"t": 1.0}, {"t": 2.0, "n": 500}], "n") == 2000.0


def test_of_many_rows_nothing_is_kept() -> None:
    rows = ({"t": n / 1e5, "switch": "s1", "port": 2, "tx_bytes": n * 12.5} for n in range(100_000))
    tracemalloc.start()
    try:
        bottleneck = found(SCENARIO, PLAN, rows, Sending(0.0, 1.0))
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert bottleneck is not None
    assert bottleneck.utilisation == pytest.approx(1.0, abs=1e-4)

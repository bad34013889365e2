"""TFMCC with many receivers: first round trip times (4.3, Figs. 12 and 13) and the end of slowstart (4.4, Fig. 14)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from experiments.harness.measures import trace
from experiments.harness.relations import EachBetween, Every, Only, Ordered
from experiments.harness.row import Case, Curve, Experiment, Figure, Judgement, Outcome, Relation, Timeline
from experiments.harness.runs import Finished
from experiments.rows.networks import document
from experiments.rows.rates import receiver_address
from experiments.rows.tfmcc.base import (
    ACCESS_MS,
    ONE_WAY_MS,
    add_tcp,
    clr_address_since,
    fast,
    host,
    narrow,
    spread_starts,
    tfmcc,
)

# --- Fig. 12: how many receivers have measured their RTT

_RECEIVERS: Final = 1000
_MEASURED_S: Final = 200.0
_WINDOW_S: Final = 20.0
_SHARED_BPS: Final = 1.5e6
_FLOWS: Final = 3
"""The one link that all are behind, and the TCPs on it (ours: the paper has "a single bottleneck"). How many measure
their RTT in a round depends on the time from a report to its echo, mostly this link's queue
(experiments/results/NOTES.md)."""
_RTTS_MS: Final = (60.0, 140.0)
_SPARSE: Final[Mapping[str, Any]] = {"simulation": {"sample": "10 s"}}
"""Thousands of links need no row each quarter of a second."""


def _first_rtt_cases(quick: bool) -> Sequence[Case]:
    least, most = _RTTS_MS
    names = [f"r{number}" for number in range(_RECEIVERS)]
    nodes: dict[str, Any] = {
        "left": {"kind": "router"},
        "right": {"kind": "router"},
        "s": host(_SHARED_BPS, shares=True),
        **{name: host() for name in names},
    }
    links = [fast("s", "left", 0.0), narrow("left", "right", _SHARED_BPS, least / 4)]
    links += [
        fast("right", name, least / 4 + (most - least) / 2 * number / (_RECEIVERS - 1))
        for number, name in enumerate(names)
    ]
    traffic: list[dict[str, Any]] = []
    delays_ms = (0.0, most / 4)  # the mean of the receivers' RTTs
    for number, start in enumerate(spread_starts(_FLOWS)):
        sender = host(_SHARED_BPS, shares=True)
        add_tcp(nodes, links, traffic, (f"a{number}", f"b{number}"), ("left", "right"), start, sender, delays_ms)
    return [
        Case("1000 receivers", document("tfmcc-fig12", _MEASURED_S, nodes, links, tfmcc(names), traffic, **_SPARSE))
    ]


def _measured(run: Finished) -> list[tuple[float, float, float]]:
    """(Time, receivers with a first RTT, feedback rounds)."""
    return [(row["t"], row["first_rtts"], row["round"]) for row in trace(run, 0, "sender") if "first_rtts" in row]


def _first_rtt_measure(run: Finished) -> Mapping[str, float]:
    """Receivers with an RTT at the end, and new ones a round in the poorest window."""
    rows = _measured(run)
    paces = []
    for start in range(0, int(_MEASURED_S), int(_WINDOW_S)):
        inside = [(count, number) for at, count, number in rows if start <= at <= start + _WINDOW_S]
        if len(inside) > 1 and inside[-1][1] > inside[0][1] and inside[0][0] < _RECEIVERS and start > 0:
            paces.append((inside[-1][0] - inside[0][0]) / (inside[-1][1] - inside[0][1]))
    return {"measured": rows[-1][1], "a round": min(paces)}


def _first_rtt_curves(run: Finished) -> Sequence[Curve]:
    return [Curve("receivers with an RTT", [(at, count) for at, count, _ in _measured(run)])]


# --- Fig. 13: how soon a receiver whose RTT has risen becomes the CLR

_CHANGES_S: Final[Mapping[int, Sequence[float]]] = {
    40: (3.0, 10.0, 50.0, 150.0),
    200: (3.0, 10.0, 50.0, 150.0),
    1000: (3.0, 150.0, 600.0),
}
"""Receivers -> when the RTT is raised (ours): from when nobody has measured an RTT to when nearly all have."""
_PATIENCE_S: Final = 100.0
_EQUAL_LOSS: Final = 0.1
"""Fig. 7's; the paper says "the same" only (ours)."""
_BASE_RTT_MS: Final = 60.0
_RAISED_RTT_MS: Final = 600.0
"""Ten times as much (ours)."""


def _change_case(receivers: int, at: float) -> Case:
    names = [f"r{number}" for number in range(receivers)]
    nodes: dict[str, Any] = {"core": {"kind": "router"}, "s": host(), **{name: host() for name in names}}
    links = [fast("s", "core", 0.0)]
    links += [fast("core", name, _BASE_RTT_MS / 2, toward={name: {"loss": _EQUAL_LOSS}}) for name in names]
    faults = [{"kind": "link-delay", "at": f"{at:g} s", "link": ["core", "r0"], "delay": f"{_RAISED_RTT_MS / 2:g} ms"}]
    scenario = document("tfmcc-fig13", at + _PATIENCE_S, nodes, links, tfmcc(names), faults=faults, **_SPARSE)
    return Case(f"{receivers} receivers at {at:g} s", scenario, x=at, series=f"{receivers} receivers")


def _change_cases(quick: bool) -> Sequence[Case]:
    return [
        _change_case(receivers, at)
        for receivers, times in _CHANGES_S.items()
        for at in times
        if not quick or receivers < _RECEIVERS
    ]


def _change_measure(run: Finished) -> Mapping[str, float]:
    at = float(run.run.document["faults"][0]["at"].split()[0])
    try:
        return {"delay": clr_address_since(run, receiver_address(run, "r0"), at)}
    except ValueError:
        return {"delay": _PATIENCE_S}  # at least


@dataclass(frozen=True, slots=True)
class _FirstAboveLast:
    """A change when nobody has measured an RTT is found later than one when nearly all have, for each number of
    receivers. Between, where as many have measured at one time as at another, there is no order."""

    least_runs: ClassVar[int] = Ordered.least_runs

    def judge(self, outcomes: Sequence[Outcome]) -> Judgement:
        """ValueError as `Ordered`'s."""
        lines: dict[str, list[Outcome]] = {}
        for outcome in outcomes:
            lines.setdefault(outcome.case.series, []).append(outcome)
        if not lines:
            raise ValueError("nothing was measured")
        ends = [line[end] for line in lines.values() for end in (0, -1)]
        return Every([Only(Ordered(), series=series) for series in lines]).judge(ends)


# --- Fig. 14: the highest rate of slowstart

_FAIR_BPS: Final = 1e6
_SLOWSTART_COUNTS: Final = (1, 4, 16)
_TCP_SETTLED_S: Final = 30.0
"""The TCPs are past their own slow start, which would end ours at once (ours)."""
_COMPETITORS: Final[Mapping[str, int]] = {"alone": 0, "1 TCP": 1, "3 TCPs": 3}


def _slowstart_case(series: str, receivers: int) -> Case:
    """Each receiver behind a bottleneck of its own, whose fair share is 1 Mbit/s."""
    flows = _COMPETITORS[series]
    rate = _FAIR_BPS * (flows + 1)
    nodes: dict[str, Any] = {"core": {"kind": "router"}, "s": host(rate, shares=flows > 1)}
    links = [fast("s", "core")]
    traffic: list[dict[str, Any]] = []
    names = [f"r{number}" for number in range(receivers)]
    for number, name in enumerate(names):
        edge = f"e{number}"
        nodes |= {edge: {"kind": "router"}, name: host()}
        links += [narrow("core", edge, rate, ONE_WAY_MS - 2 * ACCESS_MS), fast(edge, name)]
        for index, start in enumerate(spread_starts(flows)):
            ends = f"a{number}_{index}", f"b{number}_{index}"
            add_tcp(nodes, links, traffic, ends, ("core", edge), start, host(rate, shares=flows > 1))
    session = {**tfmcc(names), "start": f"{_TCP_SETTLED_S:g} s"}
    scenario = document("tfmcc-fig14", _TCP_SETTLED_S + 60, nodes, links, session, traffic)
    return Case(f"{series}, {receivers} receivers", scenario, x=receivers, series=series)


def _slowstart_cases(quick: bool) -> Sequence[Case]:
    return [_slowstart_case(series, receivers) for series in _COMPETITORS for receivers in _SLOWSTART_COUNTS]


def _slowstart_measure(run: Finished) -> Mapping[str, float]:
    """The highest allowed rate while slowstart lasted, over the fair rate."""
    rows = [row for row in trace(run, 0, "sender") if "slowstart_peak_bps" in row]
    peak = rows[-1]["slowstart_peak_bps"] if rows else 0
    if not peak:
        raise ValueError("slowstart has not ended")
    return {"peak": peak / _FAIR_BPS}


def _slowstart_relation() -> Relation:
    return Every(
        [
            Only(EachBetween(1.5, 2.2), series="alone"),
            Only(EachBetween(0.0, 1.0), series="1 TCP"),
            Only(Ordered(), labels=[f"3 TCPs, {receivers} receivers" for receivers in _SLOWSTART_COUNTS]),
        ]
    )


EXPERIMENTS: Final[Mapping[int, Experiment]] = {
    12: Experiment(
        _first_rtt_cases,
        _first_rtt_measure,
        Every([Only(EachBetween(490.0, 910.0), "measured"), Only(EachBetween(1.0), "a round")]),
        Timeline("receivers"),
        _first_rtt_curves,
    ),
    13: Experiment(
        _change_cases,
        _change_measure,
        Only(_FirstAboveLast(), "delay"),
        Figure("time of the change, s", {"delay": "seconds"}),
    ),
    14: Experiment(
        _slowstart_cases,
        _slowstart_measure,
        _slowstart_relation(),
        Figure("receivers", {"peak": "highest rate of slowstart / fair rate"}, log_x=True),
    ),
}
"""Figure -> its experiment."""

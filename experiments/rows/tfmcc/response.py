"""How fast TFMCC follows: receivers that join and leave, more TCPs (4.2: Fig. 11; 4.5: Figs. 15, 16; D.2: 20, 21)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.harness.measures import trace
from experiments.harness.relations import EachBetween, Every, Only
from experiments.harness.row import Case, Curve, Experiment, Relation, Timeline
from experiments.harness.runs import Finished
from experiments.rows.networks import document, tcp
from experiments.rows.rates import line, rate, receiver_address, tcp_counter, tcp_rate
from experiments.rows.tfmcc.base import (
    ACCESS_MS,
    ONE_WAY_MS,
    dumbbell,
    fast,
    host,
    narrow,
    session_counter,
    session_rate,
    spread_starts,
    tfmcc,
)

_LINES = Timeline("kbit/s")
_DECADES = Timeline("kbit/s", log_y=True)

# --- Figs. 11 and 20: a star whose receivers join from the best to the worst, and leave in reverse

_STEP_S: Final = 50.0
_FIRST_JOIN_S: Final = 100.0
_FIRST_LEAVE_S: Final = 250.0
_END_S: Final = 400.0
_SETTLED_S: Final = 15.0
"""After a join or leave, until the rate is read: the loss history has to fill."""
_STAR_RTT_MS: Final = 60.0
_LOSSES: Final = (0.001, 0.005, 0.025, 0.125)
_RTTS_MS: Final = (30.0, 60.0, 120.0, 240.0)
_STAR_LOSS: Final = 0.005
"""Of the links of Fig. 20 (ours)."""


def _star(name: str, branches: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """`branches`: round trip time in ms, and loss on the way there, of each."""
    nodes: dict[str, Any] = {"core": {"kind": "router"}, "s": host()}
    links = [fast("s", "core", 0.0)]
    receivers: list[dict[str, Any]] = []
    traffic = []
    last = len(branches) - 1
    for number, (rtt_ms, loss) in enumerate(branches):
        edge, receiver, source, sink = f"e{number}", f"r{number}", f"a{number}", f"b{number}"
        nodes |= {edge: {"kind": "router"}, receiver: host(), source: host(), sink: host()}
        links += [
            fast("core", edge, rtt_ms / 2, toward={edge: {"loss": loss}}),
            fast(edge, receiver, 0.0),
            fast(source, "core", 0.0),
            fast(edge, sink, 0.0),
        ]
        receivers.append({"host": receiver})
        if number:
            receivers[-1] |= {
                "join": f"{_FIRST_JOIN_S + _STEP_S * (number - 1):g} s",
                "leave": f"{_FIRST_LEAVE_S + _STEP_S * (last - number):g} s",
            }
        traffic.append(tcp(source, sink))
    return document(name, _END_S, nodes, links, tfmcc(receivers), traffic)


def _worst_periods(number: int, count: int) -> list[tuple[float, float]]:
    """When receiver `number` is the worst one there, settled."""
    join = _FIRST_JOIN_S + _STEP_S * (number - 1)
    leave = _FIRST_LEAVE_S + _STEP_S * (count - 1 - number)
    if number == 0:
        return [(_STEP_S, _FIRST_JOIN_S), (_END_S - _STEP_S + _SETTLED_S, _END_S)]
    if number == count - 1:
        return [(join + _SETTLED_S, leave)]
    return [(join + _SETTLED_S, join + _STEP_S), (leave - _STEP_S + _SETTLED_S, leave)]


def _star_measure(run: Finished) -> Mapping[str, float]:
    """TFMCC's rate over that of each branch's TCP while that branch is the worst; and the time until it is the CLR."""
    count = len(run.run.document["traffic"])
    sent = session_counter(run, "r0")
    values: dict[str, float] = {}
    for number in range(count):
        periods = _worst_periods(number, count)
        ours = sum(rate(sent, *period) * (period[1] - period[0]) for period in periods)
        ours /= sum(until - since for since, until in periods)
        values[f"ratio {number + 1}"] = ours / tcp_rate(run, number, 10.0)
        if number:
            values[f"CLR after {number + 1}"] = _clr_delay(run, number)
    return values


def _clr_delay(run: Finished, number: int) -> float:
    join = _FIRST_JOIN_S + _STEP_S * (number - 1)
    address = receiver_address(run, f"r{number}")
    for row in trace(run, 0, "sender"):
        if row["t"] >= join and row.get("clr") == address:
            return float(row["t"]) - join
    raise ValueError(f"r{number} never became the CLR")


def _star_curves(run: Finished) -> Sequence[Curve]:
    flows = range(len(run.run.document["traffic"]))
    return [
        Curve("TFMCC", line(session_counter(run), 2.0)),
        *(Curve(f"TCP {number + 1}", line(tcp_counter(run, number), 2.0)) for number in flows),
    ]


def _loss_cases(quick: bool) -> Sequence[Case]:
    return [Case("star", _star("tfmcc-fig11", [(_STAR_RTT_MS, loss) for loss in _LOSSES]))]


def _delay_cases(quick: bool) -> Sequence[Case]:
    return [Case("star", _star("tfmcc-fig20", [(rtt, _STAR_LOSS) for rtt in _RTTS_MS]))]


def _loss_relation() -> Relation:
    ratios = [Only(EachBetween(0.8, 1.2), f"ratio {number}") for number in (1, 2, 3)]
    delays = [Only(EachBetween(0.0, 3.0), f"CLR after {number}") for number in (2, 3, 4)]
    return Every([*ratios, Only(EachBetween(0.65, 1.35), "ratio 4"), *delays])


def _delay_relation() -> Relation:
    return Every([Only(EachBetween(0.85, 1.15), f"ratio {number}") for number in (1, 2, 3, 4)])


# --- Figs. 15 and 16: a receiver behind a slow link joins late

_SHARED_BPS: Final = 8e6
_SLOW_BPS: Final = 200e3
_SLOW_QUEUE: Final = {"kind": "droptail", "packets": 25}
"""Of the slow link: 1 s at its rate (ours)."""
_JOIN_S: Final = 50.0
_LEAVE_S: Final = 100.0
_BACK_S: Final = 40.0
"""After the leave, until the rate has come back."""


def _late(name: str, seconds: float, *, with_tcp: bool) -> dict[str, Any]:
    flows = spread_starts(7)
    base = dumbbell(name, seconds, _SHARED_BPS, flows, receivers=8)
    base["nodes"] |= {"slow": {"kind": "router"}, "late": host()}
    base["links"] += [
        narrow("left", "slow", _SLOW_BPS, ONE_WAY_MS - 2 * ACCESS_MS, queue=_SLOW_QUEUE),
        fast("slow", "late"),
    ]
    base["sessions"][0]["receivers"].append({"host": "late", "join": f"{_JOIN_S:g} s", "leave": f"{_LEAVE_S:g} s"})
    if with_tcp:
        base["nodes"] |= {"a_slow": host(_SLOW_BPS), "b_slow": host()}
        base["links"] += [fast("a_slow", "left"), fast("slow", "b_slow")]
        base["traffic"].append(tcp("a_slow", "b_slow"))
    return base


def _late_cases(quick: bool) -> Sequence[Case]:
    return [Case("late join", _late("tfmcc-fig15", 200 if quick else 300, with_tcp=False))]


def _late_tcp_cases(quick: bool) -> Sequence[Case]:
    return [Case("late join", _late("tfmcc-fig16", 200 if quick else 300, with_tcp=True))]


def _late_measure(run: Finished) -> Mapping[str, float]:
    address = receiver_address(run, "late")
    found = [row["t"] for row in trace(run, 0, "sender") if row["t"] >= _JOIN_S and row.get("clr") == address]
    if not found:
        raise ValueError("the late receiver never became the CLR")
    sent = session_counter(run)
    values = {
        "CLR after": found[0] - _JOIN_S,
        "rate": session_rate(run, _JOIN_S + 10, _LEAVE_S, "late"),
        "least rate": min(value for at, value in line(sent, 2.0) if _JOIN_S <= at <= _LEAVE_S),
        "rate before": rate(sent, 35.0, _JOIN_S),
        "rate after": rate(sent, _LEAVE_S + _BACK_S),
    }
    if len(run.run.document["traffic"]) > 7:
        values["TCP rate"] = tcp_rate(run, 7, _JOIN_S + 10, _LEAVE_S)
    return values


def _late_curves(run: Finished) -> Sequence[Curve]:
    flows = len(run.run.document["traffic"])
    curves = [Curve("TFMCC", line(session_counter(run), 1.0)), Curve("TCP 1", line(tcp_counter(run, 0), 1.0))]
    return curves if flows == 7 else [*curves, Curve("TCP on the slow link", line(tcp_counter(run, 7), 1.0))]


def _late_relation(rates: Mapping[str, tuple[float, float]]) -> Relation:
    return Every(
        [
            Only(EachBetween(0.0, 5.0), "CLR after"),
            *(Only(EachBetween(*bounds), quantity) for quantity, bounds in rates.items()),
            Only(EachBetween(1.0), "least rate"),
            Only(EachBetween(850.0, 1150.0), "rate after"),
        ]
    )


# --- Fig. 21: more and more TCPs

_STEPS: Final = (1, 2, 4, 8)
_GROWING_BPS: Final = 16e6
_GROWING_RTT_MS: Final = 60.0
_GROWING_SETTLED_S: Final = 20.0


def _growing_cases(quick: bool) -> Sequence[Case]:
    starts = [_STEP_S * (step + 1) + offset for step, count in enumerate(_STEPS) for offset in spread_starts(count)]
    delay_ms = _GROWING_RTT_MS / 2 - 2 * ACCESS_MS
    return [Case("more TCPs", dumbbell("tfmcc-fig21", 5 * _STEP_S, _GROWING_BPS, starts, delay_ms=delay_ms))]


def _growing_measure(run: Finished) -> Mapping[str, float]:
    rates = [
        session_rate(run, _STEP_S * step + _GROWING_SETTLED_S, _STEP_S * (step + 1), "r0")
        for step in range(len(_STEPS) + 1)
    ]
    return {f"step {step}": rates[step] / rates[step - 1] for step in range(1, len(rates))}


def _growing_curves(run: Finished) -> Sequence[Curve]:
    curves = [Curve("TFMCC", line(session_counter(run, "r0")))]
    first = 0
    for count in _STEPS:
        lines = [line(tcp_counter(run, number)) for number in range(first, first + count)]
        together = [(points[0][0], sum(value for _, value in points)) for points in zip(*lines, strict=False)]
        curves.append(Curve(f"{count} TCP", together))
        first += count
    return curves


EXPERIMENTS: Final[Mapping[int, Experiment]] = {
    11: Experiment(_loss_cases, _star_measure, _loss_relation(), _DECADES, _star_curves),
    15: Experiment(_late_cases, _late_measure, _late_relation({"rate": (160.0, 240.0)}), _LINES, _late_curves),
    16: Experiment(
        _late_tcp_cases,
        _late_measure,
        _late_relation({"rate": (60.0, 140.0), "TCP rate": (60.0, 140.0)}),
        _LINES,
        _late_curves,
    ),
    20: Experiment(_delay_cases, _star_measure, _delay_relation(), _DECADES, _star_curves),
    21: Experiment(
        _growing_cases,
        _growing_measure,
        Every([Only(EachBetween(0.4, 0.65), f"step {step}") for step in (1, 2, 3, 4)]),
        _LINES,
        _growing_curves,
    ),
}
"""Figure -> its experiment."""

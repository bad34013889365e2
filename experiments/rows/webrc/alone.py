"""One WEBRC receiver (5.1: Figs. 4 to 8)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.harness.measures import seconds_of, trace
from experiments.harness.relations import EachBetween, Every, NearReference, Only
from experiments.harness.row import Case, Curve, Experiment, Figure, Timeline
from experiments.harness.runs import Finished
from experiments.rows.rates import line, rate
from experiments.rows.webrc.base import (
    PACKET_BITS,
    PACKET_BYTES,
    QUICK_SECONDS,
    SECONDS,
    SESSION_RATE_BPS,
    loss_event_rate,
    lossy,
    mean,
    narrow,
    network,
    predicted,
    receiver_counter,
    receiver_values,
    session,
)

_RATE_LINES: Final = Timeline("kbit/s")
_BASE_KBPS: Final = PACKET_BITS / 1e3
"""BCR."""


def _alone(name: str, shared: Mapping[str, Any], seconds: float = SECONDS, **more: Any) -> dict[str, Any]:
    document = network(name, shared, {"r1": "0 ms"}, seconds=seconds, **more)
    # The sender begins at a random point of its cycle, so that the receiver comes at a random time of a time slot.
    return document | {"sessions": [session(1, "s1", ["r1"])]}


def _throughput(run: Finished) -> Mapping[str, float]:
    return {"throughput": rate(receiver_counter(run, "r1"), seconds_of(run) / 2)}


def _rate_curve(run: Finished) -> Sequence[Curve]:
    return [Curve("throughput", line(receiver_counter(run, "r1")))]


# --- Figs. 4 and 5: random loss

_FIG4: Final = (0.01, 0.2)


def _convergence_cases(quick: bool) -> Sequence[Case]:
    p, rtt = _FIG4
    references = {"throughput": predicted(p, rtt), "ARTT": rtt, "LOSSP": loss_event_rate(p)}
    return [
        Case(
            "1 %, 0.2 s",
            _alone("webrc-fig4", lossy(rtt, p), QUICK_SECONDS if quick else SECONDS),
            references=references,
        )
    ]


def _convergence_measure(run: Finished) -> Mapping[str, float]:
    since = seconds_of(run) / 2
    lossp = receiver_values(run, "r1", "loss_event_rate", since)
    return {
        **_throughput(run),
        "ARTT": mean(receiver_values(run, "r1", "artt_s", since)),
        # Its inverse is what is averaged (Appendix).
        "LOSSP": 1 / mean([1 / value for value in lossp]),
    }


def _convergence_curves(run: Finished) -> Sequence[Curve]:
    rows = trace(run, 0, "r1")
    artt = [(row["t"], 1e3 * row["artt_s"]) for row in rows if row.get("artt_s") is not None]
    # From the first loss on, as in the paper: before it LOSSP means nothing.
    lossp = [(row["t"], 1e4 * row["loss_event_rate"]) for row in rows if row.get("slow_start_packets_s") is not None]
    return [*_rate_curve(run), Curve("ARTT, ms", artt), Curve("LOSSP, 1e-4", lossp)]


FIG4: Final = Experiment(
    _convergence_cases,
    _convergence_measure,
    Every(
        (
            Only(NearReference(0.10), "throughput"),
            Only(NearReference(0.15), "ARTT"),
            Only(NearReference(0.15), "LOSSP"),
        )
    ),
    Timeline("kbit/s, ms, 1e-4"),
    curves=_convergence_curves,
)

_RTTS: Final = (0.0125, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8)
_LOSSES: Final = (0.0001, 0.001, 0.01, 0.1)
_LEAST_BASE_RATES: Final = 3.0
"""5.1.1: below about so many times the base channel rate the equation is not matched."""
_MOST_SHARE: Final = 0.5
"""Of the session rate (ours): points above it would measure the session's end, not the receiver."""


def _grid_cases(quick: bool) -> Sequence[Case]:
    cases = []
    for rtt in (0.05, 0.2) if quick else _RTTS:
        for p in (0.001, 0.01) if quick else _LOSSES:
            expected = predicted(p, rtt)
            if _LEAST_BASE_RATES * _BASE_KBPS <= expected <= _MOST_SHARE * SESSION_RATE_BPS / 1e3:
                document = _alone("webrc-fig5", lossy(rtt, p), QUICK_SECONDS if quick else SECONDS)
                label = f"{100 * p:g} %, {rtt:g} s"
                cases.append(Case(label, document, x=p, references={"throughput": expected}, series=f"{rtt:g} s"))
    return cases


FIG5: Final = Experiment(
    _grid_cases,
    _throughput,
    NearReference(0.10),
    Figure("packet loss probability", {"throughput": "kbit/s"}, "Eqs. (1), (7), (8)", log_x=True, log_y=True),
)


# --- Figs. 6 and 7: a bottleneck


def _bottleneck(name: str, rate_bps: float, packets: int) -> Experiment:
    def cases(quick: bool) -> Sequence[Case]:
        return [Case("", _alone(name, narrow(0.1, rate_bps, packets), QUICK_SECONDS if quick else SECONDS))]

    def measure(run: Finished) -> Mapping[str, float]:
        lost = receiver_values(run, "r1", "lost_packets", 0.0)[-1]
        return {"utilisation": rate(receiver_counter(run, "r1"), seconds_of(run) / 2) * 1e3 / rate_bps, "losses": lost}

    relation: Any = Only(EachBetween(0.92), "utilisation")
    if packets > 100:
        relation = Every((Only(EachBetween(0.98), "utilisation"), Only(EachBetween(most=0.0), "losses")))
    return Experiment(cases, measure, relation, _RATE_LINES, curves=_rate_curve)


FIG6: Final = _bottleneck("webrc-fig6", 320e3, 4)
FIG7: Final = _bottleneck("webrc-fig7", 3.2e6, 160)


# --- Fig. 8: competing UDP

_LINK_KBPS: Final = 1000.0
_PHASES: Final = ((0.0, 150.0, 0.0), (150.0, 300.0, 500.0), (300.0, 450.0, 250.0))
"""From, to, kbit/s of the competitor."""
_SETTLING_S: Final = 20.0
"""Two time slots."""
_UDP_PAYLOAD: Final = PACKET_BYTES - 42


def _udp(since: float, until: float, kbps: float) -> dict[str, Any]:
    payload = kbps * 1e3 * _UDP_PAYLOAD / PACKET_BYTES
    return {
        "kind": "udp",
        "source": "u",
        "destination": "v",
        "rate": f"{payload:.0f} bps",
        "packet": f"{_UDP_PAYLOAD} B",
        "start": f"{since:g} s",
        "stop": f"{until:g} s",
    }


def _competing_cases(quick: bool) -> Sequence[Case]:
    document = _alone("webrc-fig8", narrow(0.05, _LINK_KBPS * 1e3, 6), 450)
    document["nodes"] |= {"u": {"kind": "host"}, "v": {"kind": "host"}}
    document["links"] += [{"between": ["u", "core"]}, {"between": ["edge", "v"]}]
    document["traffic"] = [_udp(*phase) for phase in _PHASES if phase[2]]
    return [Case("", document)]


def _competing_measure(run: Finished) -> Mapping[str, float]:
    counter = receiver_counter(run, "r1")
    return {
        f"share of what is free, {since:g}-{until:g} s": rate(
            counter, max(since, 75.0) + _SETTLING_S * (since > 0), until
        )
        / (_LINK_KBPS - kbps)
        for since, until, kbps in _PHASES
    }


FIG8: Final = Experiment(_competing_cases, _competing_measure, EachBetween(0.80), _RATE_LINES, curves=_rate_curve)

"""VLMCC beside TCP: one bottleneck (Fig. 4), where equality holds (a sweep, ours), and a busy network (Fig. 8)."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from experiments.harness.measures import seconds_of, trace
from experiments.harness.relations import EachBetween, Every, Only, OverCases, QuantitiesRatioBetween
from experiments.harness.row import Case, Curve, Experiment, Figure, Timeline
from experiments.harness.runs import Finished
from experiments.rows.networks import DELAY_MS, QUEUE_PACKETS, access, bottleneck, document, tcp
from experiments.rows.rates import line, rate, tcp_counter, tcp_rate, variation
from experiments.rows.vlmcc.base import ALPHA, BETA, DUMBBELL_MS, losses, received, vlmcc

# --- Fig. 4: one bottleneck

_LOSSLESS_FROM_S: Final = 10.0
_SETTLED_S: Final = 20.0
_SESSION_START_S: Final = 3.0
_TCP_STARTS_S: Final = (0.0, 1.5, 3.0, 4.5, 6.0)
"""Before, with and after the session: "repeated several times changing the relative start time of both flows, and the
averaged throughput has been represented" (3; the times are ours)."""


def dumbbell(
    name: str,
    seconds: float,
    tcp_start: float,
    queue: int = QUEUE_PACKETS,
    delay_ms: float = DUMBBELL_MS,
    **parameters: Any,
) -> dict[str, Any]:
    """Fig. 3: `s` and a TCP source on one side, two receivers and the TCP's sink on the other."""
    nodes: dict[str, Any] = {"left": {"kind": "router"}, "right": {"kind": "router"}}
    nodes |= {host: {"kind": "host"} for host in ("s", "a0", "r0", "r1", "b0")}
    links = [
        bottleneck("left", "right", queue_packets=queue, delay_ms=delay_ms),
        access("s", "left"),
        access("a0", "left"),
        *(access("right", host) for host in ("r0", "r1", "b0")),
    ]
    session = vlmcc(["r0", "r1"], _SESSION_START_S, **parameters)
    return document(name, seconds, nodes, links, session, [tcp("a0", "b0", tcp_start)])


def _shared_cases(quick: bool) -> Sequence[Case]:
    seconds = 60 if quick else 120
    return [Case(f"TCP from {at:g} s", dumbbell("vlmcc-fig4", seconds, at), x=at) for at in _TCP_STARTS_S]


def _shared_measure(run: Finished) -> Mapping[str, float]:
    flow = [row for row in run.series("flow-0") if "retransmitted" in row]
    late = [row["retransmitted"] for row in flow if row["t"] >= _LOSSLESS_FROM_S]
    if not late:
        raise ValueError("the TCP has no trace")
    return {
        "VLMCC": rate(received(run, "r0"), _SETTLED_S),
        "TCP": tcp_rate(run, 0, _SETTLED_S),
        "lossless": float(losses(run, "r0", _LOSSLESS_FROM_S) == 0),
        "TCP losses": late[-1] - late[0],
    }


def _shared_curves(run: Finished) -> Sequence[Curve]:
    return [Curve("VLMCC", line(received(run, "r0"))), Curve("TCP Reno", line(tcp_counter(run, 0)))]


# --- the sweep

_SWEEP_QUEUES: Final = (10, QUEUE_PACKETS, 25, 50)
_SWEEP_BETAS: Final = (4.0, BETA, 15.0)
_SWEEP_DELAYS_MS: Final = (DELAY_MS, DUMBBELL_MS)


def _sweep_cases(quick: bool) -> Sequence[Case]:
    """Session and TCP begin together."""
    return [
        Case(
            _sweep_label(beta, delay, queue),
            dumbbell("vlmcc-sweep", 60, _SESSION_START_S, queue, delay, alpha=beta * ALPHA / BETA, beta=beta),
            x=queue,
            series=f"beta = {beta:g}, {delay:g} ms",
        )
        for delay in _SWEEP_DELAYS_MS
        for beta in _SWEEP_BETAS
        for queue in _SWEEP_QUEUES
    ]


def _sweep_label(beta: float, delay_ms: float, queue: int) -> str:
    return f"beta {beta:g}, {delay_ms:g} ms, queue {queue}"


def _sweep_measure(run: Finished) -> Mapping[str, float]:
    return {"ratio": rate(received(run, "r0"), _SETTLED_S) / tcp_rate(run, 0, _SETTLED_S)}


# --- Fig. 8: a chain of routers, with UDP and web traffic

_HOP_BPS: Final = 10e6
_EDGE_BPS: Final = 100e6
_EDGE_MS: Final = 24.0


def _busy_cases(quick: bool) -> Sequence[Case]:
    """Fig. 7 is lost but for its numbers; hosts and cross traffic are ours. Receivers behind 1 to 3 hops."""
    routers = ("n1", "n2", "n3", "n4")
    nodes: dict[str, Any] = {router: {"kind": "router"} for router in routers}
    links = [bottleneck(one, other, _HOP_BPS) for one, other in pairwise(routers)]
    hosts = {"s": "n1", "r0": "n4", "r1": "n3", "r2": "n2", "a0": "n1", "b0": "n4"}
    hosts |= {"u0": "n1", "v0": "n3", "u1": "n2", "v1": "n4", "w0": "n1", "x0": "n2", "w1": "n3", "x1": "n4"}
    nodes |= {host: {"kind": "host"} for host in hosts}
    links += [access(host, router, _EDGE_BPS, _EDGE_MS) for host, router in hosts.items()]
    on_off = {"kind": "on-off", "rate": "1 Mbps", "on": "500 ms", "off": "500 ms", "distribution": "exponential"}
    web = {"kind": "web", "congestion_control": "sack", "gap": "200 ms", "size": "12 kB", "shape": 1.2}
    traffic = [
        tcp("a0", "b0", 1.0),
        {**on_off, "source": "u0", "destination": "v0"},
        {**on_off, "source": "u1", "destination": "v1"},
        {**web, "source": "w0", "destination": "x0"},
        {**web, "source": "w1", "destination": "x1"},
    ]
    seconds = 100 if quick else 200
    return [Case("busy", document("vlmcc-fig8", seconds, nodes, links, vlmcc(["r0", "r1", "r2"]), traffic))]


def _windows(run: Finished) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """(Time, window in packets) of the session and of the TCP."""
    ours = [(row["t"], row["cwnd"]) for row in trace(run, 0, "sender") if "cwnd" in row]
    tcps = [(row["t"], row["cwnd"]) for row in run.series("flow-0") if "cwnd" in row]
    return ours, tcps


def _spread(points: Sequence[tuple[float, float]], since: float) -> float:
    """Coefficient of variation."""
    values = [value for at, value in points if at >= since]
    if len(values) < 2:
        raise ValueError(f"no windows from {since:g} s on")
    mean = sum(values) / len(values)
    return float((sum((value - mean) ** 2 for value in values) / (len(values) - 1)) ** 0.5 / mean)


def _busy_measure(run: Finished) -> Mapping[str, float]:
    ours, tcps = _windows(run)
    until = seconds_of(run)
    return {
        "ratio": rate(received(run, "r0"), _SETTLED_S) / tcp_rate(run, 0, _SETTLED_S),
        "window variation ratio": _spread(ours, _SETTLED_S) / _spread(tcps, _SETTLED_S),
        "rate variation ratio": variation(received(run, "r0"), _SETTLED_S, until)
        / variation(tcp_counter(run, 0), _SETTLED_S, until),
    }


def _busy_curves(run: Finished) -> Sequence[Curve]:
    ours, tcps = _windows(run)
    return [Curve("VLMCC", ours), Curve("TCP Reno", tcps)]


EXPERIMENTS: Final[Mapping[str, Experiment]] = {
    "fig4": Experiment(
        _shared_cases,
        _shared_measure,
        Every(
            [
                OverCases(QuantitiesRatioBetween("VLMCC", "TCP", 0.8, 1.25)),
                OverCases(Only(EachBetween(0.8), "lossless")),
                Only(EachBetween(1.0), "TCP losses"),
            ]
        ),
        Timeline("kbit/s"),
        _shared_curves,
    ),
    "sweep": Experiment(
        _sweep_cases,
        _sweep_measure,
        Only(
            EachBetween(0.8, 1.25),
            labels=[_sweep_label(BETA, delay, QUEUE_PACKETS) for delay in (DELAY_MS, DUMBBELL_MS)],
        ),
        Figure("queue, packets", {"ratio": "VLMCC / TCP"}),
    ),
    "fig8": Experiment(
        _busy_cases,
        _busy_measure,
        Every([Only(EachBetween(0.7, 1.4), "ratio"), Only(EachBetween(0.0, 1.0), "window variation ratio")]),
        Timeline("packets"),
        _busy_curves,
    ),
}
"""Row -> its experiment."""

"""VLMCC when the network changes: the leader follows the congestion (Fig. 6), and dies (2.4)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.harness.measures import Counter
from experiments.harness.relations import EachBetween, Every, Only
from experiments.harness.row import Case, Curve, Experiment, Timeline
from experiments.harness.runs import Finished
from experiments.rows.networks import access, bottleneck, document, tcp
from experiments.rows.rates import line, rate, receiver_address, tcp_counter, tcp_rate
from experiments.rows.vlmcc.base import leaders, received, vlmcc

# --- Fig. 6: two branches

_SECONDS: Final = 60.0
_BELOW_2: Final = ("r0", "r1")
_BELOW_3: Final = ("r2", "r3")
_FLOWS: Final = (("b0", 10.0, 25.0), ("b1", 27.0, 45.0), ("b0", 41.0, 60.0))
"""TCP 1, TCP 2, and TCP 1 once more: sink, from, to."""
_LATE: Final = "1.5 s"
"""When others join than the first leader (ours)."""
_SETTLING_S: Final = 3.0
_PATIENCE_S: Final = 10.0


def _branch_cases(quick: bool) -> Sequence[Case]:
    """Fig. 5. Those below Router 2 come first, so that one of them is the first leader."""
    nodes: dict[str, Any] = {router: {"kind": "router"} for router in ("n1", "n2", "n3")}
    hosts = {"s": "n1", "a0": "n1", "b0": "n2", "b1": "n3"}
    hosts |= dict.fromkeys(_BELOW_2, "n2") | dict.fromkeys(_BELOW_3, "n3")
    nodes |= {host: {"kind": "host"} for host in hosts}
    links = [bottleneck("n1", "n2"), bottleneck("n1", "n3")]
    links += [access(host, router) for host, router in hosts.items()]
    receivers: list[str | Mapping[str, Any]] = [*_BELOW_2, *({"host": host, "join": _LATE} for host in _BELOW_3)]
    traffic = [tcp("a0", sink, start, stop) for sink, start, stop in _FLOWS]
    return [Case("branches", document("vlmcc-fig6", _SECONDS, nodes, links, vlmcc(receivers), traffic))]


def _below(run: Finished, hosts: Sequence[str]) -> list[tuple[float, bool]]:
    """By time, whether the leader is one of these."""
    addresses = {receiver_address(run, host) for host in hosts}
    return [(at, leader in addresses) for at, leader in leaders(run)]


def _until(run: Finished, hosts: Sequence[str], since: float) -> float:
    """Seconds from `since` until one of these leads, and still does a second later; at most `_PATIENCE_S`."""
    rows = _below(run, hosts)
    for at, leads in rows:
        if at >= since and leads and all(still for later, still in rows if at <= later <= at + 1):
            return min(at - since, _PATIENCE_S)
    return _PATIENCE_S


def _share(run: Finished, hosts: Sequence[str], since: float, until: float) -> float:
    """Of the time between, in which one of these leads."""
    rows = [leads for at, leads in _below(run, hosts) if since <= at <= until]
    if not rows:
        raise ValueError(f"no leader between {since:g} and {until:g} s")
    return sum(rows) / len(rows)


def _jain(one: float, other: float) -> float:
    """Jain's fairness index of two rates."""
    return (one + other) ** 2 / (2 * (one**2 + other**2))


def _branch_measure(run: Finished) -> Mapping[str, float]:
    def fairness(flow: int, receiver: str, since: float, until: float) -> float:
        return _jain(rate(received(run, receiver), since, until), tcp_rate(run, flow, since, until))

    return {
        "stays at 10 s": _share(run, _BELOW_2, 9.0, 27.0),
        "to Router 3 after 27 s": _until(run, _BELOW_3, 27.0),
        "stays at 41 s": _share(run, _BELOW_3, 30.0, 45.0),
        "to Router 2 after 45 s": _until(run, _BELOW_2, 45.0),
        "fairness with TCP 1": fairness(0, "r0", 13.0, 25.0),
        "fairness with TCP 2": fairness(1, "r2", 30.0, 45.0),
        "fairness with TCP 1 again": fairness(2, "r0", 48.0, 60.0),
    }


def _accumulated(counter: Counter) -> list[tuple[float, float]]:
    return [(at, octets / 1e3) for at, octets in counter]


def _branch_curves(run: Finished) -> Sequence[Curve]:
    """As the paper draws it: accumulated data, and when the leader changes."""
    changes: list[tuple[float, float]] = []
    before: str | None = None
    for at, leader in leaders(run):
        if leader is not None and leader != before:
            changes.append((at, 0.0))
            before = leader
    return [
        Curve("VLMCC", _accumulated(received(run, "r0"))),
        Curve("TCP 1", _accumulated(tcp_counter(run, 0))),
        Curve("TCP 2", _accumulated(tcp_counter(run, 1))),
        Curve("TCP 1 again", _accumulated(tcp_counter(run, 2))),
        Curve("a new leader", changes, marker="|"),
    ]


# --- the leader dies

_DEATH_S: Final = 30.0
_LOSS_SECONDS: Final = 60.0
_SLOWER_BPS: Final = 1e6
_FASTER_BPS: Final = 1.5e6
"""Twice half as much for the others, so that who leads is known (ours)."""


def _death_cases(quick: bool) -> Sequence[Case]:
    """`r0` has the slowest way and is there first, so that it leads; two others, with equal ways, are left."""
    nodes: dict[str, Any] = {router: {"kind": "router"} for router in ("n1", "n2", "n3")}
    hosts = {"s": "n1", "r0": "n2", "r1": "n3", "r2": "n3"}
    nodes |= {host: {"kind": "host"} for host in hosts}
    links = [bottleneck("n1", "n2", _SLOWER_BPS), bottleneck("n1", "n3", _FASTER_BPS)]
    links += [access(host, router) for host, router in hosts.items()]
    receivers: list[str | Mapping[str, Any]] = ["r0", *({"host": host, "join": _LATE} for host in ("r1", "r2"))]
    faults = [{"kind": "receiver-dies", "at": f"{_DEATH_S:g} s", "session": 1, "host": "r0"}]
    scenario = document("vlmcc-loss", _LOSS_SECONDS, nodes, links, vlmcc(receivers), faults=faults)
    return [Case("the leader dies", scenario)]


def _death_measure(run: Finished) -> Mapping[str, float]:
    dead = receiver_address(run, "r0")
    rows = leaders(run)
    if not any(leader == dead for at, leader in rows if _DEATH_S - 1 < at <= _DEATH_S):
        raise ValueError("r0 did not lead when it died")
    successors = [at for at, leader in rows if at > _DEATH_S and leader not in (None, dead)]
    found = successors[0] if successors else _LOSS_SECONDS
    before = rate(received(run, "r1"), _DEATH_S - 10, _DEATH_S)
    return {
        "a new leader after": found - _DEATH_S,
        "rate meanwhile": rate(received(run, "r1"), _DEATH_S, found) / before,
        "rate afterwards": rate(received(run, "r1"), found + _SETTLING_S, _LOSS_SECONDS) * 1e3 / _FASTER_BPS,
    }


def _death_curves(run: Finished) -> Sequence[Curve]:
    return [Curve("at r1", line(received(run, "r1")))]


EXPERIMENTS: Final[Mapping[str, Experiment]] = {
    "fig6": Experiment(
        _branch_cases,
        _branch_measure,
        Every(
            [
                Only(EachBetween(0.99), "stays at 10 s"),
                Only(EachBetween(0.0, _SETTLING_S), "to Router 3 after 27 s"),
                Only(EachBetween(0.99), "stays at 41 s"),
                Only(EachBetween(0.0, _SETTLING_S), "to Router 2 after 45 s"),
                # "fair": a fairness index within 3 percentage points of 1
                *(Only(EachBetween(0.97), f"fairness with {flow}") for flow in ("TCP 1", "TCP 2", "TCP 1 again")),
            ]
        ),
        Timeline("kbytes received"),
        _branch_curves,
    ),
    "loss": Experiment(
        _death_cases,
        _death_measure,
        Every(
            [
                Only(EachBetween(0.0, _LOSS_SECONDS - _DEATH_S - 1), "a new leader after"),
                # a rate within 15 %; it is to grow until somebody complains
                Only(EachBetween(0.85), "rate meanwhile"),
                Only(EachBetween(0.85, 1.15), "rate afterwards"),
            ]
        ),
        Timeline("kbit/s"),
        _death_curves,
    ),
}
"""Row -> its experiment."""

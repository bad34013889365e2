"""Table 1 of MTCP (4.2.2): sessions that share one link among themselves.

The text lost Fig. 15. It had four senders, nine receivers, and a link of 1 Mbps between nodes 5 and 8 that is the
bottleneck; the logical tree is the same for all sessions, with at most three children each. The rest is ours: the
senders' nodes 1 to 4 hang at node 5, from which nodes 6, 7 and 8 lead to three receivers each."""

from collections.abc import Mapping, Sequence
from typing import Any

from experiments.harness.measures import session_rate
from experiments.harness.relations import EachBetween, Every, Only
from experiments.harness.row import Assisted, Case, Experiment, Figure, Row
from experiments.harness.runs import Finished
from experiments.harness.statistics import jain_index
from experiments.rows.mtcp.base import LAN, PAPER, QUEUE, SENDING, assisted, enough, session

_SENDERS = 4
_BRANCHES = (6, 7, 8)
_RECEIVERS_A_BRANCH = 3
_BOTTLENECK = (5, 8)
_BOTTLENECK_BPS = 1e6
_OTHERS_BPS = 10e6
_DELAY = "10 ms"
_SECONDS = 250
_QUICK_SECONDS = 35
_APART_S = 0.5
"""Whoever comes later finds a queue, and takes it for a part of the path (ours)."""
_LEAST: Mapping[int, tuple[float, float]] = {4: (0.999836, 0.99), 8: (0.970422, 0.95), 12: (0.955753, 0.93)}
"""Sessions -> the paper's index, and what counts."""


def _tree(sender: str) -> dict[str, list[str]]:
    """Each branch's first receiver is the agent of the others."""
    heads = [_receiver(branch, 0) for branch in _BRANCHES]
    below = range(1, _RECEIVERS_A_BRANCH)
    return {sender: heads} | {_receiver(branch, 0): [_receiver(branch, one) for one in below] for branch in _BRANCHES}


def _receiver(branch: int, number: int) -> str:
    return f"r{branch}_{number}"


def shared_link(sessions: int, seconds: int, apart_s: float = 0.0) -> dict[str, Any]:
    """So many sessions, by turns from the four senders to all nine receivers; `apart_s`: from one's start to the
    next one's.
    """
    nodes: dict[str, Any] = {f"n{number}": {"kind": "router"} for number in (1, 2, 3, 4, 5, *_BRANCHES)}
    links: list[dict[str, Any]] = []
    for number in (*range(1, _SENDERS + 1), *_BRANCHES):
        rate = _BOTTLENECK_BPS if number == _BOTTLENECK[1] else _OTHERS_BPS
        ends = [f"n{number}", f"n{_BOTTLENECK[0]}"]
        links.append({"between": ends, "rate": f"{rate:g} bps", "delay": _DELAY, "queue": QUEUE})
    receivers = [_receiver(branch, number) for branch in _BRANCHES for number in range(_RECEIVERS_A_BRANCH)]
    for host in [f"s{number}" for number in range(1, _SENDERS + 1)] + receivers:
        nodes[host] = {"kind": "host", "sending": SENDING} if host.startswith("s") else {"kind": "host"}
        links.append({"between": [host, f"n{host[1]}"], **LAN})
    senders = [f"s{number % _SENDERS + 1}" for number in range(sessions)]
    later: list[dict[str, Any]] = [
        {"start": f"{apart_s * number:g} s"} if apart_s else {} for number in range(sessions)
    ]
    return {
        "name": f"mtcp-table1-{sessions}",
        "duration": f"{seconds} s",
        "nodes": nodes,
        "links": links,
        "sessions": [
            session(
                sender,
                receivers,
                enough(_BOTTLENECK_BPS, seconds),
                tree=_tree(sender),
                number=number + 1,
                **later[number],
            )
            for number, sender in enumerate(senders)
        ],
    }


def _cases(quick: bool, apart_s: float = 0.0) -> Sequence[Case]:
    return [
        Case(
            f"{sessions} sessions",
            shared_link(sessions, _QUICK_SECONDS if quick else _SECONDS, apart_s),
            x=sessions,
            references={"Jain index": paper},
        )
        for sessions, (paper, _) in _LEAST.items()
    ]


def _measure(run: Finished) -> Mapping[str, float]:
    sessions = range(len(run.run.document["sessions"]))
    begin = max(run.summary["sessions"][number]["sending_from"] or 0.0 for number in sessions)
    rates = [session_rate(run, number, begin) for number in sessions]
    return {"Jain index": jain_index(rates), "throughput": sum(rates) / 1e6}


_JUDGED = Every(
    [
        Only(EachBetween(least=least), quantity="Jain index", labels=[f"{sessions} sessions"])
        for sessions, (_, least) in _LEAST.items()
    ]
)
_FIGURE = Figure("sessions", {"Jain index": "fairness index", "throughput": "all sessions, Mbit/s"}, "the paper")

ROWS = (
    Row(
        "mtcp-table1",
        PAPER,
        "sim",
        "topology of Fig. 15, bottleneck 1 Mbps, logical fan-out 3; 4, 8, 12 sessions",
        "Jain 0.999836, 0.970422, 0.955753",
        "at least 0.99, 0.95, 0.93",
        "Jain index",
        Experiment(_cases, _measure, _JUDGED, _FIGURE, assisted=Assisted(assisted)),
    ),
    Row(
        "mtcp-starts",
        PAPER,
        "sim",
        f"the same, with {_APART_S:g} s from one session's start to the next one's (ours)",
        "Jain 0.999836, 0.970422, 0.955753; the paper does not say when they start",
        "at least 0.99, 0.95, 0.93",
        "Jain index",
        Experiment(lambda quick: _cases(quick, _APART_S), _measure, _JUDGED, _FIGURE),
    ),
)

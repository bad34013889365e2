"""Fig. 7 of MTCP (4.1.1): how fast the sender follows the window of an agent two levels below.

Sender (NCSU), SA1 (Emory), SA2 (GaTech), leaf (UTexas) in a chain, with the delays of the other wide-area rows; the
last hop is the bottleneck. What made SA2 start slowly was the Internet; here bursts of UDP fill the last hop (ours)."""

import bisect
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.harness.measures import trace
from experiments.harness.relations import EachBetween, Every, Only
from experiments.harness.row import Assisted, Case, Curve, Experiment, Row, Timeline
from experiments.harness.runs import Finished
from experiments.rows.mtcp.base import INTERNET_PAYLOAD_BYTES, LAN, PAPER, QUEUE, assisted, enough, session

_SITES = ("ncsu", "emory", "gatech", "utexas")
_HOSTS = ("sender", "sa1", "sa2", "leaf")
_DELAYS_MS = (8.0, 5.0, 12.0)
"""One way, between neighbouring sites."""
_RATE_BPS = 10e6
_BOTTLENECK_BPS = 2e6
_SECONDS = 120
_QUICK_SECONDS = 40
_TRACE_S = 0.005
"""Between two samples of the windows."""
_ACK_DELAY_S = 0.02
"""MTCP's parameter ack_delay_s."""
_ALLOWED_S = 0.05
_START_UP_S = 5.0
"""While all start slowly the smallest window may be any agent's; then the bursts begin."""
_SHOWN_S = 5.0
"""Fig. 7 shows five seconds."""

_UPWARD_S = sum(_DELAYS_MS[:2]) / 1e3
"""From SA2 to the sender."""
BOUND_MS = (_UPWARD_S + 2 * _ACK_DELAY_S + _ALLOWED_S) * 1e3
"""From SA2's slow start until the sender's transmission window has dropped: the summary goes up two levels."""


def chain(seconds: int) -> dict[str, Any]:
    """The network and its one session."""
    nodes: dict[str, Any] = {site: {"kind": "router"} for site in _SITES}
    nodes |= {host: {"kind": "host"} for host in (*_HOSTS, "noise", "sink")}
    links: list[dict[str, Any]] = [{"between": [site, host], **LAN} for site, host in zip(_SITES, _HOSTS, strict=True)]
    links += [{"between": ["gatech", "noise"], **LAN}, {"between": ["utexas", "sink"], **LAN}]
    rates = (_RATE_BPS, _RATE_BPS, _BOTTLENECK_BPS)
    links += [
        {"between": [_SITES[hop], _SITES[hop + 1]], "rate": f"{rate:g} bps", "delay": f"{delay:g} ms", "queue": QUEUE}
        for hop, (delay, rate) in enumerate(zip(_DELAYS_MS, rates, strict=True))
    ]
    tree = {parent: [child] for parent, child in itertools.pairwise(_HOSTS)}
    bursts = {
        "kind": "on-off",
        "source": "noise",
        "destination": "sink",
        "rate": f"{2 * _BOTTLENECK_BPS:g} bps",
        "on": "600 ms",
        "off": "3 s",
        "start": f"{_START_UP_S:g} s",
    }
    return {
        "name": "mtcp-fig7",
        "duration": f"{seconds} s",
        "nodes": nodes,
        "links": links,
        "sessions": [
            session("sender", _HOSTS[1:], enough(_BOTTLENECK_BPS, seconds), tree=tree, payload=INTERNET_PAYLOAD_BYTES)
        ],
        "traffic": [bursts],
        "simulation": {"trace": f"{_TRACE_S * 1e3:g} ms"},
    }


def _cases(quick: bool) -> Sequence[Case]:
    references = {"response": BOUND_MS}
    return [Case("", chain(_QUICK_SECONDS if quick else _SECONDS), references=references)]


def windows(run: Finished, host: str, column: str) -> list[tuple[float, float]]:
    """(Seconds, packets) of a window in a host's trace."""
    return [(row["t"], float(row[column])) for row in trace(run, 0, host) if row.get(column) is not None]


def slow_starts(window: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """(When, window before) each time that a window falls to one packet from more than two."""
    return [(at, before) for (_, before), (at, after) in itertools.pairwise(window) if after <= 1.0 and before > 2.0]


def responses(bottleneck: Sequence[tuple[float, float]], sender: Sequence[tuple[float, float]]) -> list[float]:
    """Seconds from each slow start of the bottleneck's agent until the sender's transmission window is down with it.

    Down: at most as large as the agent's window, which may have grown again, has been since."""
    times = [at for at, _ in sender]
    found = []
    for begin, _ in slow_starts(bottleneck):
        largest = 0.0
        agents = iter(bottleneck[bisect.bisect_left([at for at, _ in bottleneck], begin) :])
        at_agent, at_value = next(agents)
        for at, value in sender[bisect.bisect_left(times, begin) :]:
            while at_agent <= at:
                largest = max(largest, at_value)
                at_agent, at_value = next(agents, (float("inf"), 0.0))
            if value <= largest:
                found.append(at - begin)
                break
    return found


def tracking(bottleneck: Sequence[tuple[float, float]], sender: Sequence[tuple[float, float]], lag: float) -> float:
    """1 when the sender's transmission window is always the one that the agent had `lag` seconds before.

    Less the mean distance between the two, over the agent's mean window."""
    times = [at for at, _ in bottleneck]
    if not sender or not bottleneck:
        raise ValueError("no windows to compare")
    distances = [abs(value - bottleneck[max(bisect.bisect_right(times, at - lag) - 1, 0)][1]) for at, value in sender]
    mean = sum(value for _, value in bottleneck) / len(bottleneck)
    return 1 - sum(distances) / len(distances) / mean


def _measure(run: Finished) -> Mapping[str, float]:
    agent, sender = windows(run, "sa2", "cwnd"), windows(run, "sender", "min_cwnd")
    found = responses(agent, sender)
    if not found:
        raise ValueError("SA2 never started slowly")
    return {
        "response": max(found) * 1e3,
        "mean response": sum(found) / len(found) * 1e3,
        "tracking": tracking(agent, [sample for sample in sender if sample[0] >= _START_UP_S], _UPWARD_S),
    }


def _curves(run: Finished) -> Sequence[Curve]:
    """Five seconds around the first slow start after 20 s, as the paper shows them."""
    agent = windows(run, "sa2", "cwnd")
    event = next((at for at, _ in slow_starts(agent) if at > 20), None)
    if event is None:
        raise ValueError("SA2 never started slowly")
    lines = (
        ("sender's cwnd", "sender", "own_cwnd"),
        ("transmission window", "sender", "min_cwnd"),
        ("SA1 (Emory)", "sa1", "cwnd"),
        ("SA2 (GaTech)", "sa2", "cwnd"),
    )
    begin, end = event - _SHOWN_S / 2, event + _SHOWN_S / 2
    return [
        Curve(label, [(at, value) for at, value in windows(run, host, column) if begin <= at <= end])
        for label, host, column in lines
    ]


ROWS = (
    Row(
        "mtcp-fig7",
        PAPER,
        "sim",
        "chain sender - SA1 - SA2 - leaf, one-way delays 8, 5, 12 ms, bottleneck at the last hop",
        "the window drops 200-250 ms after the bottleneck agent's slow start",
        f"within the upward delays, one delayed ACK a level and 50 ms: {BOUND_MS:g} ms; the window tracks SA2's",
        {"response": "ms"},
        Experiment(
            _cases,
            _measure,
            Every(
                [Only(EachBetween(most=BOUND_MS), quantity="response"), Only(EachBetween(0.97), quantity="tracking")]
            ),
            Timeline("window, packets"),
            curves=_curves,
            assisted=Assisted(assisted),
        ),
    ),
)

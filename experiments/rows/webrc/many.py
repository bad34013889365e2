"""Beyond the WEBRC paper: hundreds of receivers in one session, at rates over two orders of magnitude."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from experiments.harness.measures import seconds_of, trace
from experiments.harness.relations import EachBetween, Every, Only
from experiments.harness.row import Case, Curve, Experiment, Timeline
from experiments.harness.runs import Finished
from experiments.rows.rates import rate
from experiments.rows.webrc.base import (
    PACKET_BITS,
    POLITENESS,
    by_log,
    mean,
    network,
    predicted,
    receiver_counter,
    receiver_values,
    session,
)

_COUNT, _QUICK_COUNT = 100, 10
"""Of each kind; half of all are limited by their link, half by losses on it."""
_SECONDS, _QUICK_SECONDS = 300.0, 200.0
"""The steady state is the last half, as the paper's."""
_SR_BPS: Final = 20e6
"""As Fig. 11's: twice the fastest receiver's."""
_RTTS: Final = (0.02, 0.05, 0.1, 0.2)
"""Of the receivers' own links, which are the whole way: the fastest receivers fetch every wave to their switch."""
_LINKS_BPS: Final = (100e3, 10e6)
_LOSS_LIMITED_BPS: Final = (200e3, 4e6)
"""By the prediction; above it losses are so few that 300 s have too few of them."""
_BUFFER_S: Final = 160 * PACKET_BITS / 3.2e6
"""Seconds of a link's rate: Fig. 7's, which holds what the waves of a slot bring above their mean."""
_MOST_LOSS: Final = 0.1
"""Of packets; the paper's most (5.1.1)."""
_SLOT_S: Final = 10.0


def _loss_for(bps: float, rtt: float) -> float:
    """The packet loss probability at which the prediction is `bps`."""
    low, high = 1e-6, 0.5
    for _ in range(60):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if predicted(middle, rtt) * 1e3 > bps else (low, middle)
    return low


def _links(count: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(Receiver, its link from the switch): `l0`, `l1`, ... limited by their links, `p0`, `p1`, ... by losses."""
    rtts = itertools.cycle(_RTTS)
    for number, bps in enumerate(by_log(*_LINKS_BPS, count)):
        rtt = next(rtts)
        queue = {"kind": "droptail", "packets": round(bps * _BUFFER_S / PACKET_BITS)}
        yield f"l{number}", {"delay": f"{rtt / 2 * 1e3:g} ms", "rate": f"{bps:.0f} bps", "queue": queue}
    for number, bps in enumerate(by_log(*_LOSS_LIMITED_BPS, count)):
        # A slow receiver is one of the farther ones: near ones would need more losses than the equation is made for.
        rtt = next(rtt for rtt in rtts if _loss_for(bps, rtt) <= _MOST_LOSS)
        toward = {f"p{number}": {"loss": float(f"{_loss_for(bps, rtt):.6g}")}}
        yield f"p{number}", {"delay": f"{rtt / 2 * 1e3:g} ms", "toward": toward}


def _cases(quick: bool) -> Sequence[Case]:
    count = _QUICK_COUNT if quick else _COUNT
    links = dict(_links(count))
    document = network("webrc-many", {}, {}, seconds=_QUICK_SECONDS if quick else _SECONDS)
    document["nodes"] |= {host: {"kind": "host"} for host in links}
    document["links"] += [{"between": ["edge", host], **link} for host, link in links.items()]
    gap = _SLOT_S / len(links)
    receivers = [{"host": host, "join": f"{gap * number:.3f} s"} for number, host in enumerate(links)]
    document["sessions"] = [session(1, "s1", receivers, rate_bps=_SR_BPS)]
    document["simulation"] = {"trace": "2 s", "sample": "10 s", "traces": len(links)}
    return [Case(f"{len(links)} receivers", document)]


def _rate(run: Finished, host: str) -> float:
    return rate(receiver_counter(run, host), seconds_of(run) / 2)


def _equation(run: Finished, host: str) -> float:
    """kbit/s: 0.869 times Eq. (6) at the receiver's own estimates, in the steady state."""
    found = receiver_values(run, host, "equation_packets_s", seconds_of(run) / 2)
    return POLITENESS * mean(found) * PACKET_BITS / 1e3


def _link_kbps(run: Finished) -> Mapping[str, float]:
    links = run.run.document["links"]
    return {link["between"][1]: float(link["rate"].split()[0]) / 1e3 for link in links if "rate" in link}


def _loss_limited(run: Finished) -> Sequence[str]:
    hosts = [receiver["host"] for receiver in run.run.document["sessions"][0]["receivers"]]
    return [host for host in hosts if host.startswith("p")]


def _measure(run: Finished) -> Mapping[str, float]:
    used = [_rate(run, host) / kbps for host, kbps in _link_kbps(run).items()]
    fair = [_rate(run, host) / _equation(run, host) for host in _loss_limited(run)]
    return {
        "least of a link": min(used),
        "mean of a link": mean(used),
        "least of the equation": min(fair),
        "most of the equation": max(fair),
        "mean of the equation": mean(fair),
        "receivers": float(sum(bool(trace(run, 0, host)) for host in (*_link_kbps(run), *_loss_limited(run)))),
    }


def _curves(run: Finished) -> Sequence[Curve]:
    links = [(kbps, _rate(run, host)) for host, kbps in _link_kbps(run).items()]
    equation = [(_equation(run, host), _rate(run, host)) for host in _loss_limited(run)]
    ends = [min(x for x, _ in (*links, *equation)), max(x for x, _ in (*links, *equation))]
    return [
        Curve("of the link", links, marker="o"),
        Curve("of 0.869 Eq. (6)", equation, marker="s"),
        Curve("all of it", [(x, x) for x in ends], is_reference=True),
    ]


MANY: Final = Experiment(
    _cases,
    _measure,
    Every(
        (
            Only(EachBetween(0.85), "least of a link"),
            Only(EachBetween(0.85), "least of the equation"),
            Only(EachBetween(most=1.15), "most of the equation"),
        )
    ),
    Timeline("throughput, kbit/s", "what limits the receiver, kbit/s", log_x=True, log_y=True),
    curves=_curves,
)

"""Beyond the WEBRC paper: who answers joins, and how late leaves take effect."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.harness.measures import seconds_of
from experiments.harness.relations import EachBetween, Every, Only, RatioBetween
from experiments.harness.row import Bars, Case, Experiment
from experiments.harness.runs import Finished
from experiments.rows.rates import rate
from experiments.rows.webrc.base import PACKET_BITS, mean, receiver_counter, receiver_values, session

_SECONDS, _QUICK_SECONDS = 200.0, 80.0
_LINK_BPS: Final = 2e6
_BUFFER_S: Final = 160 * PACKET_BITS / 3.2e6
"""Fig. 7's."""
_SR_BPS: Final = 6e6
_RECEIVERS: Final = ("r1", "r2", "r3", "r4")
_WAY: Final = "20 ms"
"""Between the switches; a round trip takes 42 ms with the receivers' own links."""
_WASTE: Final = 0.01
"""Of the packets that reach a receiver."""
_SAME: Final = 0.9
_SWITCH: Final = "switch"
_FAR: Final = "controller, 50 ms"
_SHORT: Final = "leaves after 260 s, quiescent 50 s"


def _document(
    seconds: float, *, control: str = "5 ms", announced: bool = True, leave: str = "0 s", quiescence_s: float = 300.0
) -> dict[str, Any]:
    """sender - s1 - s2 - four receivers behind links of 2 Mbps. `control`: between a switch and the controller."""
    queue = {"kind": "droptail", "packets": round(_LINK_BPS * _BUFFER_S / PACKET_BITS)}
    hosts = {host: {"kind": "host", "leave_latency": leave} for host in _RECEIVERS}
    tails = [
        {"between": ["s2", host], "delay": "1 ms", "rate": f"{_LINK_BPS:g} bps", "queue": queue} for host in _RECEIVERS
    ]
    joins = [{"host": host, "join": f"{2 + 2.3 * number:g} s"} for number, host in enumerate(_RECEIVERS)]
    flow = session(1, "sender", joins, rate_bps=_SR_BPS)
    parameters = {**flow["parameters"], "quiescence_s": quiescence_s}
    return {
        "name": "webrc-joins",
        "duration": f"{seconds:g} s",
        "nodes": {"s1": {"kind": "p4"}, "s2": {"kind": "p4"}, "sender": {"kind": "host"}, **hosts},
        "links": [{"between": ["sender", "s1"]}, {"between": ["s1", "s2"], "delay": _WAY}, *tails],
        "sessions": [{**flow, "announced": announced, "parameters": parameters}],
        "simulation": {"trace": "0.5 s", "sample": "1 s", "control_delay": control},
    }


def _cases(quick: bool) -> Sequence[Case]:
    seconds = _QUICK_SECONDS if quick else _SECONDS
    documents = {
        _SWITCH: _document(seconds),
        "controller, 5 ms": _document(seconds, announced=False),
        _FAR: _document(seconds, announced=False, control="50 ms"),
        "leaves after 2 s": _document(seconds, leave="2 s"),
        "leaves after 260 s": _document(seconds, leave="260 s"),
        _SHORT: _document(seconds, leave="260 s", quiescence_s=50.0),
    }
    return [Case(label, document) for label, document in documents.items()]


def _measure(run: Finished) -> Mapping[str, float]:
    """Of the last half, the receivers' mean: the paper's steady state."""
    since = seconds_of(run) / 2
    used, mrtts, wasted = [], [], []
    for host in _RECEIVERS:
        used.append(rate(receiver_counter(run, host), since) * 1e3 / _LINK_BPS)
        mrtts.append(mean(receiver_values(run, host, "mrtt_s", since)))
        packets, waste = (receiver_values(run, host, name, since) for name in ("data_packets", "wasted_packets"))
        gone = waste[-1] - waste[0]
        wasted.append(gone / (packets[-1] - packets[0] + gone))
    return {"MRTT": 1e3 * mean(mrtts), "utilisation": mean(used), "wasted": mean(wasted)}


_LATE: Final = ("controller, 5 ms", _FAR, "leaves after 2 s", "leaves after 260 s")

JOINS: Final = Experiment(
    _cases,
    _measure,
    Every(
        (
            Only(RatioBetween(_FAR, _SWITCH, 1.2), "MRTT"),
            Only(EachBetween(most=_WASTE), "wasted", labels=(_SWITCH, *_LATE)),
            *(Only(RatioBetween(label, _SWITCH, _SAME, 1 / _SAME), "utilisation") for label in _LATE),
        )
    ),
    Bars({"MRTT": "MRTT, ms", "utilisation": "of the link", "wasted": "of what arrives"}),
)

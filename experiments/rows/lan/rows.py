"""All protocols on an ordinary LAN, with Linux bridges and the kernel's TCP: alone, and beside one CUBIC or Reno."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.harness.measures import flow_bytes, receiver_bytes, seconds_of
from experiments.harness.relations import EachBetween, Every, Only
from experiments.harness.row import Bars, Case, Experiment, Row
from experiments.harness.runs import Finished
from experiments.lan.network import CLIENT, SERVER
from experiments.lan.scenario import DATA_BYTES, LINK, LanScenario
from experiments.rows.rates import rate

_LINKS: Final = ((20e6, 60_000), (100e6, 250_000))
"""Bit/s, and bytes of queue."""
_PROTOCOLS: Final = ("mtcp", "rla", "tfmcc", "vlmcc", "webrc")
_RECEIVERS: Final = 8
_ALONE_S, _BESIDE_S = 30.0, 80.0
_QUICK_S: Final = 6.0
_SETTLED: Final = 0.5
"""The part of a run beside a TCP that is start-up: WEBRC's takes 40 s (ours)."""


def _document(protocol: str, rate_bps: float, queue: int, beside: str | None, seconds: float) -> dict[str, Any]:
    flow = {"kind": "tcp", "source": SERVER, "destination": CLIENT, "congestion_control": beside}
    return {
        "name": "lan",
        "duration": f"{seconds:g} s",
        "rate_bps": rate_bps,
        "queue_bytes": queue,
        "receivers": _RECEIVERS,
        "sessions": [{"id": 1, "protocol": protocol}],
        "traffic": [] if beside is None else [flow],
    }


def _cases(quick: bool) -> Sequence[Case]:
    links, besides = (_LINKS[:1], (None, "cubic")) if quick else (_LINKS, (None, "cubic", "reno"))
    return [
        Case(
            f"{protocol.upper()}, {rate_bps / 1e6:g} Mbps, {f'beside {beside}' if beside else 'alone'}",
            _document(
                protocol, rate_bps, queue, beside, _QUICK_S if quick else _ALONE_S if beside is None else _BESIDE_S
            ),
            "lan",
            series=protocol,
        )
        for rate_bps, queue in links
        for beside in besides
        for protocol in _PROTOCOLS
    ]


def filled(counter: Sequence[tuple[float, float]], rate_bps: float) -> float:
    """The part of a link that was used from the first data to the last, of (time, bytes so far): without the first and
    the last `DATA_BYTES`, so that neither announcements nor farewells count. ValueError without data."""
    first, last = counter[0][1] + DATA_BYTES, counter[-1][1] - DATA_BYTES
    used = [(at, octets) for at, octets in counter if first <= octets <= last]
    if len(used) < 2:
        raise ValueError("too little was received")
    (begin, low), (end, high) = used[0], used[-1]
    return (high - low) * 8 / (end - begin) / rate_bps


def _measure(run: Finished) -> Mapping[str, float]:
    scenario = LanScenario.model_validate(run.run.document)
    counter = [(row["t"], row["bytes"]) for row in run.series(LINK)]
    if not counter:
        raise ValueError("nothing was received")
    if not scenario.traffic:
        return {"filled": filled(counter, scenario.rate_bps)}
    begin = next((at for at, octets in counter if octets > counter[0][1] + DATA_BYTES), counter[-1][0])
    since, until = begin + _SETTLED * seconds_of(run), begin + seconds_of(run)
    session = min(rate(receiver_bytes(run, 0, name), since, until) for name in scenario.names)
    return {"share": session / rate(flow_bytes(run, 0), since, until)}


ROWS: Final = (
    Row(
        "lan",
        "lan",
        "lan",
        f"{_RECEIVERS} receivers on an ordinary LAN: 20 Mbps with 60 kB, 100 Mbps with 250 kB of queue",
        "not in any paper",
        "alone 95 % of the link from the first data to the last; 0.5 to 2 times the rate of one CUBIC or Reno beside",
        {"filled": "of the link", "share": "of the TCP's rate"},
        Experiment(
            _cases,
            _measure,
            Every([Only(EachBetween(0.95), "filled"), Only(EachBetween(0.5, 2.0), "share")]),
            Bars({"filled": "of the link", "share": "of the TCP's rate"}),
        ),
    ),
)

"""Beyond the TFMCC paper: receivers that become congested at once, in a network with and without switches that suppress
their reports (docs/assist.md).

The CLR has a lossy link of its own and the longest round trip time. All others are behind another link, over which UDP
begins to send: the worst case of 2.5.2, "n receivers (except the CLR) suddenly experience congestion". UDP alone fills
that link, so that what is lost hardly depends on TFMCC's rate. Clocks are synchronised (2.4.1): everybody knows his
round trip time to a few milliseconds, though nobody but the CLR has had a reason to report before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from experiments.harness.measures import trace
from experiments.harness.relations import EachBetween, Every, Only, RatioBetween
from experiments.harness.row import Case, Experiment, Figure, Judgement, Outcome, Row
from experiments.harness.runs import Finished
from experiments.rows.networks import access, bottleneck, crowd_network, document
from experiments.rows.tfmcc.base import tfmcc
from hosts.protocols.tfmcc.options import TfmccOptions

_COUNTS: Final = (10, 100, 1000)
_QUICK_COUNTS: Final = (10, 100)
_WITHOUT, _WITH = "without", "with assistance"
_ASSIST: Final[Mapping[str, str]] = {_WITHOUT: "none", _WITH: "switch"}
_CLR_LOSS: Final = 0.01
_CLR_MS: Final = 123.0
"""To the CLR, one way; with its other links an RTT of `_RTT_S`."""
_RTT_S: Final = 0.25
"""The longest; what the sender begins with."""
_CLOCK_ERROR_S: Final = 0.005
_SHARED_BPS: Final = 10e6
_TAKEN_BPS: Final = 10e6
_QUEUE_PACKETS: Final = 15
_HOP_MS: Final = 5.0
_FAST_BPS: Final = 100e6
_CONGESTED_S: Final = 15.0
_SECONDS: Final = 20.0
_WINDOW_S: Final = 2.0
"""The reported minimum is compared with the true one for so long, some two feedback rounds."""
_THETA: Final = TfmccOptions().theta
_HANDFUL: Final = 20.0
"""Reports that a sender may well take in a round, ten of which may ask for an RTT (ours)."""


def crowd(count: int, assist: str) -> dict[str, Any]:
    """The scenario: so many receivers behind the shared link, and the CLR `lead`."""
    names, nodes, links = crowd_network(count)
    links += [
        access("s", "s0"),
        access("u", "s0", _FAST_BPS),
        access("s1", "v", _FAST_BPS),
        {**access("s0", "lead", delay_ms=_CLR_MS), "toward": {"lead": {"loss": _CLR_LOSS}}},
        bottleneck("s0", "s1", _SHARED_BPS, _QUEUE_PACKETS, _HOP_MS),
    ]
    session = tfmcc(["lead", *names], initial_rtt_s=_RTT_S, clock_error_s=_CLOCK_ERROR_S)
    udp = {"kind": "udp", "source": "u", "destination": "v", "rate": f"{_TAKEN_BPS:g} bps", "packet": "1000 B"}
    return document(
        "tfmcc-assist",
        _SECONDS,
        nodes,
        links,
        {**session, "assist": assist},
        [{**udp, "gaps": "exponential", "start": f"{_CONGESTED_S:g} s"}],
        simulation={"sample": "10 s", "trace": "50 ms", "traces": max(_COUNTS) + 1},
    )


def _label(count: int, series: str) -> str:
    return f"{count} {series}"


def _cases(quick: bool) -> Sequence[Case]:
    return [
        Case(_label(count, series), crowd(count, assist), x=count, series=series)
        for series, assist in _ASSIST.items()
        for count in (_QUICK_COUNTS if quick else _COUNTS)
    ]


def _least_rates(run: Finished) -> dict[float, float]:
    """Time -> the lowest rate that any receiver behind the shared link calculates, once somebody there has a loss."""
    least: dict[float, float] = {}
    for receiver in run.run.document["sessions"][0]["receivers"]:
        if receiver != "lead":
            for row in trace(run, 0, receiver):
                if row.get("loss_events") and row.get("calculated_bps"):
                    at = round(row["t"], 3)
                    least[at] = min(least.get(at, row["calculated_bps"]), row["calculated_bps"])
    return least


def _measure(run: Finished) -> Mapping[str, float]:
    """From the first loss on: reports of others than the CLR in the busiest round, and all reports in a second; percent
    by which the CLR's rate, as it was reported, is above the lowest that anybody calculates; and seconds until what is
    sent is within theta of that."""
    least = _least_rates(run)
    if not least or min(least) <= _CONGESTED_S:
        raise ValueError("the congestion began at another time")
    begin = min(least)
    rows = [row for row in trace(run, 0, "sender") if row.get("limiting") and row["t"] >= begin - 1e-3]
    both = [(row, least[round(row["t"], 3)]) for row in rows if round(row["t"], 3) in least]
    excess = [row["limiting"]["rate_bps"] / true - 1 for row, true in both if row["t"] <= begin + _WINDOW_S]
    near = [row["t"] for row, true in both if row["allowed_bps"] * (1 - _THETA) <= true]
    if not excess or not near:
        raise ValueError("the rate never came down")
    return {
        "reports": max(row["round_reports"] for row in rows),
        "all": (rows[-1]["feedback_packets"] - rows[0]["feedback_packets"]) / (rows[-1]["t"] - rows[0]["t"]),
        "excess": 100 * sum(excess) / len(excess),
        "reaction": near[0] - begin,
    }


@dataclass(frozen=True, slots=True)
class _Less:
    """Of each number of receivers that was run, no more with assistance than without."""

    def judge(self, outcomes: Sequence[Outcome]) -> Judgement:
        """ValueError as `RatioBetween`'s."""
        counts = dict.fromkeys(int(outcome.case.x) for outcome in outcomes)
        return Every([RatioBetween(_label(count, _WITH), _label(count, _WITHOUT), 0.0, 1.0) for count in counts]).judge(
            outcomes
        )


ROWS: Final = (
    Row(
        "tfmcc-assist",
        "tfmcc",
        "sim",
        "10 to 1,000 receivers that become congested at once, over P4 switches with and without assistance",
        "not in the paper",
        f"with: at most {_HANDFUL:g} reports in the busiest round; nearer to the least rate than without, and sooner",
        {"reports": "reports in the busiest round", "excess": "with / without", "reaction": "with / without"},
        Experiment(
            _cases,
            _measure,
            Every(
                [Only(EachBetween(0.0, _HANDFUL), "reports", _WITH), Only(_Less(), "excess"), Only(_Less(), "reaction")]
            ),
            Figure(
                "receivers",
                {
                    "reports": "reports in the busiest round",
                    "all": "reports a second, the CLR's too",
                    "excess": "reported above the least rate, %",
                    "reaction": "reaction, s",
                },
                log_x=True,
            ),
        ),
    ),
)

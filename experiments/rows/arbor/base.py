"""What Arbor's rows share: sessions, hosts, queues, and what is measured of receivers and of feedback."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from experiments.harness.measures import Counter, trace
from experiments.harness.runs import Finished
from experiments.rows.rates import rate

PACKET_BYTES: Final = 1500
ASSISTED: Final = "switches"
"""The series of cases with P4 switches that help."""
SECONDS: Final = 60.0
QUICK_SECONDS: Final = 20.0
FROM_SHARE: Final = 1 / 3
"""Of a run: rates are of what comes after."""


def session_of(receivers: Sequence[str], **content: Any) -> dict[str, Any]:
    """With default parameters; real-time data, or `content`."""
    return {
        "id": 1,
        "protocol": "arbor",
        "sender": "s",
        "group": "232.1.1.1",
        "port": 5000,
        **(content or {"realtime": True}),
        "receivers": list(receivers),
    }


def sending_host(rate_bps: float) -> dict[str, Any]:
    """A host that holds each packet back for up to the bottleneck's time for one, as the survey's do: without it
    DropTail queues favour one flow for good (Floyd and Jacobson 1992)."""
    return {"kind": "host", "sending": {"most": f"{PACKET_BYTES * 8e3 / rate_bps:g} ms"}}


def received(run: Finished, receiver: str, session: int = 0) -> Counter:
    return [(row["t"], row["received_bytes"]) for row in trace(run, session, receiver) if "received_bytes" in row]


def goodput(run: Finished, receiver: str) -> float:
    """kbit/s of payload."""
    return rate(received(run, receiver), FROM_SHARE * run.summary["duration_s"])


RATE_BPS: Final = 20e6
DELAY_MS: Final = 15.0
QUEUES: Final[Mapping[str, Mapping[str, Any]]] = {
    "DropTail": {"kind": "droptail", "packets": int(RATE_BPS * 2 * DELAY_MS / 8e3 / PACKET_BYTES)},
    "CoDel": {"kind": "codel"},
    "FQ-CoDel": {"kind": "fq_codel"},
    "DualPI2": {"kind": "dualpi2"},
}
"""DropTail of one bandwidth-delay product; the others as their RFCs have them."""
LOSS: Final = 0.005
SYMBOL_BYTES: Final = 1384
"""Of a packet with the default payload."""
FILE_SECONDS: Final = 120.0
FEEDBACK: Final = {"feedback": "packets a round trip", "busiest": "in the busiest second"}
_WINDOW_S: Final = 1.0
"""Within which feedback is counted where it is most (ours)."""


def feedback(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """A sender's, in a round trip: on average and in its busiest second."""
    rtt_s = sum(row["rtt_s"] for row in rows) / len(rows)
    told = [(row["t"], row["feedback_packets"]) for row in rows]
    busiest, first = 0.0, 0
    for at, count in told:
        while told[first + 1][0] <= at - _WINDOW_S:
            first += 1
        since, before = told[first]
        if at - since >= _WINDOW_S:
            busiest = max(busiest, (count - before) / (at - since))
    (began, least), (ended, most) = told[0], told[-1]
    return {"feedback": (most - least) / (ended - began) * rtt_s, "busiest": busiest * rtt_s}

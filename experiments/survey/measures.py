"""What is measured in one run of a cell, with a session or with a TCP in its place.

Rates are bit/s of what applications get: of a reliable protocol's stream in order, without repairs, and of TCP's."""

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from experiments.harness.jobs import Metrics
from experiments.harness.measures import Counter, by_interval, bytes_at, flow_bytes, receiver_bytes, trace
from experiments.harness.runs import Finished
from experiments.survey.distribution import Cell
from experiments.survey.scenario import REFERENCE, TRUNK, window_s

_DROPS: Final = ("drop_queue", "drop_red", "drop_aqm")
"""What a port counts as dropped by its queue, of which each kind has its own."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Where and when a cell is looked at. Times in seconds."""

    receivers: Sequence[str]
    """Those who are there from beginning to end."""
    late: Sequence[str]
    since: float
    """What comes from here to the end is measured as settled: long after start-up, and after the change."""
    until: float
    window: float
    """Of rates over time."""
    trunk_bps: float
    """The bottleneck's rate in that time."""


def frame(cell: Cell) -> Frame:
    """A cell's."""
    after = cell.change.value if cell.change is not None and cell.change.kind == "rate" else cell.rate_bps
    return Frame(tuple(cell.steady), tuple(cell.late), cell.change_s, cell.duration_s, window_s(cell), after)


def measure_session(of: Frame, run: Finished) -> Metrics:
    """What a session came to, and the TCPs beside it; `goodput_bps` and `rates_bps` are its slowest receiver's.

    `rates_bps` are those of all windows of the run, whole bit/s; `stall_s` is the longest time in which a receiver that
    is there from beginning to end made no progress."""
    counters = {name: [(0.0, 0), *receiver_bytes(run, 0, name)] for name in of.receivers}
    settled = {name: _rate(of, counter) for name, counter in counters.items()}
    slowest = min(settled, key=lambda name: settled[name])
    stalls = {name: longest_stall(counter, of.until) for name, counter in counters.items()}
    session = run.summary["sessions"][0]
    return {
        **_settled(of, counters[slowest]),
        "slowest": slowest,
        "fastest_bps": max(settled.values()),
        "stall_s": round(max(stalls.values()), 3),
        "stalled": max(stalls, key=lambda name: stalls[name]),
        "late_bps": min((_rate(of, receiver_bytes(run, 0, name)) for name in of.late), default=None),
        "tcps_bps": _tcps(of, run, first=0),
        "feedback": _feedback(run),
        "state": session["state"],
        "detail": session["detail"],
        **_bottleneck(of, run),
    }


def measure_reference(of: Frame, run: Finished) -> Metrics:
    """What the TCP in the session's place came to, and those beside it."""
    counter = [(0.0, 0.0), *flow_bytes(run, REFERENCE)]
    return {**_settled(of, counter), "tcps_bps": _tcps(of, run, first=REFERENCE + 1), **_bottleneck(of, run)}


def session_measure(cell: Cell) -> functools.partial[Metrics]:
    """What measures a run of the cell with a session; it can be sent to other processes."""
    return functools.partial(measure_session, frame(cell))


def reference_measure(cell: Cell) -> functools.partial[Metrics]:
    """Likewise, of a run with a TCP in the session's place."""
    return functools.partial(measure_reference, frame(cell))


def longest_stall(counter: Counter, until: float) -> float:
    """The longest time, seconds, up to `until` in which nothing was added, as well as samples tell."""
    last, longest = 0.0, 0.0
    for (_, before), (at, octets) in itertools.pairwise(counter):
        if octets > before:
            # What came in the last interval may have come at its beginning, but not before.
            longest, last = max(longest, at - last), at
    return max(longest, until - last)


def _settled(of: Frame, counter: Counter) -> Metrics:
    windows = by_interval(counter, of.window, of.until)
    late = [bps * 8 for at, bps in windows if at > of.since]
    mean = math.fsum(late) / len(late) if late else 0.0
    return {
        "goodput_bps": round(_rate(of, counter)),
        "variation": float(np.std(late, ddof=1)) / mean if len(late) > 1 and mean else None,
        "rates_bps": [round(bps * 8) for _, bps in windows],
    }


def _rate(of: Frame, counter: Counter) -> float:
    """Bit/s of the settled time."""
    return (bytes_at(counter, of.until) - bytes_at(counter, of.since)) * 8 / (of.until - of.since)


def _tcps(of: Frame, run: Finished, first: int) -> list[int]:
    """Of the cross traffic that shares the bottleneck."""
    flows = run.run.document["traffic"]
    beside = [number for number in range(first, len(flows)) if flows[number]["source"].startswith("x")]
    return [round(_rate(of, flow_bytes(run, number))) for number in beside]


def _feedback(run: Finished) -> float | None:
    """Feedback packets that came to the sender, for a packet of data that it sent; None when it sent none."""
    rows = [row for row in trace(run, 0, "sender") if row.get("data_packets")]
    return (rows[-1].get("feedback_packets") or 0) / rows[-1]["data_packets"] if rows else None


def _bottleneck(of: Frame, run: Finished) -> Metrics:
    """Queueing delay (what is queued, in the time that the link takes for it, as sampled), what the queue drops of all
    that comes to it, and how full the link is, from `since` on."""
    rows = [
        row
        for row in run.series("ports")
        if (row["switch"], row["neighbour"]) == TRUNK and of.since <= row["t"] <= of.until
    ]
    if len(rows) < 2:
        raise ValueError(f"no counters of the bottleneck after {of.since:g} s")
    first, last = rows[0], rows[-1]
    delays = [row["queue_bytes"] * 8 / of.trunk_bps for row in rows]
    dropped = sum(last.get(name, 0) - first.get(name, 0) for name in _DROPS)
    sent = last["tx_packets"] - first["tx_packets"]
    return {
        "queue_median_s": float(np.median(delays)),
        "queue_p99_s": float(np.percentile(delays, 99)),
        "dropped": dropped / max(1, dropped + sent),
        "utilisation": (last["tx_bytes"] - first["tx_bytes"]) * 8 / (last["t"] - first["t"]) / of.trunk_bps,
    }

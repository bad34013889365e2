"""What is read from a finished run: rates, queues, windows. Each raises ValueError when the run does not say."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from experiments.harness.runs import Finished
from topologies.results.bottleneck import rate_between

Counter: TypeAlias = Sequence[tuple[float, float]]
"""(Seconds in the run, bytes so far), in order of time."""


def seconds_of(run: Finished) -> float:
    """How long the scenario lasts, of a document that says it in seconds."""
    return float(run.run.document["duration"].split()[0])


def flow_bytes(run: Finished, number: int) -> Counter:
    """What a flow of cross traffic had brought, by time; empty before it began. TCP: acknowledged."""
    for name, column in ((f"flow-{number}-sink", "received_bytes"), (f"flow-{number}", "acked_bytes")):
        rows = [(row["t"], row[column]) for row in run.series(name) if column in row]
        if rows:
            return rows
    return []


def flow_goodput(run: Finished, number: int, since: float = 0.0, until: float = float("inf")) -> float:
    """Bit/s that a flow of cross traffic got between two times (seconds in the run)."""
    rate = rate_between(flow_bytes(run, number), since, until)
    if rate is None:
        raise ValueError(f"flow {number} measured nothing after {since:g} s")
    return rate


def flow_goodputs(run: Finished, since: float = 0.0) -> list[float]:
    """Bit/s of each flow, in the scenario's order."""
    return [flow_goodput(run, number, since) for number in range(len(run.run.document["traffic"]))]


def last_port_row(run: Finished, node: str, neighbour: str) -> Mapping[str, Any]:
    """The last row of the counters of a node's port towards a neighbour."""
    found = [row for row in run.series("ports") if (row["switch"], row["neighbour"]) == (node, neighbour)]
    if found:
        return found[-1]
    raise ValueError(f"no counters of the port of {node} towards {neighbour}")


# --- sessions


def trace(run: Finished, number: int, agent: str) -> list[dict[str, Any]]:
    """The trace (docs/trace.md) of an agent of a session, `sender` or a host, with `t` in seconds in the run.

    Empty when there is none."""
    rows = run.series(f"session-{_id(run, number)}-{agent}")
    if not rows:
        return []
    begin = rows[0]["started_at"] - run.summary["epoch"]
    return [{**row, "t": row["t"] + begin} for row in rows[1:]]


def receiver_bytes(run: Finished, number: int, host: str) -> Counter:
    """What a receiver had of the stream, in order, by time."""
    return [(row["t"], row["received_bytes"]) for row in trace(run, number, host) if "received_bytes" in row]


def acknowledged_bytes(run: Finished, number: int) -> Counter:
    """What all of a sender's children had acknowledged, by time."""
    return [(row["t"], row["acked_bytes"]) for row in trace(run, number, "sender") if "acked_bytes" in row]


def session_rate(run: Finished, number: int = 0, since: float | None = None, until: float = float("inf")) -> float:
    """Bit/s of a session's slowest receiver between two times; by default from its sender's first data to the end.

    From the receivers' traces, or, where there are too many to have one, from what the sender saw acknowledged."""
    begin = run.summary["sessions"][number]["sending_from"] if since is None else since
    if begin is None:
        raise ValueError(f"session {_id(run, number)} sent nothing")
    hosts = [receiver["host"] for receiver in run.summary["sessions"][number]["receivers"]]
    traced = [counter for counter in (receiver_bytes(run, number, host) for host in hosts) if counter]
    counters = traced if len(traced) == len(hosts) else [acknowledged_bytes(run, number)]
    rates = [rate_between(counter, begin, until) for counter in counters]
    found = [rate for rate in rates if rate is not None]
    if not found or len(found) < len(rates):
        raise ValueError(f"session {_id(run, number)} measured nothing after {begin:g} s")
    return min(found)


def session_goodput(run: Finished) -> float:
    """Bit/s at which the first session's slowest receiver got the whole file."""
    receivers = run.summary["sessions"][0]["receivers"]
    rates = [receiver["goodput_bps"] for receiver in receivers if receiver["expected"]]
    if not all(receiver["complete"] for receiver in receivers if receiver["expected"]) or not all(rates):
        raise ValueError("not every receiver holds the whole file")
    return float(min(rates))


def by_interval(counter: Counter, seconds: float, until: float | None = None) -> list[tuple[float, float]]:
    """(Middle, byte/s) of each interval of so many seconds from 0 on, from bytes so far, as the papers' figures do."""
    rates: list[tuple[float, float]] = []
    end = until if until is not None else counter[-1][0] if counter else 0.0
    start = 0.0
    while start + seconds <= end + 1e-9:
        rates.append((start + seconds / 2, (bytes_at(counter, start + seconds) - bytes_at(counter, start)) / seconds))
        start += seconds
    return rates


def bytes_at(counter: Counter, time: float) -> float:
    """Bytes at a time (seconds in the run), between the two samples around it; 0 of no samples."""
    if not counter or time <= counter[0][0]:
        return counter[0][1] if counter else 0.0
    low, high = 0, len(counter)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if counter[middle][0] <= time else (low, middle)
    (before, octets), (after, more) = counter[low], counter[min(low + 1, len(counter) - 1)]
    return octets if after <= before else octets + (more - octets) * (time - before) / (after - before)


def _id(run: Finished, number: int) -> int:
    return int(run.run.document["sessions"][number]["id"])

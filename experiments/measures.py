"""What is read from a finished run: rates, queues. Each raises ValueError when the run does not say."""

from collections.abc import Mapping
from typing import Any

from experiments.runs import Finished
from topologies.run.results import rate_between


def flow_goodput(run: Finished, number: int, since: float = 0.0) -> float:
    """Bit/s that a flow of cross traffic got from `since` (seconds in the run) to its end."""
    for name, column in ((f"flow-{number}", "acked_bytes"), (f"flow-{number}-sink", "received_bytes")):
        rows = [(row["t"], row[column]) for row in run.series(name) if column in row]
        rate = rate_between(rows, since, float("inf"))
        if rate is not None:
            return rate
    raise ValueError(f"flow {number} measured nothing after {since:g} s")


def flow_goodputs(run: Finished, since: float = 0.0) -> list[float]:
    """Bit/s of each flow, in the scenario's order."""
    return [flow_goodput(run, number, since) for number in range(len(run.run.document["traffic"]))]


def last_port_row(run: Finished, node: str, neighbour: str) -> Mapping[str, Any]:
    """The last row of the counters of a node's port towards a neighbour."""
    found = [row for row in run.series("ports") if (row["switch"], row["neighbour"]) == (node, neighbour)]
    if found:
        return found[-1]
    raise ValueError(f"no counters of the port of {node} towards {neighbour}")


def session_goodput(run: Finished, number: int = 0) -> float:
    """Bit/s at which a session's slowest receiver got the whole file."""
    receivers = run.summary["sessions"][number]["receivers"]
    rates = [receiver["goodput_bps"] for receiver in receivers if receiver["expected"]]
    if not all(receiver["complete"] for receiver in receivers if receiver["expected"]) or not all(rates):
        raise ValueError("not every receiver holds the whole file")
    return float(min(rates))

"""Two runs beside each other: what their summaries say, and how much the second differs."""

from collections.abc import Mapping
from typing import Any, Final

from rich.table import Table

from topologies.scenario.quantity import format_measured_rate

Row = tuple[str, Any, Any]

_RUN: Final = ("scenario", "seed", "switch", "outcome")
"""What a run was, which is named and not measured: a seed is not a third higher than another."""


def compare(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[Row]:
    """What is measured in either, and both values; None where one has none. Rates end in `_bps`."""
    first, second = _measures(one), _measures(other)
    return [(name, first.get(name), second.get(name)) for name in dict.fromkeys([*first, *second])]


def comparison_table(rows: list[Row]) -> Table:
    """For a terminal."""
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for column in ("A", "B", "B to A"):
        table.add_column(column, justify="right")
    for name, one, other in rows:
        table.add_row(name.removesuffix("_bps"), _text(name, one), _text(name, other), _change(name, one, other))
    return table


def _measures(summary: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {name: summary.get(name) for name in _RUN}
    found["duration, s"] = summary["duration_s"]
    found["bottleneck used"] = summary["bottleneck_utilisation"]
    for session in summary["sessions"]:
        of = f"session {session['id']}: "
        expected = [receiver for receiver in session["receivers"] if receiver["expected"]]
        goodputs = [receiver["goodput_bps"] for receiver in session["receivers"] if receiver["goodput_bps"] is not None]
        found[f"{of}protocol"] = session["protocol"]
        found[f"{of}state"] = session["state"]
        found[f"{of}complete"] = f"{sum(receiver['complete'] for receiver in expected)} of {len(expected)}"
        found[f"{of}lowest goodput_bps"] = min(goodputs, default=None)
        found[f"{of}highest goodput_bps"] = max(goodputs, default=None)
        found[f"{of}losses"] = sum(receiver["lost_packets"] or 0 for receiver in session["receivers"])
        found[f"{of}repairs sent"] = session["repair_packets"]
        found[f"{of}feedback at the sender"] = session["feedback_packets"]
    for flow in summary["flows"]:
        found[f"{flow['kind']} {flow['source']} to {flow['destination']}_bps"] = flow["goodput_bps"]
    return found


def _text(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name.endswith("_bps"):
        return format_measured_rate(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _change(name: str, one: Any, other: Any) -> str:
    measured = name not in _RUN and all(isinstance(value, int | float) for value in (one, other))
    return f"{(other - one) / one:+.1%}" if measured and one else ("" if one == other else "differs")

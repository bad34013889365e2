"""A survey as one table, a row for each cell and protocol."""

import io
from pathlib import Path
from typing import Any, Final

import polars as pl

from experiments.harness.jobs import write_whole
from experiments.survey.distribution import Cell
from experiments.survey.outcome import Outcome
from experiments.survey.survey import Surveyed

FILE_NAME: Final = "survey.parquet"

DIMENSIONS: Final = {
    "rate_bps": pl.Float64,
    "rtt_s": pl.Float64,
    "queue": pl.String,
    "queue_bdp": pl.Float64,
    "ecn": pl.Boolean,
    "receivers": pl.Int64,
    "loss": pl.String,
    "loss_rate": pl.Float64,
    "loss_is_shared": pl.Boolean,
    "tcps": pl.Int64,
    "tcp_kinds": pl.String,
    "back": pl.String,
    "back_load": pl.Float64,
    "change": pl.String,
    "change_factor": pl.Float64,
    "late": pl.Int64,
    "dies": pl.Boolean,
    "slow_bps": pl.Float64,
    "duration_s": pl.Float64,
    "beyond": pl.Boolean,
}
"""Columns of what was drawn; `change_factor` is the new delay or rate over the old one."""
JUDGED: Final = {
    "reference_bps": pl.Float64,
    "of_tcp": pl.Float64,
    "of_link": pl.Float64,
    "share": pl.Float64,
    "recovery_s": pl.Float64,
    "stalls": pl.Boolean,
    "collapses": pl.Boolean,
    "is_enough": pl.Boolean,
    "is_fair": pl.Boolean,
    "recovers": pl.Boolean,
    "badness": pl.Float64,
}
"""Columns that are attributes of an outcome."""
MEASURED: Final = {
    "goodput_bps": pl.Float64,
    "fastest_bps": pl.Float64,
    "slowest": pl.String,
    "late_bps": pl.Float64,
    "variation": pl.Float64,
    "queue_median_s": pl.Float64,
    "queue_p99_s": pl.Float64,
    "dropped": pl.Float64,
    "utilisation": pl.Float64,
    "feedback": pl.Float64,
    "stall_s": pl.Float64,
    "stalled": pl.String,
}
"""Columns of what was measured in the run."""
_NAMES: Final = {"seed": pl.Int64, "cell": pl.Int64, "protocol": pl.String, "state": pl.String, "error": pl.String}


def make_table(surveyed: Surveyed) -> pl.DataFrame:
    """Null is what does not apply, or was not run."""
    rows = [_row(outcome) for outcome in surveyed.outcomes]
    return pl.DataFrame(rows, schema={**_NAMES, **DIMENSIONS, **JUDGED, **MEASURED}, strict=False)


def write_table(surveyed: Surveyed, folder: Path) -> pl.DataFrame:
    """Make the table and write it into the folder, whole or not at all. JobsError."""
    table = make_table(surveyed)
    content = io.BytesIO()
    table.write_parquet(content)
    write_whole(folder / FILE_NAME, content.getvalue())
    return table


def _row(outcome: Outcome) -> dict[str, Any]:
    cell, metrics = outcome.cell, outcome.metrics or {}
    return {
        "seed": cell.seed,
        "cell": cell.number,
        "protocol": outcome.protocol,
        "state": outcome.state,
        "error": outcome.error,
        **_dimensions(cell),
        **{name: getattr(outcome, name) for name in JUDGED},
        **{name: metrics.get(name) for name in MEASURED},
    }


def _dimensions(cell: Cell) -> dict[str, Any]:
    change = cell.change
    before = None if change is None else cell.trunk_s if change.kind == "delay" else cell.rate_bps
    return {
        "rate_bps": cell.rate_bps,
        "rtt_s": cell.rtt_s,
        "queue": cell.queue.kind,
        "queue_bdp": cell.queue.bdp,
        "ecn": cell.queue.ecn,
        "receivers": len(cell.tree.receivers),
        "loss": cell.losses.kind,
        "loss_rate": cell.losses.rate,
        "loss_is_shared": cell.losses.is_shared,
        "tcps": len(cell.tcps),
        "tcp_kinds": " ".join(tcp.kind for tcp in cell.tcps),
        "back": "none" if cell.back is None else cell.back.kind,
        "back_load": None if cell.back is None or cell.back.kind == "tcp" else cell.back.load,
        "change": "none" if change is None else change.kind,
        "change_factor": None if change is None or before is None else change.value / before,
        "late": len(cell.late),
        "dies": cell.dying is not None,
        "slow_bps": None if cell.slow is None else cell.slow[1],
        "duration_s": cell.duration_s,
        "beyond": cell.is_beyond,
    }

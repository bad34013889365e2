"""A sweep's results as one table: for each combination of settings and each measurement its mean over seeds."""

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Column, Table

from engine.command.lines import visible
from engine.command.tables import print_table
from experiments.harness.jobs import write_whole
from experiments.harness.printing import format_estimate
from experiments.harness.statistics import Estimate, mean_interval
from experiments.sweep.sweep import Record

FILE_NAME = "sweep.parquet"


def make_table(records: Sequence[Record]) -> pl.DataFrame:
    """One row a combination and measurement: the settings, `measurement`, `runs`, `mean`, `low`, `high` (95 %
    confidence; null from one run), and what they are made of, `seeds` and `values`."""
    combinations: dict[str, list[Record]] = {}
    for record in records:
        combinations.setdefault(repr(record.settings), []).append(record)
    rows: list[dict[str, Any]] = []
    for group in combinations.values():
        for name in dict.fromkeys(name for record in group for name in record.metrics):
            found = [(record.seed, record.metrics[name]) for record in group if name in record.metrics]
            estimate = mean_interval([value for _, value in found])
            rows.append(
                {
                    **group[0].settings,
                    "measurement": name,
                    "runs": len(found),
                    "mean": estimate.mean,
                    "low": estimate.low if math.isfinite(estimate.low) else None,
                    "high": estimate.high if math.isfinite(estimate.high) else None,
                    "seeds": [seed for seed, _ in found],
                    "values": [value for _, value in found],
                }
            )
    paths = list(records[0].settings) if records else []
    schema: dict[str, Any] = {path: _column_type([row[path] for row in rows]) for path in paths}
    schema |= {"measurement": pl.String, "runs": pl.Int64, "mean": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    schema |= {"seeds": pl.List(pl.Int64), "values": pl.List(pl.Float64)}
    texts = [path for path in paths if schema[path] == pl.String]
    return pl.DataFrame([row | {path: str(row[path]) for path in texts} for row in rows], schema=schema)


def write_table(records: Sequence[Record], folder: Path) -> pl.DataFrame:
    """Make the table and write it into the folder, whole or not at all. JobsError."""
    table = make_table(records)
    content = io.BytesIO()
    table.write_parquet(content)
    write_whole(folder / FILE_NAME, content.getvalue())
    return table


def show_table(console: Console, table: pl.DataFrame, folder: Path, *, as_json: bool, reused: int) -> None:
    """Means with their intervals; rates in Mbps unless it is for a program. A setting of one value has no column."""
    if as_json:
        print(table.write_json())
        return
    settings = table.columns[: table.columns.index("measurement")]
    paths = [path for path in settings if table[path].n_unique() > 1]
    same = ", ".join(f"{path}={table[path][0]}" for path in settings if path not in paths)
    columns = [Column(path, overflow="fold") for path in paths]
    shown = Table(*columns, Column("measurement", no_wrap=True), "mean [95 %]", "runs", title=same or None)
    for row in table.iter_rows(named=True):
        estimate = Estimate(
            row["mean"],
            -math.inf if row["low"] is None else row["low"],
            math.inf if row["high"] is None else row["high"],
        )
        name: str = row["measurement"]
        if name.endswith("_bps"):
            name, estimate = f"{name.removesuffix('_bps')}, Mbps", estimate.scaled(1e-6)
        shown.add_row(*(str(row[path]) for path in paths), name, format_estimate(estimate), str(row["runs"]))
    print_table(shown, console=console)
    if reused:
        console.print(f"{reused} runs were there already", highlight=False)
    console.print(visible(f"table: {folder / FILE_NAME}"), markup=False, highlight=False, soft_wrap=True)


def _column_type(values: Sequence[Any]) -> Any:
    if all(isinstance(value, bool) for value in values):
        return pl.Boolean
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return pl.Int64
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return pl.Float64
    return pl.String

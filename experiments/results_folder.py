"""Results of rows as files: ROW.json with every run's measurement, ROW.svg with the figure."""

import json
import math
from pathlib import Path
from typing import Any

from experiments.plot import draw
from experiments.reproduce import RowResult
from experiments.statistics import Estimate, mean_interval

RESULTS = Path(__file__).parent / "results"
"""The kept results, which the documentation shows."""


def summary(result: RowResult) -> dict[str, Any]:
    """One row of `--json`. `interval` is null when it has no bounds; `measured` when nothing could be judged."""
    measured = None if result.judgement is None else result.judgement.measured
    return {
        "row": result.row.id,
        "paper": result.row.value,
        "measured": None if measured is None else _number(measured.mean),
        "interval": None if measured is None else _interval(measured),
        "unit": result.row.unit,
        "holds": result.holds,
    }


def details(result: RowResult) -> dict[str, Any]:
    """All that is kept of a row."""
    return {
        **summary(result),
        "title": result.row.title,
        "counts": result.row.counts,
        "where": "" if result.judgement is None else result.judgement.where,
        "quick": result.options.quick,
        "runs": min((len(outcome.values) for outcome in result.outcomes), default=0),
        "notes": result.notes,
        "cases": [
            {
                "case": outcome.case.label,
                "world": outcome.case.world,
                "x": outcome.case.x,
                "quantity": outcome.quantity,
                "reference": outcome.reference,
                "mean": _number(mean_interval(outcome.values).mean),
                "interval": _interval(mean_interval(outcome.values)),
                "values": [_number(value) for value in outcome.values],
            }
            for outcome in result.outcomes
        ],
    }


def keep(result: RowResult, folder: Path, *, spare_fuller: bool) -> bool:
    """Write a row's files; False when there was nothing to write, or `spare_fuller` and what is there says more.

    OSError when they cannot be written."""
    if not result.outcomes or (spare_fuller and _is_fuller(folder / f"{result.row.id}.json", result)):
        return False
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(details(result), indent=1)
    (folder / f"{result.row.id}.json").write_text(text + "\n", encoding="utf-8")
    try:
        figure = draw(result)
    except ValueError as error:
        result.notes.append(f"no figure: {error}")
    else:
        (folder / f"{result.row.id}.svg").write_text(figure, encoding="utf-8")
    return True


def _is_fuller(path: Path, result: RowResult) -> bool:
    """Whether the kept result comes from longer or more runs, or more cases, or without failed runs."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        rank = (not kept["quick"], not kept["notes"], len(kept["cases"]), kept["runs"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
    new = details(result)
    return bool(rank > (not new["quick"], not new["notes"], len(new["cases"]), new["runs"]))


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _interval(estimate: Estimate) -> list[float] | None:
    bounds = [estimate.low, estimate.high]
    return bounds if all(math.isfinite(bound) for bound in bounds) else None

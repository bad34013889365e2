"""Results of rows as files: ROW.json with every run's measurement, ROW.svg with the figure."""

import json
import math
from pathlib import Path
from typing import Any

from experiments.figures.plot import draw
from experiments.harness.digest import document_digest
from experiments.harness.kept import Kept, KeptError, parse_kept, read_kept, standing
from experiments.harness.origin import Made
from experiments.harness.reproduce import RowResult
from experiments.harness.statistics import Estimate, mean_interval

RESULTS = Path(__file__).parents[1] / "results"
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


def details(result: RowResult, made: Made) -> dict[str, Any]:
    """All that is kept of a row."""
    return {
        **summary(result),
        "title": result.row.title,
        "counts": result.row.counts,
        "where": "" if result.judgement is None else result.judgement.where,
        "quick": result.options.quick,
        "runs": min((len(outcome.values) for outcome in result.outcomes), default=0),
        "notes": result.notes,
        "made": made.model_dump(),
        "cases": [
            {
                "case": outcome.case.label,
                "world": outcome.case.world,
                "scenario": document_digest(outcome.case.document),
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


def keep(result: RowResult, made: Made, folder: Path, *, spare_fuller: bool) -> bool:
    """Write a row's files; False when there was nothing to write, or `spare_fuller` and what is there says more of the
    same scenarios. A fuller result of other scenarios, which the row has no longer, gives way, and a note says so.

    OSError when they cannot be written."""
    if not result.outcomes:
        return False
    path = folder / f"{result.row.id}.json"
    text = json.dumps(details(result, made), indent=1) + "\n"
    fuller = _fuller(path, parse_kept(text, path.name)) if spare_fuller else None
    has_changed = fuller is not None and standing(fuller, result.row).state == "scenario changed"
    if fuller is not None and not has_changed:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if has_changed:
        result.notes.append("takes the place of a fuller result, which was not of today's scenarios")
    try:
        figure = draw(result)
    except ValueError as error:
        result.notes.append(f"no figure: {error}")
    else:
        (folder / f"{result.row.id}.svg").write_text(figure, encoding="utf-8")
    return True


def _fuller(path: Path, new: Kept) -> Kept | None:
    """The kept result if it comes from longer or more runs, or more cases, or without failed runs."""
    try:
        kept = read_kept(path)
    except (OSError, KeptError):
        return None
    return kept if kept is not None and kept.fullness > new.fullness else None


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _interval(estimate: Estimate) -> list[float] | None:
    bounds = [estimate.low, estimate.high]
    return bounds if all(math.isfinite(bound) for bound in bounds) else None

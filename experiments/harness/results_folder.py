"""Results of rows as files: ROW.json with the verdict and every run's measurements."""

import functools
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from experiments.harness.kept import Kept, KeptError, KeptRow, kept_digest, kept_result, parse_kept, read_kept, standing
from experiments.harness.origin import Made
from experiments.harness.reproduce import RowResult
from experiments.harness.row import Outcome, rounded
from experiments.harness.statistics import Estimate

RESULTS = Path(__file__).parents[1] / "results"
"""The kept results, which the documentation shows."""


_VERDICT: Final = ("measured", "interval", "unit", "holds", "where")
"""Fields of a result that judging it gives."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A kept result that was judged anew."""

    row_id: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    """The verdict's fields."""

    def __str__(self) -> str:
        return f"{self.row_id}: {_said(self.before)} -> {_said(self.after)}"


def _said(verdict: Mapping[str, Any]) -> str:
    number = "nothing" if verdict["measured"] is None else f"{verdict['measured']:.4g} {verdict['unit']}".strip()
    return f"{'holds' if verdict['holds'] else 'does not hold'}, {number} ({verdict['where']})"


def summary(result: RowResult) -> dict[str, Any]:
    """One row of `--json`. `interval` is null when it has no bounds; `measured` when nothing could be judged."""
    judgement = result.judgement
    return {
        "row": result.row.id,
        "paper": result.row.value,
        "measured": None if judgement is None else _number(judgement.measured.mean),
        "interval": None if judgement is None else _interval(judgement.measured),
        "unit": result.row.unit_of("" if judgement is None else judgement.quantity),
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
        "cases": [_case(outcomes, made.world) for _, outcomes in groupby(result.outcomes, _key)],
    }


def _key(outcome: Outcome) -> tuple[object, ...]:
    """What the quantities of a case have in common."""
    case = outcome.case
    return case.label, case.world, kept_digest(case.document)


def _case(outcomes: Iterable[Outcome], world_of_all: str | None) -> dict[str, Any]:
    """The quantities of a case, of each the values of all runs, and what it is held against where that is known."""
    quantities = list(outcomes)
    label, world, digest = _key(quantities[0])
    references = {one.quantity: one.reference for one in quantities if one.reference is not None}
    return {
        "case": label,
        **({} if world == world_of_all else {"world": world}),
        "scenario": digest,
        **({"references": references} if references else {}),
        "values": {
            one.quantity: [value if math.isfinite(value) else None for value in one.values] for one in quantities
        },
    }


def keep(result: RowResult, made: Made, folder: Path, *, spare_fuller: bool) -> bool:
    """Write a row's file; False when there was nothing to write, or `spare_fuller` and what is there says more of the
    same scenarios. A fuller result of other scenarios, which the row has no longer, gives way, and a note says so.

    OSError when it cannot be written."""
    if not result.outcomes:
        return False
    path = folder / f"{result.row.id}.json"
    text = _as_text(details(result, made))
    fuller = _fuller(path, parse_kept(text, path.name)) if spare_fuller else None
    has_changed = fuller is not None and standing(fuller, result.row).state == "scenario changed"
    if fuller is not None and not has_changed:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if has_changed:
        result.notes.append("takes the place of a fuller result, which was not of today's scenarios")
    return True


def judge_anew(entry: KeptRow, folder: Path) -> Judged:
    """Judge a kept result by its row's relation of today, from the values that it has, and write the verdict, nothing
    else, into its file.

    KeptError when it cannot be judged; OSError when it cannot be read or written."""
    path = folder / f"{entry.row.id}.json"
    result = kept_result(entry)
    text = path.read_text(encoding="utf-8")
    content = json.loads(text)
    before = entry.kept.model_dump(include=set(_VERDICT)) if entry.kept is not None else {}
    fresh = {**summary(result), "where": "" if result.judgement is None else result.judgement.where}
    content |= {name: fresh[name] for name in _VERDICT}
    if (judged := _as_text(content)) != text:
        path.write_text(judged, encoding="utf-8")
    return Judged(entry.row.id, before, {name: fresh[name] for name in _VERDICT})


def _fuller(path: Path, new: Kept) -> Kept | None:
    """The kept result if it comes from longer or more runs, or more cases, or without failed runs."""
    try:
        kept = read_kept(path)
    except (OSError, KeptError):
        return None
    return kept if kept is not None and kept.fullness > new.fullness else None


def _as_text(content: Mapping[str, Any]) -> str:
    """A line for each field, and for each case, without spaces: cases are most of it."""
    tight = functools.partial(json.dumps, separators=(",", ":"))
    fields = [f" {tight(name)}: {tight(value)}" for name, value in content.items() if name != "cases"]
    cases = ",\n".join(tight(case) for case in content["cases"])
    return "{\n" + ",\n".join([*fields, f' "cases": [\n{cases}\n ]']) + "\n}\n"


def _number(value: float) -> float | None:
    return rounded(value) if math.isfinite(value) else None


def _interval(estimate: Estimate) -> list[float] | None:
    bounds = [estimate.low, estimate.high]
    return [rounded(bound) for bound in bounds] if all(math.isfinite(bound) for bound in bounds) else None

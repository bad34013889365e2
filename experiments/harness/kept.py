"""Results that were kept, and whether they are of the scenarios that the rows have today."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, Field, ValidationError, model_validator

from experiments.harness.origin import Made
from experiments.harness.reproduce import Options, RowResult
from experiments.harness.row import Outcome, Row, document_digest
from experiments.harness.runs import World

State: TypeAlias = Literal["current", "scenario changed", "unknown"]
"""Every document is today's; one is not; made before digests were kept."""


_DIGITS: Final = 8
"""Of a document's digest: it is held against one other, of the same case (ours)."""


def kept_digest(document: Mapping[str, Any]) -> str:
    """What a file has of a case's document."""
    return document_digest(document)[:_DIGITS]


class KeptCase(BaseModel):
    """One quantity of a case."""

    case: str
    world: World
    scenario: Annotated[str, AfterValidator(lambda digest: digest[:_DIGITS])] | None = None
    """As `kept_digest` has it; None in an older file, and more digits in some."""
    quantity: str
    reference: float | None = None
    values: list[float | None]
    """Of each run; None is no number."""


class Kept(BaseModel):
    """What is read again of a row's ROW.json."""

    quick: bool
    runs: int
    """Of the case that has fewest."""
    holds: bool
    measured: float | None = None
    interval: Annotated[list[float], Field(min_length=2, max_length=2)] | None = None
    unit: str = ""
    where: str = ""
    notes: list[str]
    made: Made = Made()
    cases: list[KeptCase]

    @model_validator(mode="before")
    @classmethod
    def _by_quantity(cls, file: Any) -> Any:
        """The file has all quantities of a case in one line; an older one has a line for each. A case without a world
        is of the one that all are of."""
        if not isinstance(file, dict) or not isinstance(cases := file.get("cases"), list):
            return file
        made = file.get("made")
        of_all: dict[str, Any] = {"world": made.get("world")} if isinstance(made, dict) else {}
        return {**file, "cases": [one for case in cases for one in _quantities(case, of_all)]}

    @property
    def fullness(self) -> tuple[bool, bool, int, int]:
        """Greater when it comes from longer or more runs, or more cases, or without failed runs."""
        return not self.quick, not self.notes, len(self.cases), self.runs


def _quantities(case: Any, of_all: dict[str, Any]) -> list[Any]:
    """A case of a file, once for each of its quantities, with what is said `of_all` cases. Whether it is one is checked
    later."""
    if not isinstance(case, dict):
        return [case]
    case = of_all | case
    if not isinstance(case.get("values"), dict):
        return [case]
    references = case.get("references")
    of = references.get if isinstance(references, dict) else {}.get
    return [
        {**case, "quantity": name, "values": found, "reference": of(name)} for name, found in case["values"].items()
    ]


class KeptError(ValueError):
    """A file that holds no row's result; one line for the user."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What today's row says of a kept result."""

    state: State
    changed: Sequence[str] = ()
    """Labels of the cases whose documents are others, or that only one of the two has."""


def read_kept(path: Path) -> Kept | None:
    """A row's kept result; None when there is no file. KeptError, OSError."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    return parse_kept(text, str(path))


def parse_kept(text: str | bytes, name: str) -> Kept:
    """The content of a file called `name`. KeptError."""
    try:
        return Kept.model_validate_json(text)
    except ValidationError as error:
        raise KeptError(f"{name}: not a row's result") from error


def standing(kept: Kept, row: Row) -> Standing:
    """Whether the documents are those of today's row, full or quick as the result is.

    A case that is not among the kept ones counts as changed, unless the result has notes, for its runs may have failed.
    """
    was: dict[tuple[str, str], set[str | None]] = {}
    for one in kept.cases:
        was.setdefault((one.case, one.world), set()).add(one.scenario)
    if all(digests == {None} for digests in was.values()):
        return Standing("unknown")
    cases = () if row.experiment is None else row.experiment.cases(kept.quick)
    now = {(case.label, case.world): kept_digest(case.document) for case in cases}
    changed = [key for key, digests in was.items() if key not in now or digests - {now[key], None}]
    if not kept.notes:
        changed += [key for key in now if key not in was]
    if changed:
        return Standing("scenario changed", [label for label, _ in changed])
    return Standing("unknown" if any(None in digests for digests in was.values()) else "current")


@dataclass(frozen=True, slots=True)
class KeptRow:
    """A row with what is kept of it."""

    row: Row
    kept: Kept | None = None
    standing: Standing | None = None
    """None when nothing is kept, or it cannot be read."""
    problem: str = ""
    """Why it cannot be read."""

    def as_json(self) -> dict[str, Any]:
        """An element of `--kept --json`; null is what is not known."""
        made = Made() if self.kept is None else self.kept.made
        return {
            "row": self.row.id,
            "kept": self.kept is not None,
            "made": made.model_dump(),
            "runs": None if self.kept is None else self.kept.runs,
            "quick": None if self.kept is None else self.kept.quick,
            "holds": None if self.kept is None else self.kept.holds,
            "scenario": None if self.standing is None else self.standing.state,
            "changed": [] if self.standing is None else list(self.standing.changed),
        }


def kept_rows(rows: Sequence[Row], folder: Path) -> list[KeptRow]:
    """What a folder has of each row."""
    return [_kept_row(row, folder / f"{row.id}.json") for row in rows]


def kept_result(entry: KeptRow, *, of_today: bool = True) -> RowResult:
    """A kept result as if it had just been found, judged by the row's relation of today. KeptError when it has cases
    that the row has no longer or, if it must be `of_today`, is of other scenarios, or not of whole runs."""
    row, kept = entry.row, entry.kept
    if kept is None or entry.standing is None or row.experiment is None:
        raise KeptError(entry.problem or f"{row.id}: nothing kept")
    if of_today and entry.standing.state == "scenario changed":
        raise KeptError(f"{row.id}: not of today's scenarios")
    if of_today and kept.notes:
        raise KeptError(f"{row.id}: not all runs are there: {'; '.join(kept.notes)}")
    cases = {(case.label, case.world): case for case in row.experiment.cases(kept.quick)}
    result = RowResult(row, Options(quick=kept.quick, seeds=kept.runs))
    for one in kept.cases:
        case = cases.get((one.case, one.world))
        if case is None:
            raise KeptError(f"{row.id}: it has no case {one.case} today")
        references = {} if one.reference is None else {one.quantity: one.reference}
        values = [math.nan if value is None else value for value in one.values]
        result.outcomes.append(Outcome(replace(case, references=references), one.quantity, values))
    try:
        result.judgement = row.experiment.relation.judge(result.outcomes)
    except ValueError as error:
        raise KeptError(f"{row.id}: {error}") from error
    return result


def _kept_row(row: Row, path: Path) -> KeptRow:
    try:
        kept = read_kept(path)
    except KeptError as error:
        return KeptRow(row, problem=str(error))
    except OSError as error:
        return KeptRow(row, problem=f"{path}: {error.strerror or error}")
    return KeptRow(row) if kept is None else KeptRow(row, kept, standing(kept, row))

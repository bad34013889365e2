"""Writes the kept results' figures into the documents: `python -m experiments.figures.documents`.

A page has marks, between which its tables are made anew from experiments/results/ROW.json (`end` is a mark of its own):

    <!-- figures: rows PAPER -->                   the verdict on each row of a paper, those with switches' help below
    <!-- figures: cases ROW... [| quantity...] --> a line for each case, a column for each quantity
    <!-- figures: quantities ROW... [| ...] -->    a line for each quantity, a column for each case
    <!-- figures: grid ROW... [| quantity...] -->  cases called `a, b`, or `a b`: a line for each a, a column for each b
    <!-- figures: firsts ROW... | CONTENDER[; not CONTENDER...] -->
                                                  one of the comparison's contenders beside the best of the others
    <!-- figures: survey SEED... -->               verdicts on protocols, from experiments/results/survey/SEED.json
    <!-- figures: goals SEED... -->                the same survey's networks that the protocols' goals name
    <!-- figures: peers NAME -->                   other programs beside ours, from experiments/results/peers/NAME.json
    <!-- figures: bench NAME -->                   what a benchmark measured, from experiments/results/bench/NAME.json
    <!-- end -->

Quantities are separated by `;`. A cell is a mean over the runs, half of its 95 % interval, and in brackets what theory
or the paper says.
"""

import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from pydantic import ValidationError

from experiments.figures.bars import half_width
from experiments.figures.bench import bench_lines
from experiments.figures.firsts import Measured, firsts_lines
from experiments.figures.peers import peers_lines
from experiments.figures.survey import goals_lines, survey_lines
from experiments.harness.kept import Kept, KeptError, read_kept
from experiments.harness.printing import format_estimate
from experiments.harness.results_folder import RESULTS
from experiments.harness.row import Bars, Figure, Row, with_assistance
from experiments.harness.statistics import Estimate, mean_interval
from experiments.rows import ROWS, UnknownNameError, select

ROOT: Final = Path(__file__).parents[2]
PAGES: Final = ("README.md", "docs/*.md", "experiments/results/NOTES.md")

_DIGITS: Final = 3
"""Significant ones of a mean; more would not be there again with other seeds."""
_MARK: Final = re.compile(r"<!-- figures: (?P<layout>\w+) (?P<rows>[^|]*?)(?:\|(?P<quantities>.*?))? -->")
_END: Final = "<!-- end -->"


class DocumentError(ValueError):
    """A page's mark that cannot be filled; one line for the user."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """One quantity of one case."""

    row: Row
    case: str
    quantity: str
    estimate: Estimate
    text: str

    @property
    def label(self) -> str:
        """The quantity as the figure's axis calls it."""
        figure = None if self.row.experiment is None else self.row.experiment.figure
        if isinstance(figure, Figure):
            return figure.y_labels.get(self.quantity, self.quantity)
        if isinstance(figure, Bars):
            return figure.x_labels.get(self.quantity, self.quantity)
        return self.quantity

    def name(self, text: str) -> str:
        """What is said of this cell's row: with switches' help or without."""
        return text if self.row.id in ROWS else f"{text}, with switches"


def fill(text: str, folder: Path = RESULTS) -> str:
    """A page with its tables as the results in `folder` have them. DocumentError, OSError."""
    filled: list[str] = []
    lines = iter(text.splitlines())
    for line in lines:
        filled.append(line)
        mark = _MARK.fullmatch(line)
        if mark is not None:
            _skip_to_end(lines, line)
            filled += ["", *_table(mark, folder), "", _END]
        elif line.startswith(("<!-- figures", _END)):
            raise DocumentError(f"{line}: no such mark, or one without its beginning")
    return "\n".join(filled) + "\n"


def write(root: Path = ROOT) -> list[Path]:
    """Fill all pages; those that changed. DocumentError with the page's name, OSError."""
    changed = []
    for path in pages(root):
        text = path.read_text(encoding="utf-8")
        try:
            filled = fill(text)
        except DocumentError as error:
            raise DocumentError(f"{path}: {error}") from error
        if filled != text:
            path.write_text(filled, encoding="utf-8")
            changed.append(path)
    return changed


def pages(root: Path = ROOT) -> list[Path]:
    """All that may have marks."""
    return [path for pattern in PAGES for path in sorted(root.glob(pattern))]


def _skip_to_end(lines: Iterator[str], mark: str) -> None:
    for line in lines:
        if line == _END:
            return
        if line.startswith("<!-- figures"):
            break
    raise DocumentError(f"{mark}: without its {_END}")


def _table(mark: re.Match[str], folder: Path) -> list[str]:
    names = mark["rows"].split()
    if mark["layout"] in _SURVEYS:
        read, folder = _SURVEYS[mark["layout"]], folder / "survey"
        tables = [_lines(folder / f"{name}.json", read, "a survey's verdicts") for name in names]
        return [line for table in tables for line in ("", *_markdown(table))][1:]
    if mark["layout"] in _MEASURED:
        read, what = _MEASURED[mark["layout"]]
        paths = [folder / mark["layout"] / f"{name}.json" for name in names]
        return [line for path in paths for line in _markdown(_lines(path, read, what))]
    wanted = [name.strip() for name in (mark["quantities"] or "").split(";") if name.strip()]
    try:
        rows = select(names)
    except UnknownNameError as error:
        raise DocumentError(f"{mark[0]}: {error}") from error
    if mark["layout"] == "rows":
        return _verdicts(with_assistance(rows), folder)
    if mark["layout"] == "firsts" and wanted:
        return _firsts(mark[0], list(_cells(rows, [], folder)), wanted)
    cells = list(_cells(rows, wanted, folder))
    missing = set(wanted) - {cell.quantity for cell in cells}
    if missing or not cells:
        raise DocumentError(f"{mark[0]}: no quantity {', '.join(sorted(missing))}")
    if mark["layout"] not in _LAYOUTS:
        raise DocumentError(f"{mark[0]}: no such layout")
    return _pivot(cells, *_LAYOUTS[mark["layout"]](cells))


_SURVEYS: Final[Mapping[str, Callable[[bytes], list[list[str]]]]] = {"survey": survey_lines, "goals": goals_lines}
_MEASURED: Final[Mapping[str, tuple[Callable[[bytes], list[list[str]]], str]]] = {
    "peers": (peers_lines, "what compare-peers has kept"),
    "bench": (bench_lines, "what a benchmark prints"),
}

_Layout: TypeAlias = tuple[str, list[tuple[str, str]]]
"""A table's corner, and line and column of each cell."""


def _cases(cells: Sequence[_Cell]) -> _Layout:
    return "case", [(cell.case, cell.name(cell.label)) for cell in cells]


def _quantities(cells: Sequence[_Cell]) -> _Layout:
    return "quantity", [(cell.label, cell.name(cell.case)) for cell in cells]


def _grid(cells: Sequence[_Cell]) -> _Layout:
    parts = [_split(cell.case) for cell in cells]
    if len({cell.quantity for cell in cells}) == 1:
        places = [(cell.name(line), column) for cell, (line, column) in zip(cells, parts, strict=True)]
        return cells[0].label, places
    return "", [(cell.name(f"{line}, {cell.label}"), column) for cell, (line, column) in zip(cells, parts, strict=True)]


_LAYOUTS: Final[Mapping[str, Callable[[Sequence[_Cell]], _Layout]]] = {
    "cases": _cases,
    "quantities": _quantities,
    "grid": _grid,
}


def _verdicts(rows: Sequence[Row], folder: Path) -> list[str]:
    lines = [["row", "what counts", "measured, 95 % interval", "runs", "holds"]]
    for row in rows:
        result = _read(row, folder)
        if result is None:
            if row.id in ROWS:
                lines.append([f"`{row.id}`", row.counts, "not kept", "", ""])
            continue
        low, high = result.interval or (-math.inf, math.inf)
        measured = "" if result.measured is None else format_estimate(Estimate(result.measured, low, high))
        where = f" ({result.where})" if result.where else ""
        runs = f"{result.runs}, quick" if result.quick else str(result.runs)
        verdict = "yes" if result.holds else "**no**"
        lines.append([f"`{row.id}`", row.counts, f"{measured} {result.unit}".strip() + where, runs, verdict])
    return _markdown(lines)


def _firsts(mark: str, cells: Sequence[_Cell], names: Sequence[str]) -> list[str]:
    measured = [Measured(one.row.id, one.quantity, one.label, one.case, one.estimate, one.text) for one in cells]
    try:
        return _markdown(firsts_lines(measured, names[0], [name.removeprefix("not ") for name in names[1:]]))
    except ValueError as error:
        raise DocumentError(f"{mark}: {error}") from error


def _cells(rows: Sequence[Row], wanted: Sequence[str], folder: Path) -> Iterator[_Cell]:
    for row in rows:
        result = _read(row, folder)
        if result is None:
            raise DocumentError(f"{row.id}: no result in {folder}")
        for case in result.cases:
            if not wanted or case.quantity in wanted:
                values = [math.nan if value is None else value for value in case.values]
                estimate = mean_interval(values)
                yield _Cell(row, case.case, case.quantity, estimate, _number(estimate, case.reference))


def _lines(path: Path, lines: Callable[[bytes], list[list[str]]], what: str) -> list[list[str]]:
    try:
        return lines(path.read_bytes())
    except FileNotFoundError:
        raise DocumentError(f"{path.stem}: no result in {path.parent}") from None
    except ValidationError as error:
        raise DocumentError(f"{path}: not {what}") from error


def _read(row: Row, folder: Path) -> Kept | None:
    try:
        return read_kept(folder / f"{row.id}.json")
    except KeptError as error:
        raise DocumentError(str(error)) from error


def _split(case: str) -> tuple[str, str]:
    before, comma, after = case.rpartition(", ")
    if comma:
        return before, after
    first, _, rest = case.partition(" ")
    return first, rest


def _pivot(cells: Sequence[_Cell], corner: str, places: Sequence[tuple[str, str]]) -> list[str]:
    found = {place: cell.text for place, cell in zip(places, cells, strict=True)}
    columns = list(dict.fromkeys(column for _, column in places))
    lines = [[corner, *columns]]
    for line in dict.fromkeys(line for line, _ in places):
        lines.append([line, *(found.get((line, column), "") for column in columns)])
    return _markdown(lines)


def _number(estimate: Estimate, reference: float | None) -> str:
    half = half_width(estimate)
    decimals = _decimals(estimate.mean, exact=half == 0)
    text = f"{estimate.mean:,.{decimals}f}"
    if round(half, decimals):
        text += f" ± {half:,.{decimals}f}"
    return text if reference is None else f"{text} ({reference:,.{_decimals(reference, exact=True)}f})"


def _decimals(value: float, *, exact: bool) -> int:
    if value == 0 or (exact and value == round(value)):
        return 0
    return max(0, _DIGITS - 1 - math.floor(math.log10(abs(value))))


def _markdown(lines: Sequence[Sequence[str]]) -> list[str]:
    head, *rest = [" | ".join(cell.replace("|", r"\|") for cell in cells) for cells in lines]
    return [f"| {head} |", "|" + "-|" * len(lines[0]), *(f"| {line} |" for line in rest)]


def main() -> None:
    """Fill the pages and name those that changed; exit status 2 when a mark cannot be filled."""
    try:
        for path in write():
            print(path.relative_to(ROOT))
    except (DocumentError, OSError) as error:
        sys.exit(f"documents: {error}")


if __name__ == "__main__":
    main()

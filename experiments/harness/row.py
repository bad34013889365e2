"""What a row is: scenarios, what is measured in their runs, and a relation that the measurements must satisfy."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeAlias

from experiments.harness.runs import Finished, World
from experiments.harness.statistics import Estimate

Document: TypeAlias = Mapping[str, Any]
"""A scenario as its YAML file would have it; in the world `formula` whatever the measure wants to be told."""


_DIGITS = 16
"""Enough for some hundreds of scenarios (ours)."""


def document_digest(document: Mapping[str, Any]) -> str:
    """The first 64 bits of SHA-256, in hex digits, of the document as canonical JSON: ASCII, keys sorted, no spaces. It
    tells a kept result from one of another scenario.

    `nodes` are a list of [name, node] in their order there, which is what gives hosts their addresses; no other mapping
    of a scenario has an order that counts."""
    nodes = document.get("nodes")
    content = {**document, "nodes": list(nodes.items())} if isinstance(nodes, Mapping) else document
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:_DIGITS]


LEAST_RUNS: Mapping[World, int] = {"sim": 5, "emu": 3, "lan": 3, "formula": 5}
"""A row is reproduced when its relation holds for the mean of so many runs."""
QUICK_RUNS: Mapping[World, int] = {"sim": 1, "emu": 1, "lan": 1, "formula": 5}
"""Of a quick row, unless its relation needs more."""


_KEPT_DIGITS = 5
"""Of measurements: a hundredth of what runs with other seeds differ by, or less (ours)."""


def rounded(value: float) -> float:
    """A number as it is judged and kept."""
    return float(f"{value:.{_KEPT_DIGITS}g}")


@dataclass(frozen=True, slots=True)
class Case:
    """One point of a figure, or one line of a table: a scenario that is run with several seeds."""

    label: str
    document: Document
    world: World = "sim"
    x: float = 0.0
    """Where it stands on the figure's first axis."""
    references: Mapping[str, float] = field(default_factory=dict)
    """Quantity -> what theory or the paper says, in the unit of the measurement."""
    series: str = ""
    """Which line of the figure it is a point of, where there are several."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A line over time from one run."""

    label: str
    points: Sequence[tuple[float, float]]
    is_reference: bool = False
    """Drawn dashed: what the paper or theory says."""
    marker: str = ""
    """Points of this kind (matplotlib's) instead of a line."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One quantity of one case, measured in each run; never empty."""

    case: Case
    quantity: str
    values: Sequence[float]

    @property
    def reference(self) -> float | None:
        """What theory or the paper says."""
        return self.case.references.get(self.quantity)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a relation holds, and by how much: the measurement that comes closest to breaking it, or breaks it."""

    holds: bool
    measured: Estimate
    quantity: str
    """Which one of a run's."""
    where: str
    """Quantity and case, for a person."""
    margin: float
    """How far from breaking, as a share of the nearest bound, so that relations can be compared; below 0 when broken.
    A bound of 0 is all or nothing: 1 or -1. An order's is the share of the difference that is beyond doubt."""


class Relation(Protocol):
    """What the outcomes of a row must satisfy."""

    def judge(self, outcomes: Sequence[Outcome]) -> Judgement:
        """ValueError, with the reason, when the outcomes do not suffice for a verdict."""


def least_runs(relation: Relation) -> int:
    """Of each case, without which a relation gives no verdict: one, unless its `least_runs` says more."""
    return int(getattr(relation, "least_runs", 1))


@dataclass(frozen=True, slots=True)
class Figure:
    """How the measurements are drawn."""

    x_label: str
    y_labels: Mapping[str, str]
    """Quantity -> axis label; each quantity has axes of its own."""
    reference_label: str = ""
    log_x: bool = False
    log_y: bool = False
    places: Sequence[str] = ()
    """What stands at x = 0, 1, .. when these are no numbers: points are then not joined by lines."""


@dataclass(frozen=True, slots=True)
class Bars:
    """How cases are drawn that stand in no order: a bar for each, a column of bars for each quantity."""

    x_labels: Mapping[str, str]
    """Quantity -> axis label."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """How curves over time are drawn: those of the first run of each case, each case with axes of its own."""

    y_label: str
    x_label: str = "time, s"
    log_x: bool = False
    log_y: bool = False
    by_place: bool = False
    """Cases at the same `x` share their axes."""


@dataclass(frozen=True, slots=True)
class Plane:
    """How points of a plane are drawn, all cases in one picture: `arrows` from each curve's first point to its last, or
    the `density` of all points, darker where there are more. Curves that are references are lines."""

    kind: Literal["arrows", "density"]
    x_label: str
    y_label: str


Drawing: TypeAlias = Figure | Bars | Timeline | Plane


@dataclass(frozen=True, slots=True)
class Assisted:
    """The same experiment with help of the switches, which no paper has."""

    document: Callable[[Document], Document]
    """A case's scenario with assistance."""
    relation: Relation | None = None
    """Where what counts is something else than without; None: the same."""
    counts: str = ""
    """That in words."""
    can_help: Callable[[Case], bool] = lambda case: True
    """Whether a case can be run with help: its network may have more switches than a controller looks after."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """How a row is run and judged."""

    cases: Callable[[bool], Sequence[Case]]
    """The cases; True asks for shorter runs."""
    measure: Callable[[Finished], Mapping[str, float]]
    """Quantity -> value of one run. ValueError, with the reason, when the run does not give it."""
    relation: Relation
    figure: Drawing
    curves: Callable[[Finished], Sequence[Curve]] | None = None
    """What a Timeline or a Plane draws of one run. ValueError, with the reason, when the run does not give it."""
    assisted: Assisted | None = None
    """None: switches cannot help here."""


RowWorld: TypeAlias = Literal["sim", "emu", "sim, emu", "lan", "formulas"]


@dataclass(frozen=True, slots=True)
class Row:
    """One experiment of shared interest: what a paper found, and how to find it again."""

    id: str
    paper: str
    world: RowWorld
    title: str
    """Setting in a few words."""
    value: str
    """What the paper (or theory) says."""
    counts: str
    """The relation in words."""
    unit: str | Mapping[str, str] = ""
    """Of what is shown as measured; by quantity, where relations are about several."""
    experiment: Experiment | None = None
    missing: str = ""
    """What has to exist before the row can be built; empty when it is."""

    def unit_of(self, quantity: str) -> str:
        """The unit of what is shown of a quantity."""
        return self.unit if isinstance(self.unit, str) else self.unit.get(quantity, "")

    def __post_init__(self) -> None:
        if (self.experiment is None) != bool(self.missing):
            raise ValueError(f"{self.id}: a row has either an experiment or something that is missing for it")


# --- with help of the switches, which no paper has

SUFFIX = "-assist"
"""Of the id, and of the files, of a row with help of the switches."""


def with_assistance(rows: Sequence[Row]) -> list[Row]:
    """The rows, each that switches can help followed by itself with their help, once."""
    found: dict[str, Row] = {}
    for row in rows:
        found.setdefault(row.id, row)
        if row.experiment is not None and row.experiment.assisted is not None:
            found.setdefault(row.id + SUFFIX, _assisted(row, row.experiment, row.experiment.assisted))
    return list(found.values())


def _assisted(row: Row, experiment: Experiment, how: Assisted) -> Row:
    def cases(quick: bool) -> Sequence[Case]:
        helped = filter(how.can_help, experiment.cases(quick))
        return [replace(case, document=how.document(case.document)) for case in helped]

    return replace(
        row,
        id=row.id + SUFFIX,
        title=f"{row.title}; with help of the switches",
        counts=how.counts or row.counts,
        experiment=replace(experiment, cases=cases, relation=how.relation or experiment.relation, assisted=None),
    )

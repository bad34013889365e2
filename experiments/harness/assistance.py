"""Rows a second time, with help of the switches, which no paper has."""

from collections.abc import Sequence
from dataclasses import replace

from experiments.harness.row import Assisted, Case, Experiment, Row

SUFFIX = "-assist"
"""Of such a row's id, and of its files."""


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

"""What a benchmark measures beside what it should reach; and what `canopy bench NAME --json` has printed, kept in
results/bench/NAME.json, as a table for a document."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number and what it should be; `peer` is for other programs, none of which was measured."""

    name: str
    value: float
    unit: str
    target: float
    at_most: bool = False
    """Whether the target is an upper bound."""
    peer: str | None = None
    peer_value: float | None = None

    @property
    def is_met(self) -> bool:
        """Whether the target is reached."""
        return self.value <= self.target if self.at_most else self.value >= self.target


class _Kept(BaseModel):
    """One run on a quiet machine."""

    figures: Sequence[Figure]


def bench_lines(text: str | bytes) -> list[list[str]]:
    """The table: a line for each figure, with what it should be and what another program has. ValidationError."""
    lines = [["", "measured", "goal", "reached", "others"]]
    for figure in _Kept.model_validate_json(text).figures:
        bound = "at most" if figure.at_most else "at least"
        peer = "" if figure.peer_value is None else f"{figure.peer} {figure.peer_value:,.0f}"
        value = f"{figure.value:,.0f}" if figure.value >= 100 else f"{figure.value:.3g}"
        goal = f"{bound} {figure.target:,.0f}"
        lines.append([figure.name, f"{value} {figure.unit}", goal, "yes" if figure.is_met else "**no**", peer])
    return lines

"""What a benchmark measures beside what it should reach; and what `canopy bench NAME --json` has printed, kept in
results/bench/NAME.json, as a table for a document."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number and what it should be; `peer_value` is another program's, where that was measured."""

    name: str
    value: float
    unit: str
    target: float | None = None
    at_most: bool = False
    """Whether the target is an upper bound."""
    peer: str | None = None
    peer_value: float | None = None
    ratio_target: float | None = None
    """So many times the peer's value it should be, or with `at_most` no more."""

    @property
    def ratio(self) -> float | None:
        """Times the peer's value."""
        return self.value / self.peer_value if self.peer_value else None

    @property
    def is_met(self) -> bool | None:
        """Whether it reaches its targets, as far as they were measured; None when there is none."""
        pairs = ((self.value, self.target), (self.ratio, self.ratio_target))
        wanted = [(value, target) for value, target in pairs if value is not None and target is not None]
        if not wanted:
            return None
        return all(value <= target if self.at_most else value >= target for value, target in wanted)

    @property
    def goal(self) -> str:
        """What it should be, as it is printed; empty when that is left open."""
        bound = "at most" if self.at_most else "at least"
        goals = [format_value(self.target)] if self.target is not None else []
        if self.ratio_target is not None:
            unknown = " (not measured)" if self.ratio is None else ""
            goals.append(f"{format_value(self.ratio_target)} times {self.peer or 'the other'}'s{unknown}")
        return f"{bound} {', '.join(goals)}" if goals else ""


def format_value(value: float) -> str:
    """Three digits of what is below 100, no fraction above."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


class _Kept(BaseModel):
    """One run on a quiet machine."""

    figures: Sequence[Figure]


def bench_lines(text: str | bytes) -> list[list[str]]:
    """The table: a line for each figure, with what it should be and what another program has. ValidationError."""
    reached = {True: "yes", False: "**no**", None: ""}
    lines = [["", "measured", "goal", "reached", "others"]]
    for figure in _Kept.model_validate_json(text).figures:
        peer = "" if figure.peer_value is None else f"{figure.peer} {format_value(figure.peer_value)}"
        value = f"{format_value(figure.value)} {figure.unit}"
        lines.append([figure.name, value, figure.goal, reached[figure.is_met], peer])
    if not any(line[-1] for line in lines[1:]):
        lines = [line[:-1] for line in lines]
    return lines

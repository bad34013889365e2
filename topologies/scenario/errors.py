"""What is wrong with a scenario, and where: file, line and field."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from engine.command.lines import visible

FieldPath: TypeAlias = tuple[str | int, ...]
"""Keys and list indices from the document's root, as in `("links", 2, "rate")`."""

Finding: TypeAlias = tuple[FieldPath, str]
"""A field, and what is wrong with it."""


def format_field(path: FieldPath) -> str:
    """`links[2].rate` for ("links", 2, "rate")."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake."""

    file: str
    line: int | None
    """From 1; None when the file could not be read at all."""
    path: FieldPath
    message: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        field = f"{format_field(self.path)}: " if self.path else ""
        return visible(f"{place}: {field}{self.message}")


class ScenarioError(ValueError):
    """A scenario that cannot be used; `problems` is never empty and in the file's order."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: (problem.line or 0, format_field(problem.path))))
        super().__init__("\n".join(str(problem) for problem in self.problems))

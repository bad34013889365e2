"""Chooses sequences that together pass as many statements as all do, and leaves out of each what it does not need."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from canopy_engine import EngineError

from tests.p4src.bench.program import Program
from tests.p4src.bench.target import Embedded, Output
from tests.p4src.whole.generated.coverage import Statements
from tests.p4src.whole.generated.sequences import LONGEST_US, Step, take

PARTS: Final = 64
"""Parts of a sequence that are left out one by one at least."""
_LINES = 1_000_000


@dataclass(frozen=True)
class Reason:
    """Why a step is there: the statements that its packet passes first, and what left then."""

    statements: frozenset[int]
    outputs: list[Output]


@dataclass
class Chosen:
    """A sequence: where it comes from, its steps, and why some of them are there, by their place."""

    origin: str
    steps: list[Step]
    reasons: dict[int, Reason]


class Tracer:
    """Runs sequences on the interpreter and tells which statements packets pass."""

    def __init__(self, program: Program, statements: Statements) -> None:
        self.statements = statements
        self._marked = object.__new__(Program)
        self._marked.__dict__.update(program.__dict__, json=statements.json)

    def run(self, steps: Sequence[Step], only: Iterable[int] | None = None) -> dict[int, Reason] | None:
        """What each packet passes and becomes, by the place of its step (`only` these); None: one was refused."""
        wanted = None if only is None else set(only)
        passed = {}
        target = Embedded(self._marked, backend="interpreter")  # a reset would leave it its time
        target.advance(LONGEST_US)
        switch = target._switch
        for place, step in enumerate(steps):
            traced = step[0] == "send" and (wanted is None or place in wanted)
            switch.set_trace(_LINES if traced else 0)
            try:
                outputs = take(target, step)
            except EngineError:
                return None
            if traced:
                passed[place] = Reason(frozenset(self.statements.passed(switch.take_trace(_LINES))), outputs)
        return passed


def pick(tracer: Tracer, origin: str, steps: list[Step], known: set[int]) -> Chosen | None:
    """The part of a sequence that passes something new, which is then known; None if there is none."""
    reasons: dict[int, Reason] = {}
    for place, reason in (tracer.run(steps) or {}).items():
        if new := reason.statements - known:
            reasons[place] = Reason(frozenset(new), reason.outputs)
            known |= new
    return Chosen(origin, steps[: max(reasons) + 1], reasons) if reasons else None


def _single(steps: Sequence[Step], reasons: dict[int, Reason]) -> tuple[list[Step], dict[int, Reason]]:
    """With one group a step, so that each can be left out."""
    parts: list[Step] = []
    moved = {}
    for place, step in enumerate(steps):
        if place in reasons:
            moved[len(parts)] = reasons[place]
        if step[0] == "set_groups":
            parts.extend(["set_groups", {group: ports}] for group, ports in step[1].items())
        else:
            parts.append(step)
    return parts, moved


def reduced(tracer: Tracer, chosen: Chosen) -> Chosen:
    """The same without steps that nothing depends on: neither the statements, nor what leaves when they are passed."""
    steps, reasons = _single(chosen.steps, chosen.reasons)
    kept = list(range(len(steps)))
    size = max(1, len(kept) // 2)
    while True:
        start = 0
        while start < len(kept):
            out = {place for place in kept[start : start + size] if place not in reasons}
            trial = [place for place in kept if place not in out]
            if out and _holds(tracer, steps, trial, reasons):
                kept = trial
            else:
                start += size
        if size <= len(kept) // PARTS + 1:
            break
        size = max(1, size // 2)
    return Chosen(
        chosen.origin,
        [steps[place] for place in kept],
        {at: reasons[place] for at, place in enumerate(kept) if place in reasons},
    )


def _holds(tracer: Tracer, steps: list[Step], trial: list[int], reasons: dict[int, Reason]) -> bool:
    wanted = {at: reasons[place] for at, place in enumerate(trial) if place in reasons}
    passed = tracer.run([steps[place] for place in trial], wanted)
    return passed is not None and all(
        passed[at].statements >= reason.statements and passed[at].outputs == reason.outputs
        for at, reason in wanted.items()
    )


def needed(tracer: Tracer, all_chosen: Sequence[Chosen]) -> list[Chosen]:
    """Without sequences that pass nothing that the others do not, the first ones first."""
    passes = []
    for chosen in all_chosen:
        passed = tracer.run(chosen.steps) or {}
        passes.append({number for reason in passed.values() for number in reason.statements})
    times: dict[int, int] = {}
    for numbers in passes:
        for number in numbers:
            times[number] = times.get(number, 0) + 1
    kept = []
    for chosen, numbers in zip(all_chosen, passes, strict=True):
        if all(times[number] > 1 for number in numbers):
            for number in numbers:
                times[number] -= 1
        else:
            kept.append(chosen)
    return kept


def joined(steps: Sequence[Step]) -> list[Step]:
    """Neighbouring steps that set groups, or move time, as one."""
    out: list[Step] = []
    for step in steps:
        if out and step[0] == out[-1][0] == "set_groups":
            out[-1] = ["set_groups", {**out[-1][1], **step[1]}]
        elif out and step[0] == out[-1][0] == "advance":
            out[-1] = ["advance", out[-1][1] + step[1]]
        else:
            out.append(step)
    return out

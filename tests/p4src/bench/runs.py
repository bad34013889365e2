"""Random steps through a switch and a plain model of it: what the tests of merging and of suppression share."""

import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from hypothesis import HealthCheck, settings

from tests.p4src.bench.feedback import Bench
from tests.p4src.bench.histories import Histories, in_calm_stretches
from tests.p4src.bench.program import program
from tests.p4src.bench.target import Embedded, Target

RANDOM_STEPS = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Of hypothesis: a step takes a while."""


class Counting(Protocol):
    """A model, which counts what became of feedback, as the switch does."""

    outcomes: Counter[str]


Model = TypeVar("Model", bound=Counting)


class Run(ABC, Generic[Model]):
    """The same steps through a switch and a model."""

    def __init__(
        self, target: Target, model: Model, chooser: random.Random, switch_ports: frozenset[int] = frozenset()
    ) -> None:
        """`switch_ports` have a switch behind them."""
        self.target = target
        self.bench = Bench(target)
        self.bench.assist(switch_ports)
        self.histories = Histories(target, model, chooser)
        self.chooser = chooser
        target.advance(10_000)

    @abstractmethod
    def step(self) -> None:
        """One, of a random kind; what leaves the switch is what leaves the model."""

    def agree_for(self, steps: int) -> None:
        """And in the end both have counted the same."""
        for _ in range(steps):
            self.step()
        assert self.bench.outcomes() in [dict(model.outcomes) for model in self.histories.models]


Begin = Callable[[Target, random.Random], Run[Any]]


@dataclass(frozen=True)
class Modelled:
    """A protocol's feedback, of which there is a model."""

    begin: Callable[..., Run[Any]]
    outcomes: Set[str]
    """What becomes of it in some runs: random steps are no use if they leave a rule out."""
    runs: int
    steps: int
    """How many runs that are, and how long each."""
    starts: Sequence[int] = ()
    """The first packets' numbers, where `begin` is told one."""

    def begin_at(self, number: int) -> Begin:
        """A run that begins with one of the first packets, in turn."""
        if not self.starts:
            return self.begin
        return partial(self.begin, start=self.starts[number % len(self.starts)])


STARTS = (0, (1 << 32) - 30, (1 << 31) - 30)
"""First packets of runs that pass the end of the numbers, and its half."""


def agree_on_embedded(begin: Begin, seed: int, steps: int) -> None:
    """On the switch whose time is ours."""
    begin(Embedded(program()), random.Random(seed)).agree_for(steps)


def agree_on_any(begin: Begin, target: Target, seed: int) -> None:
    """On a switch whose time may be its own, in stretches so short that hardly any of the rules' times ends within."""
    in_calm_stretches(target, lambda steps: begin(target, random.Random(seed)).agree_for(steps))


def outcomes_of(begin: Begin, *, seeds: int, steps: int) -> set[str]:
    """What became of feedback in some runs."""
    seen: set[str] = set()
    for seed in range(seeds):
        run = begin(Embedded(program()), random.Random(seed))
        for _ in range(steps):
            run.step()
        seen |= set(run.histories.models[0].outcomes)
    return seen

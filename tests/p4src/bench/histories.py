"""Comparing a switch whose time is its own with a model whose time is told.

The switch's clock lies between two readings of ours: what leaves must be right for one of them. Later steps depend on
which: so several histories are followed, each of which explains all that has left so far.
"""

import copy
import random
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from tests.p4src.bench.target import Embedded, Target

HISTORIES = 32
"""So many are followed."""
CALM_S = 0.15
"""A stretch that took less saw none of the rules' times but the shortest."""
Model = TypeVar("Model")
Result = TypeVar("Result")


class Histories(Generic[Model]):
    """Models that explain what a switch did; one, where its time is ours."""

    def __init__(self, target: Target, model: Model, chooser: random.Random) -> None:
        self.models = [model]
        self._target = target
        self._chooser = chooser
        self._began = time.monotonic()

    def now(self) -> int:
        """Microseconds; on a switch whose time is its own, the machine's."""
        target = self._target
        return target.now_us if isinstance(target, Embedded) else int((time.monotonic() - self._began) * 1e6) + 1

    def told(self, step: Callable[[Model, int], object]) -> None:
        """Something that no output depends on happened."""
        for model in self.models:
            step(model, self.now())

    def compare(self, step: Callable[[Model, int], Result], really: Callable[[], Result]) -> None:
        """Does the switch do what a model does?"""
        if self._target.exact_time:
            expected = step(self.models[0], self.now())
            assert really() == expected
            return
        before = copy.deepcopy(self.models)
        sent_at = self.now()
        got = really()
        came_at = self.now()
        results = [(model, step(model, sent_at)) for model in before]
        results += [(model, step(model, came_at)) for model in self.models]
        self.models = [model for model, result in results if result == got]
        assert self.models, f"{got} and not one of {[result for _, result in results]}"
        if len(self.models) > HISTORIES:
            self.models = self._chooser.sample(self.models, HISTORIES)


def in_calm_stretches(target: Target, run: Callable[[int], None]) -> None:
    """Calls `run` with a number of steps; a machine that was too busy for that many gets fewer."""
    steps = 40
    while True:
        began = time.monotonic()
        try:
            run(steps)
            return
        except AssertionError:
            if target.exact_time or time.monotonic() - began < CALM_S or steps == 1:
                raise
        steps //= 2
        target.reset()

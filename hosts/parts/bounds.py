"""What the parameters of a protocol may be, said where each of them stands.

A field of a protocol's options is one of the functions below, with its default and its bounds; `check` holds all fields
of the options against theirs. What concerns several fields is checked by the options themselves.
"""

from abc import abstractmethod
from dataclasses import field, fields
from math import inf
from typing import Any, Final

LEAST_TIME_S: Final = 1e-9
"""Virtual time is in whole nanoseconds (docs/architecture.md): with a shorter wait it would stand still."""
LEAST_PERIOD_S: Final = 1e-3
"""Of what comes again and again by itself. A thousand times a second is more than any of it is good for (ours)."""
MOST_S: Final = 1e6
"""Eleven days (ours)."""
MOST: Final = 1e12
"""Of rates and other quantities (ours)."""

_KEY: Final = "bound"
UNIT: Final = "unit"
"""In a field's metadata, of a parameter whose name does not end with its unit."""


class Bound:
    """What one parameter may be."""

    @abstractmethod
    def fault(self, value: Any) -> str | None:
        """What is wrong with a value, as it goes on after "must"; None: nothing."""
        raise NotImplementedError


class _Time(Bound):
    def __init__(self, least: float, below: float, or_zero: bool) -> None:
        self._least = least
        self._below = below
        self._or_zero = or_zero

    def fault(self, value: Any) -> str | None:
        if self._or_zero and value == 0:
            return None
        if not value > 0:
            return "not be negative" if self._or_zero else "be positive"
        if not self._least <= value < self._below:
            zero = "0 or " if self._or_zero else ""
            return f"be {zero}at least {self._least:g} s and less than {self._below:g} s"
        return None


class _Range(Bound):
    def __init__(self, least: float, most: float, text: str, *, above: bool = False, below: bool = False) -> None:
        """`above` and `below`: without `least` and `most` themselves."""
        self._least = least
        self.most = most
        self._text = text
        self._above = above
        self._below = below

    def fault(self, value: Any) -> str | None:
        enough = value > self._least if self._above else value >= self._least
        little = value < self.most if self._below else value <= self.most
        return None if enough and little else self._text


class _Word(Bound):
    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = words

    def fault(self, value: Any) -> str | None:
        return None if value in self._words else f"be {' or '.join(self._words)}"


def _field(default: Any, bound: Bound, unit: str = "") -> Any:
    return field(default=default, metadata={_KEY: bound, UNIT: unit})


def seconds(default: Any, *, below: float = MOST_S, or_zero: bool = False) -> Any:
    """A time that passes once."""
    return _field(default, _Time(LEAST_TIME_S, below, or_zero))


def period(default: Any) -> Any:
    """The seconds between what comes again and again by itself."""
    return _field(default, _Time(LEAST_PERIOD_S, MOST_S, False))


def within(default: Any, least: int, most: int, *, unit: str = "") -> Any:
    """A number from `least` to `most`."""
    return _field(default, _Range(least, most, f"be in {least}..{most}"), unit)


def at_least(default: Any, least: float, *, below: float = inf, unit: str = "") -> Any:
    """A number that is not smaller than `least`."""
    return _field(default, _Range(least, below, f"be at least {least:g} {unit}".rstrip(), below=True), unit)


def share(default: Any, *, or_zero: bool = False) -> Any:
    """A part of 1."""
    return _field(default, _Range(0, 1, f"be in {'[' if or_zero else '('}0, 1]", above=not or_zero), "share")


def positive(default: Any, *, below: float = MOST, unit: str = "") -> Any:
    """A number above 0."""
    return _field(default, _Range(0, below, "be positive", above=True, below=True), unit)


def not_negative(default: Any, *, below: float = MOST, unit: str = "") -> Any:
    """A number from 0 on."""
    return _field(default, _Range(0, below, "not be negative", below=True), unit)


def one_of(*words: str) -> Any:
    """One of these words; the first is the default."""
    return _field(words[0], _Word(words))


def most(options: Any, name: str) -> float:
    """The largest value of a field that is `within` bounds."""
    bound: Any = next(one for one in fields(options) if one.name == name).metadata[_KEY]
    assert isinstance(bound, _Range)
    return bound.most


def check(options: Any) -> None:
    """ValueError names the first field of a dataclass that is not within its bounds."""
    for one in fields(options):
        bound = one.metadata.get(_KEY)
        if bound is not None:
            fault = bound.fault(getattr(options, one.name))
            if fault is not None:
                raise ValueError(f"parameter '{one.name}' must {fault}")

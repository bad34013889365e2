"""How short and how long the times among a protocol's parameters may be."""

from collections.abc import Iterable
from typing import Final

LEAST_TIME_S: Final = 1e-9
"""Virtual time is in whole nanoseconds (docs/architecture.md): with a shorter wait it would stand still."""
LEAST_PERIOD_S: Final = 1e-3
"""Of what comes again and again by itself. A thousand times a second is more than any of it is good for (ours)."""
MOST_S: Final = 1e6
"""Eleven days (ours)."""


def check_times(
    options: object,
    names: Iterable[str],
    *,
    least: float = LEAST_TIME_S,
    below: float = MOST_S,
    or_zero: bool = False,
) -> None:
    """ValueError names the first of these attributes, in seconds, that is not within the bounds."""
    for name in names:
        value = getattr(options, name)
        if or_zero and value == 0:
            continue
        if not value > 0:
            raise ValueError(f"parameter '{name}' must {'not be negative' if or_zero else 'be positive'}")
        if not least <= value < below:
            zero = "0 or " if or_zero else ""
            raise ValueError(f"parameter '{name}' must be {zero}at least {least:g} s and less than {below:g} s")

"""The order in which people count names: r2 before r10."""

import re

_PARTS = re.compile(r"(\d+)")


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """A key for sorting; digits count as the number that they are."""
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in _PARTS.split(name[:200]) if part)

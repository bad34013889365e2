"""Names in ranges: `r[1-30]` is r1, r2, ..., r30."""

import re

MAX_NAMES = 10_000
"""Of one range (ours): as many as a scenario's hosts may be, and a mistyped zero is told at once."""

_RANGE = re.compile(r"(?P<before>[a-z][a-z0-9_]*)\[(?P<inside>[^\[\]]*)\](?P<after>[a-z0-9_]*)")
_PART = re.compile(r"(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?")


class RangeError(ValueError):
    """It looks like a range and is none, or has too many names."""


def names_in(text: str) -> list[str] | None:
    """The names that `r[1-30]` or `r[1,3,5-7]` stands for, in its order; None when it is not written as a range.

    A first number with leading zeros gives all numbers its width: `r[01-30]`. RangeError."""
    match = _RANGE.fullmatch(text)
    if match is None:
        return None
    names: list[str] = []
    for part in match["inside"].split(","):
        numbers = _PART.fullmatch(part.strip())
        if numbers is None:
            raise RangeError(f"`{text}` is not a range of names, such as `r[1-30]` or `r[1,3,5-7]`")
        first, last = int(numbers["first"]), int(numbers["last"] or numbers["first"])
        if last < first:
            raise RangeError(f"`{text}` counts down from {first} to {last}")
        if len(names) + last - first + 1 > MAX_NAMES:
            raise RangeError(f"`{text}` has more than {MAX_NAMES} names")
        width = len(numbers["first"]) if numbers["first"].startswith("0") else 0
        names += [f"{match['before']}{number:0{width}}{match['after']}" for number in range(first, last + 1)]
    return names

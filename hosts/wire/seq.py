"""Sequence numbers: 32 bits on the wire, unbounded integers everywhere else.

A number from the wire is extended at once, next to a number that is known to be near it; what follows then needs no
care for the wrap (RFC 1982 says why "near" must mean less than half the number space).
"""

from typing import Final

SPACE: Final = 1 << 32
HALF: Final = 1 << 31
MASK: Final = SPACE - 1


def extend(wire: int, near: int) -> int:
    """The integer congruent to `wire` modulo 2^32 in [near - 2^31, near + 2^31); negative when before the start."""
    return near + ((wire - near + HALF) & MASK) - HALF

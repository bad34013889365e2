"""Quantities as they travel: whole numbers of a unit, cut to the field that carries them."""

from typing import Final

UNIT: Final = 1000
"""Of rates (packets per so many seconds) and windows (so many parts of a packet)."""
MAX_U16: Final = 2**16 - 1
MAX_U32: Final = 2**32 - 1
MAX_U64: Final = 2**64 - 1


def to_units(value: float, least: int = 0) -> int:
    """Packets, or packets per second, 32 bits."""
    return min(MAX_U32, max(least, round(value * UNIT)))


def to_us(seconds: float, least: int = 0) -> int:
    """A time in microseconds, 32 bits."""
    return min(MAX_U32, max(least, round(seconds * 1e6)))

"""Quantities with units, as a scenario writes them: `10 Mbps`, `5 ms`, `64 kB`, `1 %`.

A number without its unit is refused: whether `delay: 5` means seconds or milliseconds is not for the reader to guess.
Rates are bit/s with decimal prefixes; sizes are bytes with decimal (`kB`) or binary (`KiB`) ones.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from hosts.parts.bounds import LEAST_TIME_S

RATE_UNITS: Mapping[str, float] = {
    **{f"{prefix}bps": factor for prefix, factor in (("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9))},
    **{f"{prefix}bit/s": factor for prefix, factor in (("", 1.0), ("k", 1e3), ("M", 1e6), ("G", 1e9))},
}
"""Unit -> bit/s."""

DURATION_UNITS: Mapping[str, float] = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
"""Unit -> seconds."""

SIZE_UNITS: Mapping[str, float] = {
    "B": 1.0,
    "kB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "KiB": 2.0**10,
    "MiB": 2.0**20,
    "GiB": 2.0**30,
}
"""Unit -> bytes."""

_QUANTITY = re.compile(r"(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(?P<unit>\S*)")


def parse_quantity(value: object, units: Mapping[str, float], what: str, example: str) -> float:
    """`value` in the base unit of `units`. ValueError says what is wrong and shows an `example`."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"must be a {what} such as `{example}`")
    match = _QUANTITY.fullmatch(str(value).strip())
    if match is None:
        raise ValueError(f"`{value}` is not a {what} (a number and a unit, such as `{example}`)")
    unit = match["unit"]
    if not unit:
        raise ValueError(f"`{value}` has no unit (one of {', '.join(units)}), as in `{example}`")
    if unit not in units:
        raise ValueError(f"`{unit}` is not a unit of a {what} (one of {', '.join(units)})")
    quantity = float(match["number"]) * units[unit]
    if not math.isfinite(quantity):
        raise ValueError(f"must be finite, not `{value}`")
    return quantity


def parse_rate(value: object) -> float:
    """Bit/s, above zero. ValueError otherwise."""
    rate = parse_quantity(value, RATE_UNITS, "rate", "10 Mbps")
    if rate <= 0:
        raise ValueError(f"must be above zero, not `{value}`")
    return rate


def parse_duration(value: object) -> float:
    """Seconds, zero or at least LEAST_TIME_S. ValueError otherwise."""
    duration = parse_quantity(value, DURATION_UNITS, "duration", "5 ms")
    if 0 < duration < LEAST_TIME_S:
        raise ValueError(f"must be 0 s or at least {format_duration(LEAST_TIME_S)}, not `{value}`")
    return duration


def parse_size(value: object) -> int:
    """Whole bytes, above zero. ValueError otherwise."""
    size = parse_quantity(value, SIZE_UNITS, "size", "64 kB")
    whole = round(size)
    if whole < 1 or not math.isclose(size, whole, rel_tol=1e-12, abs_tol=1e-6):  # 1.009 kB are 1008.9999999999999 B
        raise ValueError(f"must be a whole number of bytes above zero, not `{value}`")
    return whole


def parse_fraction(value: object) -> float:
    """A probability from `1 %` or from a bare number between 0 and 1. ValueError otherwise."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        fraction: float = value  # as it is: an int may be too large for a float
    else:
        fraction = parse_quantity(value, {"%": 0.01}, "fraction", "1 %")
    if not 0.0 <= fraction <= 1.0:
        raise ValueError(f"must be between 0 and 1 (or 0 % and 100 %), not `{value}`")
    return float(fraction)


def format_rate(bps: float) -> str:
    """`10 Mbps` for 1e7: the largest prefix that leaves a number of at least one."""
    for unit, factor in (("Gbps", 1e9), ("Mbps", 1e6), ("kbps", 1e3)):
        if bps >= factor:
            return f"{bps / factor:.4g} {unit}"
    return f"{bps:.4g} bps"


def format_measured_rate(bps: float) -> str:
    """`8.05 Mbps`: always two decimals, for columns of measurements."""
    unit, factor = ("kbps", 1e3) if bps < 1e6 else ("Mbps", 1e6)
    return f"{bps / factor:.2f} {unit}"


def format_duration(seconds: float) -> str:
    """`5 ms` for 0.005."""
    for unit, factor in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= factor:
            return f"{seconds / factor:.4g} {unit}"
    return f"{seconds / 1e-6:.4g} us" if seconds else "0 s"


def format_size(octets: float) -> str:
    """`1.5 MB` for 1500000."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if octets >= factor:
            return f"{octets / factor:.4g} {unit}"
    return f"{octets:.0f} B"


def _schema(units: str, example: str) -> Any:
    return WithJsonSchema(
        {"type": "string", "pattern": rf"^\d+(\.\d+)?([eE][+-]?\d+)?\s*({units})$", "examples": [example]}
    )


def _serializer(unit: str, formatted: Callable[[float], str], parse: Callable[[object], float]) -> Any:
    """As a person writes it, where that is the same value."""

    def text(value: float) -> str:
        short = formatted(value)
        return short if parse(short) == value else f"{value!r} {unit}"

    return PlainSerializer(text, when_used="json")


# The bounds are what links and clocks can reckon with: whole bit/s, nanoseconds and bytes in 64 bits (ours).
Rate = Annotated[
    float,
    Field(ge=1, le=1e15),
    BeforeValidator(parse_rate),
    _serializer("bps", format_rate, parse_rate),
    _schema("[kMG]?(bps|bit/s)", "10 Mbps"),
]
"""Bit/s."""
Duration = Annotated[
    float,
    Field(le=1e9),
    BeforeValidator(parse_duration),
    _serializer("s", format_duration, parse_duration),
    _schema("us|ms|s|min|h", "5 ms"),
]
"""Seconds."""
Size = Annotated[
    int,
    Field(le=2**63 - 1),
    BeforeValidator(parse_size),
    _serializer("B", format_size, parse_size),
    _schema("([kMG]|[KMG]i)?B", "64 kB"),
]
"""Bytes."""
Fraction = Annotated[
    float,
    BeforeValidator(parse_fraction),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "string", "pattern": "%$"}]}),
]
"""0..1."""

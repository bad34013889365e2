"""Reed-Solomon codes over GF(2^8) (RFC 5510, section 8), for erasures only.

Of a block's k source symbols and its repair symbols any k make the block. The generator matrix is V_{k,k}^-1 V_{k,n}
with a Vandermonde matrix (8.2.1): so encoding symbol j is the value at the j-th point of the polynomial that has the
source symbols at the first k points, and any k of its values interpolate any other.

The RFC's points are alpha^0, alpha^1, ... Rizzo's codec of 1997, from which those that are in use come (flute-alc's
repair symbols, for one, are the same), has 0 in front of them. Both have the same source symbols; repair is as it is
in use, and what has come is read either way.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

_POLYNOMIAL: Final = 0b1_0001_1101
"""Of GF(2^8): x^8 + x^4 + x^3 + x^2 + 1 (RFC 5510, 8.1)."""


def _powers() -> tuple[int, ...]:
    found = [1]
    while len(found) < 255:
        double = found[-1] << 1
        found.append(double ^ _POLYNOMIAL if double > 255 else double)
    return tuple(found)


_EXP: Final = _powers()
_LOG: Final = {value: power for power, value in enumerate(_EXP)}
POINTS: Final = (0, *_EXP)
"""By encoding symbol id, as codecs in use have them."""
RFC_POINTS: Final = _EXP
"""By encoding symbol id, as the RFC's text has them."""


@cache
def _products(factor: int) -> bytes:
    """Times `factor`, for `bytes.translate`."""
    if factor == 0:
        return bytes(256)
    log = _LOG[factor]
    return bytes(0 if value == 0 else _EXP[(_LOG[value] + log) % 255] for value in range(256))


def interpolation(known: Sequence[int], wanted: int) -> list[int]:
    """What the values at the points `known` count for at the point `wanted`, which is none of them: Lagrange's."""
    whole = sum(_LOG[wanted ^ point] for point in known)
    factors = []
    for point in known:
        below = _LOG[wanted ^ point] + sum(_LOG[point ^ other] for other in known if other != point)
        factors.append(_EXP[(whole - below) % 255])
    return factors


@cache
def _row(k: int, symbol: int) -> tuple[int, ...]:
    """A repair symbol's coefficients."""
    return tuple(interpolation(POINTS[:k], POINTS[symbol]))


def combine(symbols: Sequence[bytes], factors: Sequence[int]) -> bytes:
    """The sum of symbols of one length, each times its factor."""
    total = 0
    for symbol, factor in zip(symbols, factors, strict=True):
        total ^= int.from_bytes(symbol.translate(_products(factor)), "big")
    return total.to_bytes(len(symbols[0]), "big")


def repair(source: Sequence[bytes], symbol: int) -> bytes:
    """The encoding symbol with this id, which is after the source symbols'."""
    return combine(source, _row(len(source), symbol))


def decode(found: Mapping[int, bytes], k: int, points: Sequence[int] = POINTS) -> list[bytes]:
    """The k source symbols, from k symbols by their ids. `points`: of the code."""
    missing = [symbol for symbol in range(k) if symbol not in found]
    if not missing:
        return [found[symbol] for symbol in range(k)]
    taken = sorted(found)[:k]
    values = [found[symbol] for symbol in taken]
    known = [points[symbol] for symbol in taken]
    whole = {**found, **{symbol: combine(values, interpolation(known, points[symbol])) for symbol in missing}}
    return [whole[symbol] for symbol in range(k)]

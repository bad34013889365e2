"""Rates in 12 bits and round trip times in 8, as RFC 4654 (2.2) recommends for packets.

Both are floating point numbers without sign whose codes order as the values do, so that a switch compares codes.

    rate  100 bit/s * 2^e * (1 + m / 128), e of 5 bits above m of 7: 100 bit/s to 428 Gbit/s, within 0.8 %
    RTT   1 ms * 2^e * (1 + m / 16),       e of 4 bits above m of 4: 1 ms to 63 s, within 6.3 %

Rates are rounded down and round trip times up: to the careful side.
"""

from math import ceil, frexp
from typing import Final

RATE_BITS: Final = 12
RATE_MANTISSA: Final = 7
RATE_UNIT_BPS: Final = 100.0
NO_RATE: Final = (1 << RATE_BITS) - 1
"""The largest code: no rate at all, the neutral element of the minimum."""
RTT_MANTISSA: Final = 4
RTT_UNIT_S: Final = 1e-3
RTT_MAX: Final = 255
_TOLERANCE: Final = 1e-9
"""What decode(encode(x)) may differ from x when x is a code's value."""


def encode_rate(bps: float) -> int:
    """The code of the largest rate that is not above `bps`; 0 below the smallest. Never NO_RATE."""
    if not bps > RATE_UNIT_BPS:
        return 0
    if bps >= RATE_UNIT_BPS * 2**32:
        return NO_RATE - 1
    fraction, exponent = frexp(bps / RATE_UNIT_BPS * (1 + _TOLERANCE))  # fraction in [0.5, 1)
    code = (exponent - 1 << RATE_MANTISSA) + int((2 * fraction - 1) * 128)
    return min(code, NO_RATE - 1)


def decode_rate(code: int) -> float:
    """Bit/s."""
    exponent, mantissa = code >> RATE_MANTISSA, code & 0x7F
    return RATE_UNIT_BPS * (1 << exponent) * (1 + mantissa / 128)


def encode_rtt(seconds: float) -> int:
    """The code of the smallest round trip time that is not below `seconds`; the largest when there is none."""
    if not seconds > RTT_UNIT_S:
        return 0
    if seconds >= RTT_UNIT_S * 2**16:
        return RTT_MAX
    fraction, exponent = frexp(seconds / RTT_UNIT_S * (1 - _TOLERANCE))
    return min((exponent - 1 << RTT_MANTISSA) + ceil((2 * fraction - 1) * 16), RTT_MAX)


def decode_rtt(code: int) -> float:
    """Seconds."""
    exponent, mantissa = code >> RTT_MANTISSA, code & 0x0F
    return RTT_UNIT_S * (1 << exponent) * (1 + mantissa / 16)

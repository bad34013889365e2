"""The long-term throughput of TCP as an equation, and its inverse.

Padhye, Firoiu, Towsley and Kurose's model as the TFMCC paper prints it (Eq. (1): one acknowledgment a packet, b = 1,
and RTO = 4 RTT). Rates are in bytes per second where the packet size `s` is in bytes; round trip times in seconds; `p`
is the loss event rate, in (0, 1].
"""

from math import cbrt, sqrt
from typing import Final

from hosts.parts.cubic import BETA, C

CUBIC_FACTOR: Final[float] = (C * (3 + BETA) / (4 * (1 - BETA))) ** 0.25
"""RFC 9438, 5.1, Eq. (6), of the mean window."""
RENEWED: Final = (1 + BETA) / 2
"""Of the rate at a loss event: what a TCP has on average from there to its next one (ours)."""
LEAST_LOSS: Final = 1e-12
"""Below this the inverse does not look: no history of this project reaches a million million packets."""


def packets_per_rtt(p: float, *, b: float = 1.0) -> float:
    """Eq. (1) without packet size and round trip time. `b`: packets that an acknowledgment stands for.

    Raises ValueError for `p` outside (0, 1].
    """
    if not 0 < p <= 1:
        raise ValueError(f"a loss event rate is in (0, 1], not {p}")
    return 1 / (sqrt(2 * b * p / 3) + 12 * sqrt(3 * b * p / 8) * p * (1 + 32 * p * p))


def throughput(p: float, rtt: float, s: float) -> float:
    """Eq. (1): bytes per second."""
    return s * packets_per_rtt(p) / rtt


def loss_event_rate(rate: float, rtt: float, s: float) -> float:
    """The inverse of Eq. (1): the `p` at which TCP would get `rate` bytes per second.

    A rate below Eq. (1)'s at p = 1 gives 1; one beyond all that can be measured gives `LEAST_LOSS`.
    """
    wanted = rate * rtt / s
    if not wanted > packets_per_rtt(1.0):
        return 1.0
    if wanted >= packets_per_rtt(LEAST_LOSS):
        return LEAST_LOSS
    # With q = sqrt(p) and a right side f that grows with q and is convex: sqrt(2/3) q + 12 sqrt(3/8) q^3 (1 + 32 q^4) =
    # 1 / wanted. Newton's method from above falls monotonically to the root.
    target = 1 / wanted
    linear, cubic = sqrt(2 / 3), 12 * sqrt(3 / 8)
    q = min(1.0, target / linear)
    for _ in range(100):
        square = q * q
        value = q * (linear + cubic * square * (1 + 32 * square * square))
        step = (value - target) / (linear + cubic * square * (3 + 224 * square * square))
        q -= step
        if step <= q * 1e-15:
            break
    return min(1.0, q * q)


def loss_events_per_rtt(p: float, *, b: float = 1.0) -> float:
    """Appendix A: how many loss events a round trip time holds when the rate is Eq. (1)'s."""
    return p * packets_per_rtt(p, b=b)


# --- TCP as it is today: CUBIC, which is Reno where that gets more (RFC 9438)


def cubic_packets_per_rtt(p: float, rtt: float) -> float:
    """CUBIC's mean window (RFC 9438, Eq. (6)) where it is above Reno's, with Eq. (1)'s time-outs."""
    if not 0 < p <= 1:
        raise ValueError(f"a loss event rate is in (0, 1], not {p}")
    window = max(1 / sqrt(2 * p / 3), CUBIC_FACTOR * sqrt(rtt / p) * sqrt(sqrt(rtt / p)))
    return 1 / (1 / window + 12 * sqrt(3 * p / 8) * p * (1 + 32 * p * p))


def mixed_packets_per_rtt(p: float, rtt: float) -> float:
    """What a Reno and a CUBIC have on average: half of the TCPs that are met are taken for each."""
    return (packets_per_rtt(p) + cubic_packets_per_rtt(p, rtt)) / 2


def mixed_throughput(p: float, rtt: float, s: float) -> float:
    """Bytes per second."""
    return s * mixed_packets_per_rtt(p, rtt) / rtt


def mixed_loss_event_rate(rate: float, rtt: float, s: float) -> float:
    """The inverse, by bisection; at its ends as `loss_event_rate`."""
    wanted = rate * rtt / s
    if not wanted > mixed_packets_per_rtt(1.0, rtt):
        return 1.0
    if wanted >= mixed_packets_per_rtt(LEAST_LOSS, rtt):
        return LEAST_LOSS
    low, high = LEAST_LOSS, 1.0
    while high > low * (1 + 1e-9):
        middle = sqrt(low * high)
        if mixed_packets_per_rtt(middle, rtt) > wanted:
            low = middle
        else:
            high = middle
    return high


def mixed_window(interval: float, rtt: float) -> float:
    """Packets: what a Reno and a CUBIC have on average that lose something every `interval` seconds. Reno grows by one
    a round trip from a half of its window to the whole (RFC 5681, 3.1), CUBIC to its plateau from BETA of it, and no
    slower than Reno (RFC 9438, Eqs. (1) and (2), 4.3)."""
    reno = 3 / 2 * interval / rtt
    cubic = C * interval**3 * (1 / (1 - BETA) - 1 / 4)
    return (reno + max(reno, cubic)) / 2


def mixed_interval(window: float, rtt: float) -> float:
    """The inverse, by bisection, for windows of more than a packet."""
    low, high = rtt / 3, max(1.0, window) * rtt
    while high > low * (1 + 1e-9):
        middle = sqrt(low * high)
        low, high = (low, middle) if mixed_window(middle, rtt) > window else (middle, high)
    return high


def window_since_loss(elapsed: float, rtt: float, before: float) -> float:
    """Packets: the window that TCPs have at least, on average, when their last loss event is `elapsed` seconds ago and
    their window was `before` then. They would have this if the event had left them nothing: Reno's, one more a round
    trip time, and CUBIC's where it is above that (RFC 9438, Eqs. (1) and (2) with cwnd_epoch = 0)."""
    away = elapsed - cbrt(before / C)
    reno = elapsed / rtt
    return (reno + max(reno, C * away**3 + before)) / 2


def growth_without_loss(elapsed: float, rtt: float) -> float:
    """Packets by which the windows of a Reno and a CUBIC grow on average in `elapsed` seconds after they have stood
    still: one a round trip time, and CUBIC's curve from its plateau on where that is above it (RFC 9438, Eq. (1))."""
    reno = elapsed / rtt
    return (reno + max(reno, C * elapsed**3)) / 2

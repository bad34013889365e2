"""When a receiver reports: the biased, exponentially distributed timer of a round, and what cancels it (2.5)."""

from math import log
from random import Random

from hosts.protocols.tfmcc.rate_float import NO_RATE


def normalised(r: float) -> float:
    """r' of 2.5.1: bias begins below 90 % of the sending rate and saturates at 50 %."""
    return (max(min(r, 0.9), 0.5) - 0.5) / 0.4


def timer_delay(x: float, r: float, delay: float, bound: int, gamma: float) -> float:
    """Eq. (3), never negative; with gamma 0 it is Eq. (2).

    `x`: uniform in (0, 1]; `r`: normalised ratio of rates, 0..1; `delay`: T in seconds; `bound`: N.
    """
    return gamma * r * delay + (1 - gamma) * delay * max(1 + log(x) / log(bound), 0.0)


def is_cancelled(own: float, echoed: float, theta: float) -> bool:
    """2.5.2: whether a report of the rate `own` is needless once `echoed` is known: R_fb - R_calc < theta R_fb.

    With theta 0, also when it is the same.
    """
    return echoed - own < theta * echoed or own >= echoed


class FeedbackTimer:
    """One receiver's timer. Rates are in bit/s."""

    __slots__ = ("_bound", "_gamma", "_rng", "_theta", "due_at", "has_loss", "has_rtt", "wanted")

    def __init__(self, rng: Random, bound: int, gamma: float, theta: float) -> None:
        self._rng = rng
        self._bound = bound
        self._gamma = gamma
        self._theta = theta
        self.due_at: float | None = None
        self.wanted = 0.0
        """The rate at the timer's start. If everybody's rate falls during a round, what one has reported still silences
        the others, whose rates it is measured against are these (RFC 4654, X_fbr)."""
        self.has_loss = False
        self.has_rtt = False

    def start(self, now: float, delay: float, wanted: float, sending: float, *, has_loss: bool, has_rtt: bool) -> None:
        """Set the timer for a report; `delay` is T, `sending` the sender's rate."""
        x = 1.0 - self._rng.random()
        ratio = normalised(wanted / sending) if sending > 0 else 1.0
        self.due_at = now + timer_delay(x, ratio, delay, self._bound, self._gamma)
        self.wanted = wanted
        self.has_loss = has_loss
        self.has_rtt = has_rtt

    def stop(self) -> None:
        """No report in this round."""
        self.due_at = None

    def hear(self, code: int, echoed: float, current: float, *, from_loss: bool, theta: float | None = None) -> None:
        """A data packet echoes the least rate of reports of our kind (with or without an RTT); NO_RATE: of none.

        A report of a loss is cancelled by reports of losses only (2.6). `current`: what we would report now. If
        everybody's rate rises during a round, as in slowstart and after the first loss, those who report first say
        more than the others wanted to, and no more than these would: it counts as well (2.5.2 knows no other).
        `theta`: another one than the session's.
        """
        share = self._theta if theta is None else theta
        own = max(self.wanted, current)
        if code != NO_RATE and (from_loss or not self.has_loss) and is_cancelled(own, echoed, share):
            self.due_at = None

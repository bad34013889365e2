"""The sender's feedback rounds: the least rates reported in one, echoed to all, and the maximum RTT (2.5)."""

from typing import Final

from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.rate_float import NO_RATE, RTT_UNIT_S, encode_rtt

STALE: Final = 4.0
"""A round ends when T has become so many times shorter (ours)."""


class FeedbackRounds:
    """Rates are rate floats, so that what receivers and switches compare is what was reported."""

    __slots__ = (
        "_is_guess",
        "_options",
        "_peak",
        "delay",
        "from_loss",
        "max_rtt",
        "number",
        "reports",
        "started_at",
        "suppression",
        "suppression_no_rtt",
    )

    def __init__(self, options: TfmccOptions, max_rtt: float, now: float) -> None:
        self._options = options
        self.delay: float | None = None
        """T of this round, seconds: what receivers computed at its start; None before it has been told to anybody."""
        self.max_rtt = max_rtt
        """Seconds: of all receivers that have told, or the initial RTT."""
        self.number = 1
        self.started_at = now
        self.suppression = NO_RATE
        self.suppression_no_rtt = NO_RATE
        self.from_loss = False
        """Whether the two are of reports with a loss; then those without do not count (2.6)."""
        self.reports = 0
        """Of this round, by others than the CLR."""
        self._peak = 0.0
        self._is_guess = True

    def guess(self, max_rtt: float) -> None:
        """Nobody has told: the maximum RTT may be this."""
        self.max_rtt = max_rtt
        self._is_guess = True

    def know_rtts(self, max_rtt: float) -> None:
        """All have told."""
        self.max_rtt = max_rtt
        self._is_guess = False

    @property
    def max_rtt_code(self) -> int:
        """As an RTT float."""
        return encode_rtt(self.max_rtt)

    def is_over(self, now: float) -> bool:
        """Whether T has passed; by RFC 4654 a round without a report may last twice as long."""
        delay = self.delay
        if delay is None:
            return False
        patience = 2 * delay if self._options.rules == "rfc" and not self.reports else delay
        return now >= self.started_at + patience

    def is_stale(self, delay: float) -> bool:
        """Whether T is far shorter now (`delay`, seconds) than at the round's start, when the rate was low.

        Who falls below the rate would wait half a minute for the next round. Not so in slowstart, where the rate
        doubles in a round: rounds that always end early would let nobody report."""
        return self.delay is not None and delay < self.delay / STALE

    def begin(self, now: float) -> None:
        """The next round. The maximum RTT falls slowly towards what was reported in the one that ends.

        By today's rules at once, when it was nobody's: who is farther away says so (`Path.is_far`)."""
        if self._peak > 0:
            kept = 0.0 if self._is_guess and self._options.rules == "today" else self._options.max_rtt_decay
            self.max_rtt = max(self._peak, self.max_rtt * kept, RTT_UNIT_S)
            self._is_guess = False
        self.number += 1
        self.started_at = now
        self.delay = None
        self.suppression = self.suppression_no_rtt = NO_RATE
        self.from_loss = False
        self.reports = 0
        self._peak = 0.0

    def hear_rtt(self, rtt: float) -> None:
        """A report's RTT, seconds."""
        self._peak = max(self._peak, rtt)
        self.max_rtt = max(self.max_rtt, rtt)

    def hear_far(self, rtt: float) -> None:
        """A switch says that somebody whom we have not heard told it of this RTT, seconds. That cannot be checked: so
        the maximum falls no further, and does not rise."""
        self._peak = max(self._peak, min(rtt, self.max_rtt))

    def hear(self, code: int, *, has_rtt: bool, has_loss: bool) -> None:
        """A report of this round by another than the CLR."""
        self.reports += 1
        if has_loss and not self.from_loss:
            self.suppression = self.suppression_no_rtt = NO_RATE
            self.from_loss = True
        elif self.from_loss and not has_loss:
            return
        if has_rtt:
            self.suppression = min(self.suppression, code)
        else:
            self.suppression_no_rtt = min(self.suppression_no_rtt, code)

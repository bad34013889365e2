"""What a window is on average that losses without a queue cut, and how sure a receiver of many can be of that (ours).

Windows of receivers that lose independently are out of step, and the least of a thousand, at any time, is far below
what each of them gets. So is the least of a thousand means of few losses. A mean of `k` epochs between losses is off
by SPREAD / sqrt(k) of itself, and the least of `n` by sqrt(2 ln n) times as much (the extreme of n normal deviates): a
receiver asks for less when its mean would be too little even then. It counts the more epochs the more receivers there
are, so that the doubt that remains is below SPREAD sqrt(2 / EPOCHS), three tenths, for all `n`.

Windows are in packets, rates in packets a second.
"""

from math import log, sqrt
from typing import Final

SPREAD: Final = 0.6
"""Of an epoch's mean window, as that of independent ones: 0.5 to 0.6 for windows of 5 to 30 packets, up to 0.9 where
CUBIC's curve and not its Reno-friendly region is what grows (measured with this window, losses of 0.05 to 5 %)."""
EPOCHS: Final = 8
"""Of one receiver, and as many more for each power of e of them: TFMCC and TFRC average as many loss intervals
(RFC 5348, 5.4)."""


class Level:
    """One window's."""

    __slots__ = ("_doubt", "_most", "_rates", "_receivers", "_rounds", "_windows", "epochs", "mean", "rate")

    def __init__(self) -> None:
        self.epochs = 0
        """That the mean is of; 0: the window itself is what counts."""
        self.mean = 0.0
        """Window."""
        self.rate = 0.0
        """Of the sender, over the same time."""
        self._rounds = 0
        self._windows = 0.0  # sums, a round trip's each
        self._rates = 0.0
        self._receivers = 1
        self._most = float(EPOCHS)
        self._doubt = 0.0

    def among(self, receivers: int) -> None:
        """There are so many."""
        if receivers != self._receivers:
            self._receivers = receivers
            powers = log(max(1, receivers))
            self._most = EPOCHS * (1 + powers)
            self._doubt = SPREAD * sqrt(2 * powers)

    def round_ended(self, cwnd: float, rate: float) -> None:
        """A round trip is over."""
        self._rounds += 1
        self._windows += cwnd
        self._rates += rate

    def lost(self, cwnd: float, rate: float) -> None:
        """An epoch ends with a loss behind no queue; `cwnd` and `rate` count for one without a round trip."""
        self.epochs = min(self.epochs + 1, int(self._most))
        windows, rates = (self._windows / self._rounds, self._rates / self._rounds) if self._rounds else (cwnd, rate)
        self.mean += (windows - self.mean) / self.epochs
        # The first epoch ends what may have been slow start, at whose end the rate is not what it will be.
        self.rate += (rates - self.rate) / max(1, self.epochs - 1)
        self._begin()

    def _begin(self) -> None:
        self._rounds = 0
        self._windows = self._rates = 0.0

    def forget(self) -> None:
        """The window is answered by itself: for a queue is full, or its path is another."""
        self.epochs = 0
        self.mean = self.rate = 0.0
        self._begin()

    def likely(self, cwnd: float) -> float:
        """What the mean window may be, as sure as the least of all can be; no less than what it is just now."""
        return max(cwnd, self.mean) * (1 + self._doubt / sqrt(self.epochs)) if self.epochs else cwnd

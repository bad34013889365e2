"""Whether a BBR fills the queue: it empties it every ten seconds, to see the round trip time without it (PROBE_RTT:
Cardwell et al. 2016; draft-cardwell-iccrg-bbr-congestion-control-00, 4.3.5), and has it full again at once.

No window that goes by losses does so: it leaves seven tenths of what was under way, or a half, and grows by and by. A
BBR does not answer losses, so that a CUBIC beside it has what it leaves: in a queue of a round trip or less a fifth of
its rate, or less.

Times are in seconds on the receiver's clock.
"""

from math import inf
from typing import Final

EVERY_S: Final = 10.0
"""BBR's RTpropFilterLen."""
LASTS_S: Final = 0.2
"""Its ProbeRTTDuration, and a round trip."""
EARLY: Final = 0.9
"""The last of what waited passes at its beginning (ours)."""
LATE_RTTS: Final = 4
"""For it to begin and end, and in the distance of two (ours)."""
LATE_S: Final = 0.1
"""And so much (ours)."""
KNOWN_S: Final = 2.5 * EVERY_S
"""After the last one: where others have filled the queue, too, one may be missed (ours)."""
EMPTY: Final = 1 / 8
HIGH: Final = 1 / 2
FULL: Final = 4 / 5
"""Of what packets wait for usually: when it has been emptied, from what, and when it is full again (ours)."""
FULL_RTTS: Final = 1 / 4
"""And that holds more than windows that grow by a packet a round trip bring, which a BBR does at once (ours)."""
LEAST_WAIT_S: Final = 0.005
"""A queue that is usually shorter shows nothing: TCPs' windows empty and fill it in some round trips, too (ours)."""
LEAST_RTTS: Final = 4
"""In which it stays empty: on longer paths it is not told from what follows a loss (ours)."""
SUDDEN_RTTS: Final = 3.0
"""From full to empty, and from empty to full (ours)."""
SMOOTHING: Final = 1 / 64
"""A packet's part of what is usual (ours)."""


class Drains:
    """The queue on one receiver's path, as packets show it."""

    __slots__ = ("_began", "_drained_at", "_full_at", "_known_until", "_last_empty", "_usual")

    def __init__(self) -> None:
        self._usual = 0.0
        self._full_at = -inf
        self._began: float | None = None  # since when it has been empty; infinite: that was not sudden
        self._last_empty = 0.0
        self._drained_at = -inf  # the last time that it was emptied as a BBR does it
        self._known_until = -inf

    def shows_bbr(self, at: float) -> bool:
        """Whether one has been seen of late."""
        return at < self._known_until

    def add(self, at: float, waiting: float, rtt: float) -> None:
        """A packet came that has waited for so long; `rtt` is smoothed."""
        usual = self._usual
        if usual >= LEAST_WAIT_S and waiting <= EMPTY * usual:
            if self._began is None:
                self._began = at if at <= self._full_at + SUDDEN_RTTS * rtt else inf
            self._last_empty = at
            return
        if self._began is not None:
            if waiting < max(FULL * usual, FULL_RTTS * rtt) and at <= self._last_empty + SUDDEN_RTTS * rtt:
                return
            self._filled(at, self._began, rtt)
            self._began = None
        self._usual += (waiting - usual) * SMOOTHING
        if waiting >= HIGH * usual:
            self._full_at = at

    def _filled(self, at: float, began: float, rtt: float) -> None:
        lasted, slack = self._last_empty - began, LATE_S + LATE_RTTS * rtt
        least = max(EARLY * LASTS_S, LEAST_RTTS * rtt)
        if not least <= lasted <= LASTS_S + slack or at > self._last_empty + SUDDEN_RTTS * rtt:
            return
        # One may be chance. Of two, one in between may have been missed, but there is none that is out of time.
        since = at - self._drained_at
        if any(0 <= since / times - EVERY_S - LASTS_S <= slack for times in (1, 2)):
            self._known_until = at + KNOWN_S
        self._drained_at = at

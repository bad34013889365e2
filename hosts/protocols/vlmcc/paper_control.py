"""The window of `rules: paper`: TCP Vegas' between round trips, halved by a loss (2.2), larger by a packet each round
trip without a leader (2.4)."""

from typing import Final

from hosts.parts.vegas import VegasWindow
from hosts.protocols.vlmcc.backlog import vegas_difference
from hosts.protocols.vlmcc.control import WindowControl

LOSS_SHARE: Final = 1 / 2
"""2.2: "the value of W is halved"."""


class PaperControl(WindowControl[VegasWindow]):
    """The connection to the leader as the paper has it."""

    def _new_window(self) -> VegasWindow:
        return VegasWindow(self._options.vegas, self._options.max_window)

    def acknowledged(self, seq: int, rtt: float, now: float) -> None:
        """The leader has packet `seq`, and its round trip took `rtt`."""
        self.rtt.add(rtt)
        self.base_rtt = min(self.base_rtt, rtt)
        if self.transit.acknowledged(seq):
            self._unanswered = 0
            self.window.acknowledged(1)
        if seq > self._highest_acked:
            self._unanswered = 0
            self._highest_acked = seq
            overtaken = [other for other in self._undecided if other < seq]
            # A packet's own acknowledgment says that it was late, and not lost.
            self._undecided = [other for other in self._undecided if other > seq]
            for lost in overtaken:
                self._lost(lost)
        self._end_round(now)

    def _adjust(self, now: float) -> None:
        window = self.window
        # Who was never short of data kept the window full, but for the moments that a packet takes to follow an
        # acknowledgment.
        in_travel = float(self._most_in_travel) if self.starved else window.cwnd
        difference = vegas_difference(window.cwnd, in_travel, self.smoothed_rtt, self.base_rtt)
        window.round_trip_ended(max(0.0, difference), used=True)

    def _cut(self) -> None:
        self.window.cut(LOSS_SHARE)

    def _without_leader(self) -> None:
        """2.4: "increases the window size in one packet after each RTT to provoke a challenge"."""
        self.window.continue_from(self.window.cwnd + 1)

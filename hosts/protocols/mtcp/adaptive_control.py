"""cwnd with `rules: adaptive` (ours): hosts/parts/adaptive.py's, told of delays, of losses as far as they are common
(losses.py), and of marks likewise.
"""

from collections.abc import Iterable

from hosts.parts.adaptive import AdaptiveWindow
from hosts.parts.base_delay import WINDOW_S
from hosts.parts.loss_events import LossEvents
from hosts.protocols.mtcp.children import BASE_ROUNDS, HYSTART_SAMPLES, RUN_SAMPLES, Child
from hosts.protocols.mtcp.losses import Losses, note_loss
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.window_control import WindowControl


class AdaptiveControl(WindowControl):
    """See the module."""

    def __init__(self, options: MtcpOptions, first: int, *, own_clock: bool) -> None:
        """`first` is the first packet's sequence number; `own_clock`: children's delays are round trips."""
        self._options = options
        self._own_clock = own_clock
        self._losses = Losses(first)
        self.renew()

    def renew(self) -> None:
        self._events = LossEvents()
        self._is_marked = False
        options = self._options
        self.window = self._adaptive = AdaptiveWindow(options.vegas, options.reach, lossy_share=options.lossy_share)

    def acknowledged(self, packets: int, rtt_s: float, now: float) -> None:
        self._adaptive.acknowledged(packets, rtt_s, now)
        self._events.arrived(packets)
        if self._adaptive.is_first_slow_start:
            self._events.forget()
        elif self._is_marked or self._events.are_heavy:
            self._adaptive.signalled(rtt_s, now)
        self._is_marked = False

    def round_trip_ended(
        self, delay_s: float, rate: float, rtt_s: float, used: bool, children: Iterable[Child], now: float
    ) -> None:
        for child in children:
            child.base.window_s = max(WINDOW_S, BASE_ROUNDS * rtt_s)
        self._adaptive.round_trip_ended(delay_s, rate, max(rtt_s, delay_s), used, now)

    def measured(self, child: Child) -> None:
        # The least since the round trip began: what doubles in each comes as bursts, whose last packets wait for the
        # first ones (RFC 9406, 4.2).
        enough = RUN_SAMPLES if self.by_runs and not self._adaptive.slow_start else HYSTART_SAMPLES
        if self._adaptive.heeds_waits and child.round_samples >= enough:
            self._adaptive.waits(max(0.0, child.round_rtd - child.rtd_min))

    def lost(self, child: Child, seq: int, end: int, children: Iterable[Child]) -> bool:
        note_loss(child, seq)
        if not self._losses.means_congestion(child, seq, end, children):
            return False
        rtt_s = child.rtd_min if self._own_clock and child.rtd_min > 0 else None
        if not self._adaptive.lost(min(child.waits, default=0.0), child.loss_share, rtt_s):
            return False  # nor does it tell of others
        self._events.lost()
        return True

    def marked(self, child: Child, seq: int, end: int, children: Iterable[Child]) -> bool:
        """A mark is no link's own, however few there are (RFC 3168, 6.1.2)."""
        if not self._losses.means_congestion(child, seq, end, children):
            return False
        self._is_marked = not self._adaptive.is_first_slow_start
        return self._adaptive.lost(min(child.waits, default=0.0))

    def timed_out(self, end: int, *, again: bool) -> None:
        self._adaptive.timed_out(again=again)
        self._losses.reacted(end)

    def forgive(self) -> None:
        self._adaptive.forgive()

    def hears(self, share: float) -> None:
        self._losses.heard = share

    def blame(self) -> None:
        self._adaptive.blame()

    def cut(self, end: int) -> None:
        self._losses.reacted(end)
        self._adaptive.cut()

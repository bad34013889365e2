"""cwnd with `rules: paper`: TCP Vegas', by what waits in queues; losses and marks say nothing (MTCP, 2 and 3.5)."""

from collections.abc import Iterable

from hosts.parts.vegas import VegasWindow
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import SACK_BITS
from hosts.protocols.mtcp.window_control import WindowControl


class PaperControl(WindowControl):
    """See the module."""

    def __init__(self, options: MtcpOptions) -> None:
        self._options = options
        self.renew()

    def renew(self) -> None:
        self.window = self._vegas = VegasWindow(self._options.vegas, SACK_BITS)

    def acknowledged(self, packets: int, rtt_s: float, now: float) -> None:
        self._vegas.acknowledged(packets)

    def round_trip_ended(
        self, delay_s: float, rate: float, rtt_s: float, used: bool, children: Iterable[Child], now: float
    ) -> None:
        self._vegas.round_trip_ended(delay_s * rate, used)

    def measured(self, child: Child) -> None:
        """Vegas looks at a whole round trip."""

    def lost(self, child: Child, seq: int, end: int, children: Iterable[Child]) -> bool:
        return False

    def marked(self, child: Child, seq: int, end: int, children: Iterable[Child]) -> bool:
        return False

    def timed_out(self, end: int, *, again: bool) -> None:
        self._vegas.timed_out(again=again)

    def forgive(self) -> None:
        """It waits for everybody."""

    def hears(self, share: float) -> None:
        """No loss that is told means congestion."""

    def blame(self) -> None:
        """Every timeout is of a loss."""

    def cut(self, end: int) -> None:
        self._vegas.cut()

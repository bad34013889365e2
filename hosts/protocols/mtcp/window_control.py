"""What becomes of cwnd (3.5): what both of the session's rules answer, `paper_control` and `adaptive_control`."""

from abc import abstractmethod
from collections.abc import Iterable

from hosts.parts.adaptive import AdaptiveWindow
from hosts.parts.vegas import VegasWindow
from hosts.protocols.mtcp.children import Child


class WindowControl:
    """A parent's cwnd. Windows in packets, times in seconds on the parent's clock."""

    window: VegasWindow | AdaptiveWindow
    by_runs = False
    """Whether data leave in runs, as in real time on a fast network."""

    @abstractmethod
    def renew(self) -> None:
        """A window as in the beginning."""

    @abstractmethod
    def acknowledged(self, packets: int, rtt_s: float, now: float) -> None:
        """All children have so many packets more that were in transit."""

    @abstractmethod
    def round_trip_ended(
        self, delay_s: float, rate: float, rtt_s: float, used: bool, children: Iterable[Child], now: float
    ) -> None:
        """A round trip of `rtt_s` passed in which packets waited in queues for `delay_s` at least, on the way to who
        waits longest, and all children got `rate` packets/s. Not `used`: something else than cwnd was the limit.
        """

    @abstractmethod
    def measured(self, child: Child) -> None:
        """The child's delay was measured."""

    @abstractmethod
    def lost(self, child: Child, seq: int, end: int, children: Iterable[Child]) -> bool:
        """The child, one of `children`, lacks packet `seq`; `end`: all before it was sent. Whether that was taken for
        congestion.
        """

    @abstractmethod
    def marked(self, child: Child, seq: int, end: int, children: Iterable[Child]) -> bool:
        """A queue on the way to the child has marked packet `seq` or one before it (ECN). Likewise."""

    @abstractmethod
    def timed_out(self, end: int, *, again: bool) -> None:
        """A retransmission timer expired when all before packet `end` was sent; `again`: not for the first time."""

    @abstractmethod
    def forgive(self) -> None:
        """The timeouts were of a child that is waited for no longer, or of lost acknowledgments."""

    @abstractmethod
    def hears(self, share: float) -> None:
        """So much of what children say comes, in (0, 1]."""

    @abstractmethod
    def blame(self) -> None:
        """The timeouts were of losses on the way to a child."""

    @abstractmethod
    def cut(self, end: int) -> None:
        """Duplicate NACKs mean congestion."""

"""What a leader's REPORTs tell beside a packet's own arrival."""

from hosts.protocols.vlmcc.packets import REPORTED_BEFORE
from hosts.wire.units import MAX_U32


class Arrivals:
    """Which of the last packets arrived. Sequence numbers are unbounded integers."""

    __slots__ = ("_bits", "_highest")

    def __init__(self) -> None:
        self._highest = -1
        self._bits = 0  # bit i: of the packet i before the highest

    def arrived(self, seq: int) -> None:
        """A packet came."""
        ahead = seq - self._highest
        if ahead > 0:
            self._bits = 1 if ahead > 2 * REPORTED_BEFORE else self._bits << ahead & (1 << 2 * REPORTED_BEFORE) - 1 | 1
            self._highest = seq
        elif -ahead < 2 * REPORTED_BEFORE:
            self._bits |= 1 << -ahead

    def arrived_run(self, seq: int, count: int) -> None:
        """So many came, `seq` and those that follow it, each later than any before."""
        self.arrived(seq)
        self._bits = (self._bits << count - 1 | (1 << count - 1) - 1) & (1 << 2 * REPORTED_BEFORE) - 1
        self._highest += count - 1

    def before(self, seq: int) -> int:
        """Of the 32 packets before `seq`, as a REPORT has them."""
        return self._bits >> (self._highest - seq + 1) & MAX_U32

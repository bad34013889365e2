"""When the sender's next packet may leave: what a window allows leaves in pieces, not in one burst (ours; as Linux' TCP
with fq, and RFC 9002, 7.7).

The pace is somewhat more than a window a round trip, so that it is the window, by its acknowledgments, that limits the
rate. Beside others times between packets are random. Packets of one size in regular times hit upon a full queue again
and again, or never, while a TCP's that come between them are lost (phase effects, Floyd and Jacobson 1992, who have
senders wait for up to a packet's time likewise). Times are seconds on the sender's clock.
"""

import random
from math import inf
from typing import Final

GAIN: Final = 1.25
"""Windows a round trip: RFC 9002, 7.7 (Linux: 1.2)."""
QUANTUM_S: Final = 0.001
"""What leaves together at the pace: Linux' TCP sends the packets of 1 ms at once, too (tcp_tso_autosize)."""
PIECE_BYTES: Final = 1 << 16
"""But no more than this, what one GSO frame holds: a link's queue has to have room for it (the same)."""
LEAST_QUANTUM_S: Final = 0.00025
"""But of so long a time: a program can be woken some thousand times a second (ours)."""


class Pacer:
    """See the module."""

    __slots__ = ("_packet_bytes", "_quantum_s", "_rng", "_sent_until", "at")

    def __init__(self, rng: random.Random, packet_bytes: int) -> None:
        self._rng = rng
        self._packet_bytes = packet_bytes
        self._quantum_s = QUANTUM_S
        self._sent_until = -inf  # when all that was sent will have left at the pace
        self.at = -inf
        """When it is to be asked again."""

    def allows(self, now: float) -> bool:
        """Whether a packet may leave."""
        if self._sent_until <= now:
            return True
        self.at = max(self._sent_until, now + self._quantum_s)
        return False

    def together(self, packets_a_second: float) -> int:
        """How many may leave at once."""
        return max(1, int(packets_a_second * self._quantum_at(packets_a_second)))

    def _quantum_at(self, packets_a_second: float) -> float:
        return min(QUANTUM_S, max(LEAST_QUANTUM_S, PIECE_BYTES / (self._packet_bytes * packets_a_second)))

    def sent(self, packets_a_second: float, now: float, packets: float = 1, *, beside_others: bool = False) -> None:
        """They have left. What was not used before counts for two quanta: as long as a timer may be late. Beside others
        the next ones leave up to a packet's time sooner or later than they would."""
        if beside_others:
            packets += self._rng.uniform(-1.0, 1.0)
        self._quantum_s = self._quantum_at(packets_a_second)
        self._sent_until = max(self._sent_until, now - 2 * self._quantum_s) + packets / packets_a_second

"""The packets that the sender has under way to its leader, and Eq. (3)'s spacing of those to come."""

from collections import OrderedDict
from math import inf
from typing import Final

BURST_PACKETS: Final = 2
"""2.2: "we have limited the burst length to just two packets"."""
LATE_S: Final = 0.002
"""What a busy host's timers and turns are late does not lower the rate: what was due meanwhile leaves together (ours;
timers fire at whole milliseconds)."""


class Transit:
    """Packets by sequence number; times in seconds."""

    __slots__ = ("_sent",)

    def __init__(self) -> None:
        self._sent: OrderedDict[int, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sent)

    def sent(self, seq: int, now: float) -> None:
        """A packet left."""
        self._sent[seq] = now

    def acknowledged(self, seq: int) -> bool:
        """It arrived; whether it was still waited for."""
        return self._sent.pop(seq, None) is not None

    def before(self, seq: int) -> list[int]:
        """Those that left before packet `seq`."""
        found: list[int] = []
        for other in self._sent:
            if other >= seq:
                break
            found.append(other)
        return found

    def clear(self) -> None:
        """What is under way counts as acknowledged (2.3: another leader)."""
        self._sent.clear()

    @property
    def oldest_at(self) -> float | None:
        """When the packet that has been under way longest left."""
        return next(iter(self._sent.values()), None)

    def take_lost(self, now: float, timeout: float) -> list[int]:
        """Those under way for longer than `timeout` (2.2: rtt and four deviations); they are so no more."""
        lost = []
        while self._sent:
            seq, at = next(iter(self._sent.items()))
            if now < at + timeout:
                break
            del self._sent[seq]
            lost.append(seq)
        return lost


class BurstPacer:
    """When the next packet may leave. Two that leave together are a burst, after which Eq. (3)'s delay passes.

    Packets that leave one by one, as acknowledgments come that the bottleneck has spaced, wait only when they would be
    more than the delays allow: "a full window of packets can still be sent in just half the time of an RTT" (2.2), two
    in each delay, a burst ahead of that at most. (A packet that leaves later than its acknowledgment came finds its
    place in a full queue taken.)
    """

    __slots__ = ("_due", "_last", "next_at")

    def __init__(self) -> None:
        self._last = -inf
        self._due = -inf  # for the next packet, had those so far left half a delay apart
        self.next_at = -inf
        """When the next packet may leave."""

    def together(self, now: float, delay: float) -> int:
        """How many packets may leave at once, where they may as a run: a burst, and what was due before."""
        if now < self.next_at:
            return 0
        late = min(now - self.next_at, LATE_S)
        return BURST_PACKETS - (now == self._last) + int(late * BURST_PACKETS / delay)

    def sent_run(self, now: float, delay: float) -> None:
        """So many left."""
        self._last = now
        self.next_at = self._due = now + delay

    def sent(self, now: float, delay: float) -> None:
        """A packet left; `delay`: rtt / W, seconds."""
        if now == self._last:
            self.next_at = self._due = now + delay
        else:
            self.next_at = max(self._due, now)
            self._due = self.next_at + delay / BURST_PACKETS
        self._last = now

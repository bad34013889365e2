"""What children are presumed to have whose acknowledgments are lost (ours).

A TCP goes on when acknowledgments are lost, for the next one says the same and more. A window that waits for all of
many children has one of them silent at nearly any time, when every second acknowledgment is lost. So while some are
known to be lost, what a child has said nothing of for no longer than children are usually silent counts as arrived; but
no more than a window is sent beyond what somebody has, so that a bottleneck that all share gets no more than it takes.
A child that loses data says so by its next feedback that comes, and one that stays silent is set aside (silence.py).
"""

from collections.abc import Mapping
from typing import Final

from hosts.endpoint import Address
from hosts.parts.silence import patience_s
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.congestion import Summary

MEMORY_S: Final = 10.0
"""For so long it is known that acknowledgments are lost (ours: as long as a drain's base delay counts)."""
LOOK_S: Final = 0.05
"""So often the usual silence is looked for (ours)."""
HEARD_GAIN: Final = 1 / 16
"""Of the mean share of answers, with each probe: a few seconds' of as many children (ours)."""
LEAST_HEARD: Final = 1 / 8
"""No less than that is believed (ours)."""


class Presumed:
    """Of one parent's children. Times in seconds on its clock."""

    def __init__(self, children: Mapping[Address, Child]) -> None:
        self._children = children
        self._until = 0.0
        self._look_at = 0.0
        self._rounds = 0.0
        self.rtt_s = 0.0
        """The longest of the children's, as it was when it was looked for."""
        self.repair_bytes = 0
        """What was repaired in the last round trip: it is on its way, too."""
        self._heard = 1.0  # of the answers to probes
        self.is_on = False
        """Whether acknowledgments are known to be lost lately."""

    @property
    def heard(self) -> float:
        """The share of what children say that comes, in (0, 1]; 1 while none is known to be lost."""
        return max(self._heard, LEAST_HEARD) if self.is_on else 1.0

    def probed(self, child: Child) -> None:
        """It is asked for an answer, and should have answered the question before."""
        if child.rtt.samples:
            self._heard += ((not child.probe_waits) - self._heard) * HEARD_GAIN
        child.probe_waits = True

    def misheard(self, now: float) -> None:
        """A child has said something that did not come."""
        self._until = now + MEMORY_S
        self.look(now)

    def look(self, now: float) -> None:
        """At any time: how long children are silent, in round trips."""
        self.is_on = now < self._until
        if not self.is_on or now < self._look_at:
            return
        self._look_at = now + LOOK_S
        listened = [child for child in self._children.values() if not child.aside and child.rtd.samples]
        rtt = self.rtt_s = max((child.rtd.mean for child in listened), default=0.0)
        usual = max((min(child.interval.timeout or 0.0, patience_s(rtt)) for child in listened), default=0.0)
        self._rounds = usual / rtt if rtt > 0 else 0.0

    def less(self, summary: Summary, end_offset: int) -> Summary:
        """The summary, without what is presumed to have arrived of all before `end_offset`."""
        front = max((child.highest_offset for child in self._children.values() if not child.aside), default=0)
        late = int(summary.min_cwnd * self._rounds)
        max_twnd = min(summary.max_twnd, max(end_offset - front, summary.max_twnd - late))
        return summary._replace(max_twnd=max_twnd + self.repair_bytes)

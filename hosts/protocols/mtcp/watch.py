"""Whether a parent that is there does what it is for (ours): repairs what a child lacks, and tells the sender of it.

An agent that answers probes and passes nothing on would hold its children, and a sender without other children, for
ever. What is missing is repaired within the time in which a silent parent is taken for dead, or the parent is left.
When nothing is missing and nothing comes, either the sender has nothing to send, or it waits for what the parent does
not tell: then it is asked whether it knows of this receiver at all.
"""

import enum

from hosts.endpoint import Address
from hosts.parts.sack import ReceivedSet
from hosts.protocols.mtcp.options import MtcpOptions

LOOKS = 4
"""In so many looks, one after the other, nothing has changed for the better: then it is time (ours)."""
FEW = 4
"""Packets between two looks at most are as good as none: a sender that nobody answers tries one now and then (ours)."""
UNKNOWN = 2
"""And so many times the sender has said that it does not know of one: a report may be on its way (ours)."""
MOST_LEVELS = 3
"""For so many levels of a lineage each parent is given the time that its own takes to be found out; beyond that a false
lineage would buy time (ours)."""
MOST_AVOIDED = 64
"""Parents that are remembered (ours: more than a stranger has addresses in most networks)."""


class Verdict(enum.Enum):
    """What to do about the parent."""

    STAY = enum.auto()
    ASK = enum.auto()  # the sender, whether it knows of this receiver
    LEAVE = enum.auto()


class ParentWatch:
    """Of one receiver. Times are seconds on its clock."""

    __slots__ = ("_ask", "_gap_looks", "_options", "_quiet_looks", "_seen", "_unknown", "at", "avoided")

    def __init__(self, options: MtcpOptions) -> None:
        self._options = options
        self.at = 0.0
        """When to look next."""
        self.avoided: dict[Address, None] = {}
        """Who was left for what it did not do, the latest last."""
        self.begin(0.0)

    def begin(self, now: float) -> None:
        """There is a new parent."""
        self.at = now
        self._seen = (-1, -1)  # the first packet that is missing, and one more than the last that came
        self._gap_looks = self._quiet_looks = self._unknown = 0
        self._ask = True

    def look(self, received: ReceivedSet, levels: int, now: float, *, ended: bool) -> Verdict:
        """Time has passed. `levels` are from here up to the sender, `ended`: all of the stream is there."""
        self.at = now + self._options.parent_timeout_s / LOOKS
        before, self._seen = self._seen, (received.cumulative, received.end)
        has_gap = received.has_gap
        self._gap_looks = self._gap_looks + 1 if has_gap and before[0] == received.cumulative else 0
        is_quiet = not has_gap and not ended and received.end <= before[1] + FEW
        self._quiet_looks = self._quiet_looks + 1 if is_quiet else 0
        if self._gap_looks >= LOOKS * min(max(1, levels), MOST_LEVELS):
            return Verdict.LEAVE
        return Verdict.ASK if self._ask and self._quiet_looks >= LOOKS else Verdict.STAY

    def told(self, *, is_known: bool) -> Verdict:
        """The sender knows of this receiver, or does not."""
        if not self._ask or self._quiet_looks < LOOKS:
            return Verdict.STAY
        self._ask = not is_known
        self._unknown += not is_known
        return Verdict.LEAVE if self._unknown >= UNKNOWN else Verdict.STAY

    def avoid(self, parent: Address) -> None:
        """It is not to be chosen again."""
        self.avoided.pop(parent, None)
        self.avoided[parent] = None
        if len(self.avoided) > MOST_AVOIDED:
            del self.avoided[next(iter(self.avoided))]

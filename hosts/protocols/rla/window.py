"""What RLA's sender may send next (3.3): from the highest packet that all receivers have on as many as the window has
room for, no more than the slowest receiver's buffer takes (rule 5), and none that could not be kept for one that is set
aside.
"""

import math
from collections.abc import Mapping

from hosts.endpoint import Address
from hosts.protocols.rla.advertised import Advertised
from hosts.protocols.rla.answers import EACH, Answers, Unheard, wanted
from hosts.protocols.rla.branch import Branch
from hosts.protocols.rla.inflight import InFlight
from hosts.protocols.rla.listening import RandomListening
from hosts.protocols.rla.options import RlaOptions
from hosts.protocols.rla.packets import WINDOW_PACKETS
from hosts.protocols.rla.repairs import Repairs


class Window:
    """Reads what the others keep of the session. Times are seconds of the sender's clock."""

    def __init__(
        self,
        options: RlaOptions,
        listening: RandomListening,
        inflight: InFlight,
        advertised: Advertised,
        repairs: Repairs,
        branches: Mapping[Address, Branch],
    ) -> None:
        self._options = options
        self._listening = listening
        self._inflight = inflight
        self._advertised = advertised
        self._repairs = repairs
        self._branches = branches
        self._unheard = Unheard()
        self.max_reach_all = -1
        """The highest packet that every receiver has."""
        self.srtt_max = 0.0
        """The longest round trip of a receiver that is listened to."""
        self.is_helped = options.assist == "switch"
        """Whether switches may merge acknowledgments."""

    def limit(self, size: int, now: float) -> str | None:
        """What keeps a new packet of `size` bytes from being sent; None: nothing."""
        inflight = self._inflight
        end, until = inflight.end, inflight.end_offset + size
        if end + self._repeats(now) > self._unheard.window_end(self.max_reach_all, self._listening.cwnd):
            return "cwnd"
        if now < self._unheard.paced_until:
            return "pacing"
        if not self._advertised.takes(until):
            return "advertised_window"
        if end - inflight.base >= WINDOW_PACKETS:
            return "sack"
        if self._keeps and not self.is_kept(inflight.kept_from, size):
            return "kept"
        return None

    def room(self, size: int, most: int, now: float) -> int:
        """How many new packets of `size` bytes may leave together, `most` at most; 0 where each is to be asked for
        (`limit`): answers are few and the packets paced, or what is sent is kept for somebody who is set aside."""
        inflight = self._inflight
        if inflight.set_aside or self._wanted.waits or self._unheard.answers.waits:
            return 0
        if self._keeps and not self.is_kept(inflight.kept_from, most * size):
            return 0
        end = inflight.end + self._repeats(now)
        within_cwnd = math.floor(self._unheard.window_end(self.max_reach_all, self._listening.cwnd) - end) + 1
        until = inflight.end_offset + most * size
        in_buffers = (self._advertised.open_until(until) - inflight.end_offset) // size
        return max(0, min(most, within_cwnd, in_buffers, WINDOW_PACKETS - (inflight.end - inflight.base)))

    def _repeats(self, now: float) -> int:
        """That are in flight (RFC 6675, 4; none by the paper's rules). Who says little of what it has says as little of
        what it got again."""
        if self._options.rules != "tcp":
            return 0
        if self._unheard.answers.waits:
            return self._repairs.since(now - self.srtt_max)
        return self._repairs.outstanding

    def repeats_allowed(self, now: float) -> int | None:
        """What may be sent again at once; None: all. Where answers come late, many packets may be lost before the first
        one shows it, which would be lost again as a burst: so no more than the window, and one that tells the time.
        """
        if not self._unheard.answers.waits:
            return None
        return max(1, int(self._listening.cwnd) - self._repeats(now))

    @property
    def _keeps(self) -> bool:
        """Whether more is kept than what is in flight."""
        return bool(self._inflight.set_aside) or self._inflight.unsure_from is not None

    def is_kept(self, first: int, size: int) -> bool:
        """Whether all from packet `first` on may be kept with `size` bytes more."""
        inflight = self._inflight
        kept_bytes = inflight.end_offset + size - inflight.offset(first)
        return inflight.end - first < WINDOW_PACKETS and kept_bytes <= self._options.kept_bytes

    def beyond_kept(self, first: int) -> int | None:
        """Bytes from packet `first` on, where that is more than may be kept with another packet; None: it is not."""
        inflight = self._inflight
        is_kept = self.is_kept(first, self._options.payload_bytes)
        return None if is_kept else inflight.end_offset - inflight.offset(first)

    @property
    def _wanted(self) -> Answers:
        """Of the receivers to the packet that is sent now. Switches that merge answers need every one."""
        if self._options.rules == "paper" or self.is_helped:
            return EACH
        return wanted(len(self._branches), self._listening.cwnd, self.srtt_max, self._options.payload_bytes)

    @property
    def longest_wait(self) -> float:
        """Of an answer, in seconds."""
        return self._unheard.answers.rounds * self.srtt_max

    @property
    def answers(self) -> Answers:
        """Wanted to the packet that was sent last."""
        return self._unheard.answers

    @property
    def paced_until(self) -> float:
        """When the next packet may leave that the window lets go."""
        return self._unheard.paced_until

    def sent(self, now: float) -> None:
        """Packets leave."""
        self._unheard.sent(self._wanted, self._listening.cwnd, self.srtt_max, now)

    def late(self, silence_s: float) -> None:
        """Answers come within such a time, mostly: what is lost of them counts."""
        self._unheard.late(silence_s, self.srtt_max)

    def listens_to_others(self) -> None:
        """Than before: the longest round trip is one of theirs."""
        set_aside = self._inflight.set_aside
        listened = (branch for branch in self._branches.values() if branch.number not in set_aside)
        self.srtt_max = max((branch.believed_rtt_s for branch in listened), default=0.0)

    def goes_back(self) -> None:
        """Some have less than was believed."""
        self.max_reach_all = min(self.max_reach_all, self._inflight.base - 1)

    def heard_of(self, highest: int) -> None:
        """Somebody has this packet."""
        self._unheard.has(highest)

"""Who leads (2.3, 2.4): challenges are accepted, ignored while a new leader settles, or refused."""

import enum
from dataclasses import dataclass

from hosts.endpoint import Address
from hosts.protocols.vlmcc.options import VlmccOptions
from hosts.protocols.vlmcc.packets import UNIT, Challenge


@dataclass(slots=True)
class Leader:
    """The receiver that acknowledges. Times in seconds on the sender's clock."""

    receiver: int
    address: Address
    since: float
    settled_at: float
    """Before that no other challenge is heard."""
    heard_at: float


class Verdict(enum.Enum):
    """On a challenge; the values name its counter."""

    ACCEPTED = "challenges_accepted"
    SETTLING = "challenges_while_settling"
    TOO_SLOW = "challenges_refused"
    NOT_WORSE = "challenges_outdated"


class Election:
    """The leader, and the one before it."""

    def __init__(self, options: VlmccOptions) -> None:
        self._options = options
        self.leader: Leader | None = None
        self.previous: Leader | None = None
        """Who led until it fell silent."""

    def judge(self, challenge: Challenge, rate: float, now: float) -> Verdict:
        """`rate`: W / rtt of the sender, packets per second. A challenge may have been true only when it was sent."""
        options = self._options
        if challenge.rate / UNIT * options.packet_bytes * 8 < options.least_rate_bps:
            return Verdict.TOO_SLOW
        leader = self.leader
        if leader is None:
            return Verdict.ACCEPTED
        if self.is_settling(now):
            return Verdict.SETTLING
        rtt = challenge.rtt_us * 1e-6
        if challenge.rate / UNIT + options.n_extra / rtt >= rate:  # Eq. (6)
            return Verdict.NOT_WORSE
        return Verdict.ACCEPTED

    def is_settling(self, now: float) -> bool:
        """Whether challenges are ignored, for the leader is new."""
        return self.leader is not None and now < self.leader.settled_at

    def elect(self, receiver: int, address: Address, rtt: float, now: float) -> Leader:
        """A receiver leads from now on, and has `rtt` (seconds) for its round trip."""
        leader = Leader(receiver, address, now, now + self._options.settling_rtts * rtt, now)
        self.leader = leader
        self.previous = None
        return leader

    def lose(self) -> None:
        """The leader is silent."""
        self.previous, self.leader = self.leader, None

    def reinstate(self, now: float) -> None:
        """The silent one has spoken."""
        self.leader, self.previous = self.previous, None
        if self.leader is not None:
            self.leader.heard_at = now

    def leads(self, receiver: int) -> bool:
        """Whether it is the leader, or was until it fell silent."""
        return any(one is not None and one.receiver == receiver for one in (self.leader, self.previous))

    def remove(self, receiver: int) -> bool:
        """A receiver has left; whether it was the leader."""
        if self.previous is not None and self.previous.receiver == receiver:
            self.previous = None
        if self.leader is not None and self.leader.receiver == receiver:
            self.leader = None
            return True
        return False

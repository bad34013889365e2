"""Who leads (2.3, 2.4): challenges are accepted, ignored while a new leader settles, or refused."""

import enum
from collections import OrderedDict
from dataclasses import dataclass
from math import inf
from typing import Final

from hosts.endpoint import Address
from hosts.protocols.vlmcc.options import VlmccOptions
from hosts.protocols.vlmcc.packets import Challenge
from hosts.wire.units import UNIT

PROOF_RTTS: Final = 3.0
LEAST_PROOF_S: Final = 1.0
"""A challenger that leads is to acknowledge something within so many times what its challenge took, and at least so
long (ours): else a word would do to stop the session."""
FIRST_PROOF_S: Final = 2.0
MOST_FIRST_PROOF_S: Final = 8.0
"""The session's first leader, whose round trip time nobody knows, has so long: RFC 6298's first timeout (1 s), behind
the half second between two packets of a session that nobody leads, and as much again. Twice as long each time that it
was not enough, up to twice the largest round trip that counts (ours)."""
DISTRUST_S: Final = 60.0
"""One that did not is not heard for so long (ours)."""
MOST_DISTRUSTED: Final = 64
"""So many are remembered (ours)."""


@dataclass(slots=True)
class Leader:
    """The receiver that acknowledges. Times in seconds on the sender's clock."""

    receiver: int
    address: Address
    since: float
    settled_at: float
    """Before that no other challenge is heard."""
    heard_at: float
    first: int
    """The first packet that was sent since: what it says of others proves nothing, for anybody may have heard them."""
    prove_by: float = inf
    """Unless it has acknowledged something by then it is no leader; inf: it has."""

    def acknowledges(self, seq: int, now: float) -> None:
        """It says that it has a packet."""
        self.heard_at = now
        if seq >= self.first:
            self.prove_by = inf


class Verdict(enum.Enum):
    """On a challenge; the values name its counter."""

    ACCEPTED = "challenges_accepted"
    SETTLING = "challenges_while_settling"
    TOO_SLOW = "challenges_refused"
    NOT_WORSE = "challenges_outdated"
    DISTRUSTED = "challenges_distrusted"


class Election:
    """The leader, and the one before it."""

    def __init__(self, options: VlmccOptions) -> None:
        self._options = options
        self.leader: Leader | None = None
        self.previous: Leader | None = None
        """Who led until it fell silent."""
        self._distrusted: OrderedDict[int, float] = OrderedDict()  # until when
        self._first_proof_s = FIRST_PROOF_S

    def judge(self, challenge: Challenge, rate: float, now: float) -> Verdict:
        """`rate`: W / rtt of the sender, packets per second. A challenge may have been true only when it was sent."""
        options = self._options
        if challenge.rate / UNIT * options.packet_bytes * 8 < options.least_rate_bps:
            return Verdict.TOO_SLOW
        if now < self._distrusted.get(challenge.receiver, 0.0):
            return Verdict.DISTRUSTED
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

    def elect(self, receiver: int, address: Address, rtt: float, seq: int, now: float) -> Leader:
        """A receiver leads from now on, and has `rtt` (seconds) for its round trip; `seq` is the next packet."""
        leader = Leader(receiver, address, now, now + self._options.settling_rtts * rtt, now, seq)
        self.leader = leader
        self.previous = None
        return leader

    def elect_first(self, receiver: int, address: Address, seq: int, now: float) -> None:
        """Nobody leads, and the first who asks does."""
        leader = self.elect(receiver, address, 0.0, seq, now)
        if self._options.adaptive:
            leader.prove_by = now + self._first_proof_s
            self._first_proof_s = min(2 * self._first_proof_s, MOST_FIRST_PROOF_S)

    def lose(self) -> None:
        """The leader is silent."""
        self.previous, self.leader = self.leader, None

    def distrust(self, now: float) -> None:
        """The leader took the lead and never acknowledged anything."""
        if self.leader is None:
            return
        self._distrusted[self.leader.receiver] = now + DISTRUST_S
        self._distrusted.move_to_end(self.leader.receiver)
        if len(self._distrusted) > MOST_DISTRUSTED:
            self._distrusted.popitem(last=False)

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

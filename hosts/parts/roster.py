"""The receivers of a file: each has joined while its first block was there, and confirms its end or is left behind
(ours)."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from typing import Final, NamedTuple

from hosts.endpoint import Address, PeerDropped, PeerFinished, SessionEnded
from hosts.parts.silence import UNPROVEN_S, Presence, is_success
from hosts.wire.reason import Reason

MOST_RECEIVERS: Final = 1 << 16
"""Of one session, those that are through included (ours)."""


@dataclass(slots=True)
class Member:
    """A receiver. Times in seconds on the sender's clock."""

    address: Address
    heard_at: float
    progress_at: float
    rtt: float
    is_measured: bool = True
    """Whether its round trip time is no guess: it has answered something that we have said."""
    delivered: int = 0
    """Blocks that its application has, in order."""
    feedback: int = 0
    presence: Presence = field(default_factory=Presence)
    news_at: float = -inf
    """When it last told what it had not told before."""
    _said: dict[type, object] = field(default_factory=dict)

    def heard(self, now: float) -> None:
        """It has told of its reception."""
        self.heard_at = now
        self.feedback += 1

    def says(self, what: object, now: float) -> None:
        """Of its reception. Said again it shows nothing: anybody could who has heard it once."""
        kind = type(what)
        if self._said.get(kind) != what:
            self._said[kind] = what
            self.news_at = now
            self.presence.told(now)


class Ended(NamedTuple):
    """A receiver that is through."""

    state: str
    """complete, left, or lost."""
    reason: Reason
    member: Member

    @property
    def text(self) -> str:
        """Why, when it has not the whole."""
        return "" if self.state == "complete" else self.reason.text


class Roster:
    """See the module."""

    def __init__(self, counters: Counter[str]) -> None:
        self.members: dict[int, Member] = {}
        self.ended: dict[Address, Ended] = {}
        self._counters = counters

    def __len__(self) -> int:
        return len(self.members)

    def admission(self, receiver: int, source: Address, *, begun: bool) -> Reason | None:
        """What is answered to a JOIN: NONE is welcome (or is a member); None: somebody else has that id."""
        known = self.members.get(receiver)
        if known is not None:
            if known.address == source:
                return Reason.NONE
            self._counters["drop_forged"] += 1
            return None
        if begun or source in self.ended:
            return Reason.STARTED
        return Reason.FULL if len(self.members) + len(self.ended) >= MOST_RECEIVERS else Reason.NONE

    def member(self, receiver: int, source: Address) -> Member | None:
        """Who says something; None, and a drop counted, when it is no member."""
        member = self.members.get(receiver)
        if member is None:
            self._counters["drop_late" if source in self.ended else "drop_stranger"] += 1
        elif member.address != source:
            self._counters["drop_forged"] += 1
            return None
        return member

    def remove(self, receiver: int, state: str, reason: Reason, blocks: int) -> PeerDropped | PeerFinished:
        """A receiver is through: complete, left or lost; so many blocks there are."""
        member = self.members.pop(receiver)
        if state == "complete":
            member.delivered = blocks
        ended = self.ended[member.address] = Ended(state, reason, member)
        if state == "lost":
            return PeerDropped(member.address, ended.text)
        return PeerFinished(member.address, state == "complete", ended.text)

    def overdue(
        self,
        passed: int,
        patience_s: float,
        now: float,
        *,
        turn_s: float = 0.0,
        waits: bool = False,
        ended: bool = False,
    ) -> list[tuple[int, Reason]]:
        """Who has been silent, or has not got on, for too long; so many blocks have been sent. `turn_s`: nobody may say
        anything for so long; `waits`: there is nothing to send before somebody says what it has or lacks; `ended`:
        all blocks have been sent, so that who has all has to say that it is through.
        """
        patience_s = max(patience_s, turn_s)
        # Who has said next to nothing may not be there: it has less time while the others wait.
        unproven_s = max(min(patience_s, UNPROVEN_S), turn_s) if waits else patience_s
        found = []
        for receiver, member in self.members.items():
            if member.delivered >= passed and not ended:
                member.progress_at = now  # there was nothing to make progress with
            if not member.presence.is_proven:
                said_at = member.heard_at
                if self.whole:  # then the same said again is nothing said; till then all may wait for one another
                    said_at = min(said_at, max(member.news_at, member.progress_at))
                if now > member.heard_at + patience_s or now > said_at + unproven_s:
                    found.append((receiver, Reason.UNPROVEN))
            elif now > member.heard_at + patience_s:
                found.append((receiver, Reason.SILENT))
            elif now > member.progress_at + patience_s:
                found.append((receiver, Reason.STALLED))
        return found

    def least_delivered(self, otherwise: int) -> int:
        """Blocks that all have; `otherwise`: when nobody is there."""
        return min((member.delivered for member in self.members.values()), default=otherwise)

    @property
    def is_over(self) -> bool:
        """Whether somebody who was there is through."""
        return any(ended.state != "lost" or ended.reason is not Reason.UNPROVEN for ended in self.ended.values())

    @property
    def whole(self) -> int:
        """How many have the whole."""
        return sum(ended.state == "complete" for ended in self.ended.values())

    def end(self, wanted: int, *, all_sent: bool) -> SessionEnded:
        """What has come of the session, which was for so many."""
        failed = {address: ended for address, ended in self.ended.items() if ended.state != "complete"}
        detail = "; ".join(f"{address}: {ended.text}" for address, ended in failed.items())
        if not all_sent:
            detail = "no receiver is left" + (f" ({detail})" if failed else "")
        reasons = [ended.reason if ended.state == "lost" else Reason.FAILED for ended in failed.values()]
        return SessionEnded(all_sent and is_success(reasons, self.whole, wanted), detail)

    def rows(self, end_of: Callable[[int], int], now: float) -> dict[str, object]:
        """By host, as the trace shows them; `end_of`: bytes in so many blocks."""
        everybody = [(member, "active") for member in self.members.values()]
        everybody += [(ended.member, ended.state) for ended in self.ended.values()]
        return {
            member.address.host: {
                "acked_bytes": end_of(member.delivered),
                "rtt_s": member.rtt,
                "feedback_packets": member.feedback,
                "last_heard_s": now - member.heard_at,
                "state": state,
            }
            for member, state in everybody
        }

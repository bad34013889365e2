"""The receivers of a file: each has joined before it begins, and each confirms its end or is left behind (ours)."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from hosts.endpoint import Address, PeerDropped, PeerFinished, SessionEnded
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
    delivered: int = 0
    """Blocks that its application has, in order."""
    feedback: int = 0

    def heard(self, now: float) -> None:
        """It has told of its reception."""
        self.heard_at = now
        self.feedback += 1


class Roster:
    """See the module."""

    def __init__(self, counters: Counter[str]) -> None:
        self.members: dict[int, Member] = {}
        self.ended: dict[Address, tuple[str, str, Member]] = {}
        """Receivers that are through: state, reason."""
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
        text = "" if state == "complete" else reason.text
        if state == "complete":
            member.delivered = blocks
        self.ended[member.address] = (state, text, member)
        if state == "lost":
            return PeerDropped(member.address, text)
        return PeerFinished(member.address, state == "complete", text)

    def overdue(self, passed: int, patience_s: float, now: float) -> list[tuple[int, Reason]]:
        """Who has been silent, or has not got on, for too long; so many blocks have been sent."""
        found = []
        for receiver, member in self.members.items():
            if now > member.heard_at + patience_s:
                found.append((receiver, Reason.SILENT))
            elif member.delivered < passed and now > member.progress_at + patience_s:
                found.append((receiver, Reason.STALLED))
        return found

    def least_delivered(self, otherwise: int) -> int:
        """Blocks that all have; `otherwise`: when nobody is there."""
        return min((member.delivered for member in self.members.values()), default=otherwise)

    def end(self, *, all_sent: bool) -> SessionEnded:
        """What has come of the session."""
        failed = [f"{address}: {reason}" for address, (state, reason, _) in self.ended.items() if state != "complete"]
        detail = "; ".join(failed)
        if not all_sent:
            detail = "no receiver is left" + (f" ({detail})" if failed else "")
        return SessionEnded(not failed and all_sent, detail)

    def rows(self, end_of: Callable[[int], int], now: float) -> dict[str, object]:
        """By host, as the trace shows them; `end_of`: bytes in so many blocks."""
        everybody = [(member, "active") for member in self.members.values()]
        everybody += [(member, state) for state, _, member in self.ended.values()]
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

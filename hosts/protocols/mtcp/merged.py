"""Feedback that a switch has merged from several children's (docs/assist.md): whom it speaks for, and what they have.

It says for all of `children` at once what they have in common; its timing is the child `number`'s own, who sent the
packet that the switch rewrote. Nothing in it is a NACK: those come unmerged, from the child that lacks something, and
so does the feedback that answers a repair. What it says holds for exactly the children that it names, so that a switch
that has forgotten some, or all, of its state can never make the parent forget what a child lacks.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from hosts.endpoint import Effect
from hosts.parts.sack import Scoreboard, bits
from hosts.parts.witness import Said, Witness
from hosts.protocols.mtcp.advertised import AdvertisedWindows
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.packets import Feedback
from hosts.protocols.mtcp.retransmission import Retransmission
from hosts.protocols.mtcp.store import PacketStore


def said(store: PacketStore, cumulative: int, feedback: Feedback) -> Said:
    """What feedback says, to be compared with what others say; `store` has the packets that it names."""
    offset, _ = store.offsets(cumulative, feedback.sack)
    end = None if offset is None else offset + feedback.window
    return Said(cumulative, feedback.sack, end, feedback.min_cwnd, feedback.max_twnd)


class Merged:
    """Of one parent. Times are seconds on its clock."""

    __slots__ = (
        "_advertised",
        "_board",
        "_by_number",
        "_counters",
        "_members",
        "_numbers",
        "_repeated_counter",
        "_retransmission",
        "_store",
        "_summaries_counter",
        "witness",
    )

    def __init__(
        self,
        counters: Counter[str],
        prefix: str,
        by_number: Mapping[int, Child],
        store: PacketStore,
        board: Scoreboard,
        advertised: AdvertisedWindows,
        retransmission: Retransmission,
    ) -> None:
        """`prefix`: of the counters' names."""
        self._counters = counters
        self._summaries_counter = f"{prefix}summaries"
        self._repeated_counter = f"{prefix}repeated_nacks"
        self._by_number = by_number
        self._store = store
        self._board = board
        self._advertised = advertised
        self._retransmission = retransmission
        self._numbers = 0
        self._members: list[Child] | None = None
        self.witness: Witness | None = None

    def is_wanted(self, child: Child, feedback: Feedback) -> bool:
        """Whether it may be of this child, who let switches merge what it says."""
        if child.merge and feedback.number == child.number and feedback.children >> child.number & 1:
            return True
        self._counters["drop_unwanted_summary"] += 1
        return False

    def arrived(self, feedback: Feedback) -> list[Child]:
        """Those for whom it speaks: who is there of them and may be merged, by their numbers."""
        self._counters[self._summaries_counter] += 1
        self._counters[self._repeated_counter] += feedback.repeats
        if feedback.children != self._numbers or self._members is None:
            # Who is left out, and was in the last, is on its own again.
            for left_out in self._those(self._numbers & ~feedback.children):
                left_out.on_its_own()
            self._numbers = feedback.children
            self._members = self._named(feedback)
        return self._members

    def _named(self, feedback: Feedback) -> list[Child]:
        return [child for child in self._those(feedback.children) if child.merge]

    def told_of_unsent(self, feedback: Feedback, now: float) -> None:
        """A switch has said that children have what was never sent."""
        if self.witness is not None:
            self.witness.impossible([member.address for member in self._named(feedback)], now)

    def misquotes(self, members: Sequence[Child], cumulative: int, feedback: Feedback, now: float) -> bool:
        """Whether a switch is found to say of them what they did not; the family then ends that."""
        if self.witness is None:
            return False
        addresses = [member.address for member in members]
        return self.witness.claimed(addresses, said(self._store, cumulative, feedback), now)

    def _those(self, numbers: int) -> list[Child]:
        return [self._by_number[number] for number in bits(numbers) if number in self._by_number]

    def forget(self) -> None:
        """A child has come or gone; another one may have its number."""
        self._members = None

    def acknowledge(self, members: Sequence[Child], cumulative: int, feedback: Feedback, now: float) -> int:
        """Put down that they live and what they have: all before packet `cumulative`, for which some of them are waited
        (`holders`), and are to be repaired when it times out. Returns what all children have now, as the board does.
        """
        holders = feedback.holders
        offset, highest = self._store.offsets(cumulative, feedback.sack)
        opened = []
        for member in members:
            member.heard_at = member.answered_at = now
            member.summarised = True
            member.holds = bool(holders >> member.number & 1)
            if not member.holds:
                member.progress_at = now
            if member.acknowledged(cumulative, feedback.window, offset, highest, now):
                opened.append(member)
        if opened:
            self._advertised.update_all(opened)
        numbers = [member.number for member in members]
        news: list[tuple[Child, int]] = []
        if self._retransmission.repairing:
            repairing = [member for member in members if member.repairs]
            news = [(member, self._board.news(member.number, cumulative, feedback.sack)) for member in repairing]
        fresh = self._board.acknowledge_all(numbers, cumulative, feedback.sack, self._store.end)
        for member, new in news:
            self._retransmission.settle(member, new, now)
        return fresh

    def repair(self, members: Sequence[Child], now: float, effects: list[Effect]) -> None:
        """Send what they still lack."""
        if self._retransmission.repairing:
            for member in members:
                if member.repairs:
                    self._retransmission.send(member, now, effects)

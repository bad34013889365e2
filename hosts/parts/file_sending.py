"""The sender of a file between its receivers and its blocks: what they have, what they lack, and who is through."""

from collections import Counter

from hosts.endpoint import Address, PeerDropped, PeerFinished, Sample
from hosts.parts.fec.outgoing import OutgoingBlocks
from hosts.parts.roster import Member, Roster
from hosts.parts.silence import START_BLOCKS
from hosts.wire.farewell import MemberFin
from hosts.wire.reason import Reason


class FileSending:
    """See the module."""

    def __init__(self, counters: Counter[str], payload_bytes: int, open_blocks: int) -> None:
        """Packets carry so many bytes; of so many blocks somebody may lack something at a time."""
        self.roster = Roster(counters)
        self.blocks = OutgoingBlocks(payload_bytes, open_blocks)
        self._counters = counters

    def begin(self, now: float) -> None:
        """The file begins: all have been heard."""
        for member in self.roster.members.values():
            member.heard_at = member.progress_at = now

    def told(self, member: Member, delivered: int, needs: tuple[tuple[int, int], ...], seq: int, now: float) -> None:
        """A receiver has handed over so many blocks and, when packet `seq` came last, lacked (block, packets) these."""
        self._counters["feedback_packets"] += 1
        member.heard(now)
        member.says((delivered, needs, seq), now)
        if member.delivered < delivered <= self.blocks.passed:
            member.delivered = delivered
            member.progress_at = now
            self.free()
        self.blocks.need(needs, seq)

    def free(self) -> None:
        """Blocks that all have are kept no longer. All are when nobody is there who needs them, and the first one
        until all have another: somebody may come."""
        delivered = self.roster.least_delivered(0)
        if delivered > START_BLOCKS:
            self.blocks.free(delivered)

    def is_strange(self, fin: MemberFin, source: Address) -> bool:
        """Whether a FIN is of nobody who takes part or has; a drop is counted then."""
        if fin.receiver in self.roster.members or source in self.roster.ended:
            return False
        self._counters["drop_stranger"] += 1
        return True

    def verdict(self, fin: MemberFin, source: Address) -> tuple[str, Reason] | None:
        """How a receiver has ended, and why; None: it has before. Who claims the whole of what is not made yet has
        not."""
        member = self.roster.members.get(fin.receiver)
        if member is None or member.address != source:
            return None
        complete = fin.complete and self.blocks.all_made
        reason = fin.reason if complete == fin.complete else Reason.BROKEN_STREAM
        return "complete" if complete else "left", reason

    def remove(self, receiver: int, state: str, reason: Reason) -> PeerDropped | PeerFinished:
        """A receiver is through; what it held back goes on."""
        event = self.roster.remove(receiver, state, reason, self.blocks.made)
        self.free()
        return event

    def sample(self, now: float) -> Sample:
        """What a sender of files shows beside what others show."""
        blocks = self.blocks
        return {
            "sent_bytes": blocks.end_of(blocks.passed),
            "acked_bytes": blocks.end_of(self.roster.least_delivered(blocks.passed)),
            "repair_packets": blocks.repair_packets,
            "receivers": self.roster.rows(blocks.end_of, now),
        }

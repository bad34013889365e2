"""What RLA's sender has sent and somebody lacks, and which receiver has what of it.

The window waits for the receivers that are listened to. One that is set aside, for nothing comes from it, is waited for
no longer, but what it lacks is kept, so that it can be sent when it is back.
"""

from hosts.parts.sack import Scoreboard
from hosts.protocols.rla.branch import Branch


class Packet:
    """Of the stream."""

    __slots__ = ("end", "first_sent_at", "lost_by", "offset", "payload", "sent_at")

    def __init__(self, offset: int, payload: bytes, end: bool, sent_at: float) -> None:
        self.offset = offset
        self.payload = payload
        self.end = end
        self.first_sent_at = sent_at
        self.sent_at = sent_at  # the last time
        self.lost_by: set[int] = set()  # numbers of receivers that lack it and wait for a retransmission


class InFlight:
    """Sequence numbers are extended ones. Receivers go by their numbers."""

    def __init__(self) -> None:
        self.packets: dict[int, Packet] = {}
        self.end = 0
        """The packet that is sent next."""
        self.end_offset = 0
        self.listened = Scoreboard(0)
        self.aside = Scoreboard(0)
        self.set_aside: set[int] = set()
        self.held_from = 0
        """The first packet that is there."""
        self.unsure_from: int | None = None
        """The first packet that somebody has not said itself to have, whatever switches say; None: they are believed.
        """

    @property
    def base(self) -> int:
        """The first packet that some receiver lacks which is listened to (min_last_ack + 1)."""
        return self.listened.base

    @property
    def kept_from(self) -> int:
        """The first packet that somebody lacks, or may lack."""
        lacked = min(self.listened.base, self.aside.base) if self.set_aside else self.listened.base
        return lacked if self.unsure_from is None else min(lacked, self.unsure_from)

    def offset(self, seq: int) -> int:
        """A packet's place in the stream; of one that is not sent yet, the next one's."""
        packet = self.packets.get(seq)
        return self.end_offset if packet is None else packet.offset

    def board(self, branch: Branch) -> Scoreboard:
        """The one that this receiver is on."""
        return self.aside if branch.number in self.set_aside else self.listened

    def append(self, payload: bytes, end: bool, now: float) -> Packet:
        """The next packet."""
        packet = self.packets[self.end] = Packet(self.end_offset, payload, end, now)
        self.end += 1
        self.end_offset += len(payload)
        return packet

    def append_run(self, payload: bytes, size: int, now: float) -> None:
        """The next packets, each with `size` bytes."""
        packets, seq, offset = self.packets, self.end, self.end_offset
        for at in range(0, len(payload), size):
            packets[seq] = Packet(offset + at, payload[at : at + size], False, now)
            seq += 1
        self.end = seq
        self.end_offset = offset + len(payload)

    def put_aside(self, branch: Branch) -> int:
        """Wait for it no longer. Returns what that completes, as a bitmap above the base before."""
        number = branch.number
        first, sack = self.listened.said(number)
        fresh = self.listened.remove_child(number, self.end)
        self._add_aside(number, first)
        self.aside.acknowledge(number, first, sack, self.end)
        return fresh

    def add_aside(self, branch: Branch) -> None:
        """It is new, and lacks what all others have."""
        self._add_aside(branch.number, branch.first)

    def _add_aside(self, number: int, first: int) -> None:
        if not self.set_aside:
            self.aside = Scoreboard(first)
        self.set_aside.add(number)
        self.aside.add_child(number, first)

    def take_back(self, branch: Branch) -> None:
        """Listen to it again: the base goes back to what it lacks."""
        number = branch.number
        first, sack = self.aside.said(number)
        self._forget_aside(number)
        self.listened.add_child(number, first)
        self.listened.acknowledge(number, first, sack, self.end)

    def _forget_aside(self, number: int) -> None:
        self.aside.remove_child(number, self.end)
        self.aside.advance()
        self.set_aside.remove(number)

    def remove(self, branch: Branch) -> int:
        """It is gone. Returns what that completes, as a bitmap above the base before."""
        if branch.number in self.set_aside:
            self._forget_aside(branch.number)
            return 0
        return self.listened.remove_child(branch.number, self.end)

    def let_go(self) -> None:
        """Of what everybody has."""
        until = self.kept_from
        for seq in range(self.held_from, until):
            del self.packets[seq]
        self.held_from = until

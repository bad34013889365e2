"""What RLA's sender sends again (3.3). A lost packet is sent again when every receiver that is listened to has either
acknowledged it or is known to lack it: by multicast when more than rexmit_thresh ask for it, else by unicast (3.3,
footnote 8).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from hosts.endpoint import Address, Effect, Send
from hosts.parts.sack import bits
from hosts.protocols.rla.branch import Branch
from hosts.protocols.rla.inflight import InFlight, Packet
from hosts.protocols.rla.packets import SACK_BITS

RECOVERY_BURST = 2
"""Packets that are repeated upon an acknowledgment after a timeout: TCP's in its slow start (ours)."""


class Repairs:
    """`copy` makes a packet again: its number, the packet, for whom (None: the group), the time."""

    def __init__(
        self,
        inflight: InFlight,
        branches: Mapping[int, Branch],
        rexmit_thresh: int,
        counters: Counter[str],
        copy: Callable[[int, Packet, Address | None, float], Send],
    ) -> None:
        self._inflight = inflight
        self._branches = branches
        self._rexmit_thresh = rexmit_thresh
        self._counters = counters
        self._copy = copy
        self._requested: set[int] = set()  # packets that somebody lost, not sent again yet
        self._news: set[int] = set()  # of them, those of which somebody has told since the last `answer`
        self._outstanding: set[int] = set()

    @property
    def outstanding(self) -> int:
        """Packets that were sent again, and that not everybody has."""
        return len(self._outstanding)

    def since(self, at: float) -> int:
        """Those of them that were sent after this time."""
        packets = self._inflight.packets
        return sum(packets[seq].sent_at > at for seq in self._outstanding)

    def request(self, branch: Branch, seq: int) -> None:
        """It has lost this packet."""
        packet = self._inflight.packets.get(seq)
        if packet is not None and not self._inflight.listened.has(branch.number, seq):
            packet.lost_by.add(branch.number)
            self._requested.add(seq)
            self._news.add(seq)
            self._outstanding.discard(seq)

    @property
    def waits(self) -> bool:
        """Whether it matters what receivers have: packets were asked for, and are not sent again yet."""
        return bool(self._requested)

    def arrived(self, branch: Branch, seqs: Iterable[int]) -> None:
        """It has told that it has these packets, and had not before."""
        packets = self._inflight.packets
        for seq in self._requested.intersection(seqs):
            packets[seq].lost_by.discard(branch.number)
            self._news.add(seq)

    def completed(self, fresh: int, before: int, base: int) -> None:
        """Everybody has the packets of this bitmap above `before`, and all below `base`."""
        if self._outstanding:
            self._outstanding.difference_update(bits(fresh, before))
        if self._requested:
            self._requested.difference_update(range(before, base))

    def forget(self, branch: Branch) -> None:
        """It asks for nothing any more."""
        for packet in self._inflight.packets.values():
            packet.lost_by.discard(branch.number)
        self._news |= self._requested

    def answer(self, now: float, most: int | None = None) -> list[Effect]:
        """Send again what has been heard of from everybody, `most` packets of it, the others when somebody tells more.
        Only what somebody has told of can have become so: all that is asked for may be thousands of packets, and an
        acknowledgment tells of a few."""
        if not self._news:
            return []
        board, packets = self._inflight.listened, self._inflight.packets
        news = self._news & self._requested
        self._news.clear()
        settled = sorted(seq for seq in news if board.lacking(seq) == len(packets[seq].lost_by))
        if most is not None:
            self._news.update(settled[most:])
        effects: list[Effect] = []
        for seq in settled[:most]:
            effects += self.repeat(seq, now)
        return effects

    def repeat(self, seq: int, now: float) -> Iterator[Send]:
        """Send a packet again to those who asked for it."""
        self._requested.discard(seq)
        packet = self._inflight.packets[seq]
        asking, packet.lost_by = sorted(packet.lost_by), set()
        if not asking:
            return
        packet.sent_at = now
        self._outstanding.add(seq)
        for number in asking:
            self._branches[number].repeated(seq, now)
        if len(asking) > self._rexmit_thresh:
            self._counters["repair_packets"] += 1
            yield self._copy(seq, packet, None, now)
        else:
            self._counters["repair_packets"] += len(asking)
            for number in asking:
                yield self._copy(seq, packet, self._branches[number].address, now)

    def repeat_alone(self, branch: Branch, seq: int, now: float) -> Send:
        """Send a packet again to this receiver, whatever the others have."""
        packet = self._inflight.packets[seq]
        packet.lost_by.discard(branch.number)
        packet.sent_at = now
        branch.repeated(seq, now)
        self._counters["repair_packets"] += 1
        return self._copy(seq, packet, branch.address, now)

    def hurry(self, branch: Branch, now: float) -> Iterator[Send]:
        """Repeat what it lacks without waiting for the others (3.3, footnote 8), unless a round trip has not passed."""
        board = self._inflight.board(branch)
        return self._repeat_missing(branch, islice(bits(board.missing(branch.number), board.base), SACK_BITS), now)

    def recover(self, branch: Branch, until: int, now: float) -> Iterator[Send]:
        """It answers again after a timeout or a silence: what else had been sent by then was lost as well, repeats too,
        and with the window used up no later packet comes to show it. As TCP, which begins again from there.
        """
        board, number = self._inflight.board(branch), branch.number
        missing = bits(board.missing(number, until), board.base)
        return islice(self._repeat_missing(branch, missing, now), RECOVERY_BURST)

    def _repeat_missing(self, branch: Branch, missing: Iterable[int], now: float) -> Iterator[Send]:
        packets = self._inflight.packets
        for seq in missing:
            if now - packets[seq].sent_at > branch.rtt.mean:
                yield self.repeat_alone(branch, seq, now)

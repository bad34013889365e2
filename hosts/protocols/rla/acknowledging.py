"""A receiver's acknowledgments: which packets have one, when, and what it says (RLA, 3.3, rule 1).

The answer to a packet may be held back by a random processing time (3.1), which breaks the phase effects of DropTail
queues; answers keep their order. When the sender wants every so many-th packet answered, each receiver answers other
ones, so that answers do not come in bursts of as many as there are receivers.
"""

import math
import random
from collections import Counter, deque

from hosts.parts.intake import Taken
from hosts.parts.reassembly import Reassembly
from hosts.protocols.rla.branch import LOSS_DISTANCE
from hosts.protocols.rla.options import RlaOptions
from hosts.protocols.rla.packets import SACK_BITS, WAIT_UNITS, Ack, Data, JoinAck, encode_ack
from hosts.wire.seq import extend

ALONE_WAIT_S = 0.02
"""While no answer of ours may be merged, every second packet has one, as with delayed acknowledgments (RFC 5681, 4.2),
or the first when nothing follows it for so long (ours: a packet's time at 50 packets/s). So has one that is another
receiver's to answer."""

SAMPLED_PACKETS = 2048
"""With `watch_switches` the sender keeps what a receiver has not said itself to have: it does after so many packets at
the latest (ours)."""


class Acknowledging:
    """Of one receiver. Times are seconds on its clock; what it returns is to be sent to the sender."""

    __slots__ = (
        "_advertised_end",
        "_alone_until",
        "_answers",
        "_counters",
        "_examined",
        "_heartbeat_at",
        "_hurry_at",
        "_index",
        "_is_needless",
        "_missed",
        "_options",
        "_rng",
        "_sample_at",
        "_sampled_from",
        "_session",
        "_stream",
        "marked",
        "merge",
    )

    def __init__(self, options: RlaOptions, rng: random.Random, counters: Counter[str]) -> None:
        self._options = options
        self._rng = rng
        self._counters = counters
        self._session = 0
        self._stream: Reassembly[Data]  # from `begin` on
        self._index = 0  # ours, among the sender's receivers
        self.merge = False
        """Switches may merge what we send."""
        # In processing or waiting: when, of which packet; when that came if the wait is no round trip.
        self._answers: deque[tuple[float, Data, float | None]] = deque()
        self._advertised_end = 0  # stream offset that the last one allowed
        self._examined = 0  # packets below are known to be here or lost
        self._alone_until = 0.0  # what is sent until then tells of a new hole: nobody may merge it
        self._sample_at = 0.0  # when the next one goes unmerged anyhow
        self._sampled_from = 0  # all before this packet had come when the last one did
        self._is_needless = False  # the retransmission that came last was
        self.marked = False
        """A queue has marked a packet since the last answer."""
        self._missed = -1  # the first missing packet, when one behind it had last arrived
        self._hurry_at = math.inf  # when that has been missing for too long
        self._heartbeat_at = 0.0

    def begin(self, stream: Reassembly[Data], accepted: JoinAck, now: float) -> None:
        """A sender has admitted the receiver, which has this stream of it."""
        self._session = accepted.session
        self._stream = stream
        self._index, self.merge = accepted.number, accepted.merge
        self._examined = accepted.first
        self._heartbeat_at = now + self._options.heartbeat_s
        self._advertised_end = stream.advertised_end

    def stop(self) -> None:
        """What waits is not sent any more."""
        self._answers.clear()

    def opened(self, now: float) -> list[bytes]:
        """The application has read: what a sender is told that stopped before the closed window (RFC 9293, 3.8.6.2.2:
        half the buffer at once)."""
        stream, options = self._stream, self._options
        least = min(2 * options.payload_bytes, options.buffer_bytes // 2)
        closed = self._advertised_end - stream.delivered < options.payload_bytes
        is_open = stream.advertised_end - self._advertised_end >= least
        return [self.acknowledge(None, now)] if closed and is_open and not stream.ended else []

    # --- packets that have come

    def arrived(self, packet: Data, taken: Taken, now: float) -> list[bytes]:
        """One by itself."""
        self._heed(packet)
        if packet.again:
            self._is_needless = not taken.is_new
        alone = now < self._alone_until and not packet.again
        return self._answer(packet, taken.seq, now, may_wait=taken.is_new and not self.marked and self.merge and alone)

    def run_arrived(self, first: Data, taken: Taken, count: int, now: float) -> list[bytes]:
        """Some that follow each other: they have one answer together, if any of them has one."""
        last = first._replace(seq=first.seq + count - 1 & 0xFFFFFFFF)
        numbers = range(taken.seq, taken.seq + count)
        mine = next((seq for seq in numbers if not self._is_anothers(last, seq)), numbers[-1])
        return self._answer(last, mine, now, may_wait=False)

    def _heed(self, packet: Data) -> None:
        """Whether switches may merge is the sender's to say; that they no longer may holds for good."""
        self.merge = self.merge and packet.assist

    def _answer(self, packet: Data, seq: int, now: float, *, may_wait: bool) -> list[bytes]:
        """To a packet that has come, if it is ours to answer by its number."""
        stream = self._stream
        if stream.received.has_gap:
            may_wait = not self._notice_holes(packet, now) and may_wait
            if self._options.hurry_after_s and self._missed != stream.received.cumulative:
                self._missed, self._hurry_at = stream.received.cumulative, now + self._options.hurry_after_s
        else:
            self._hurry_at = math.inf
        self._heartbeat_at = now + self._options.heartbeat_s
        if self._is_anothers(packet, seq) and not stream.ended:
            # Whatever comes next tells of it as well; if nothing does, it does itself.
            longest = packet.ack_ratio / WAIT_UNITS * packet.srtt_ms / 1e3 if packet.waits else ALONE_WAIT_S
            at = self._answers[0][0] if self._answers else now + self._rng.uniform(longest / 2, longest)
            self._answers.clear()
            self._answers.append((at, packet, now))
        elif self._options.processing_s:
            if packet.ack_ratio > 1:
                self._answers.clear()
            at = now + self._rng.uniform(0, self._options.processing_s)
            self._answers.append((max(at, self._answers[-1][0]) if self._answers else at, packet, None))
        elif may_wait and not self._answers and not stream.ended:
            self._answers.append((now + ALONE_WAIT_S, packet, None))
        else:
            self._answers.clear()
            # First what was delivered, so that the application may free the buffer; the window is told as it is now.
            return [self.acknowledge(packet, now)]
        return []

    def _is_anothers(self, packet: Data, seq: int) -> bool:
        """Whether other receivers answer this packet. A repeat has an answer if later ones cannot tell of it."""
        ratio = packet.ack_ratio
        if not packet.waits and (ratio < 2 or not (seq + self._index) % ratio):
            return False
        return not packet.again or not self._sack_start(packet)

    def _notice_holes(self, packet: Data, now: float) -> bool:
        """Whether a packet that the sender will take for lost has newly shown: then nothing of ours may be merged for
        one srtt."""
        received = self._stream.received
        limit = received.end - LOSS_DISTANCE
        first = max(self._examined, received.cumulative)
        if limit <= first:
            return False
        self._examined = limit
        if all(seq in received for seq in range(first, limit)):
            return False
        self._alone_until = now + packet.srtt_ms / 1e3
        self._counters["holes"] += 1
        return True

    def acknowledge(self, packet: Data | None, now: float, arrived_at: float | None = None) -> bytes:
        """The answer to this packet, or to none. What it has waited since it arrived is no part of a round trip."""
        stream = self._stream
        self._advertised_end = stream.advertised_end
        self._counters["feedback_packets"] += 1
        hurry = now >= self._hurry_at  # 3.3, footnote 8
        if hurry:
            self._hurry_at = now + self._options.hurry_after_s
        start = self._sack_start(packet)
        may_merge = self.merge and not start  # a switch does not read where a bitmap begins
        marked, self.marked = self.marked, False
        echo = 0 if packet is None else packet.send_time_us
        if arrived_at is not None:
            echo += int((now - arrived_at) * 1e6)
        merge = may_merge and not hurry and not marked and now >= self._alone_until
        # One by itself so often, for the round trip time; and what answers no packet, for nothing may come after it.
        passes = may_merge and (not merge or now >= self._sample_at or packet is None or self._is_far)
        if passes and packet is not None:
            self._sample_at = now + self._options.sample_s
            self._sampled_from = stream.received.cumulative
        ack = Ack(
            self._session,
            False,
            merge,
            hurry,
            stream.received.cumulative,
            stream.advertised_window,
            echo,
            self._index,
            1 << self._index if merge else 0,
            stream.received.sack >> start,
            passes,
            start,
            marked,
            self._is_needless and not self.merge,
        )
        return encode_ack(ack)

    @property
    def _is_far(self) -> bool:
        """Whether so much has come since the last one went unmerged that the sender should not have to keep more."""
        return self._options.watch_switches and self._stream.received.cumulative - self._sampled_from >= SAMPLED_PACKETS

    def _sack_start(self, packet: Data | None) -> int:
        """Where the bitmap begins: it ends with the highest packet that has arrived, unless it has to tell of a repeat
        farther down. What answers no packet tells of the first ones beyond the missing one.
        """
        received = self._stream.received
        last = received.end - received.cumulative - 1 - SACK_BITS  # beyond it a bitmap would be longer than it needs
        if last <= 0 or packet is None:
            return 0
        answered = extend(packet.seq, received.cumulative) - received.cumulative - 1
        return max(0, answered - SACK_BITS // 2) if 0 <= answered < last else last

    # --- timers

    @property
    def wake_at(self) -> float:
        """When `handle_timer` is due."""
        at = self._heartbeat_at if self._heartbeat_at < self._hurry_at else self._hurry_at
        return min(at, self._answers[0][0]) if self._answers else at

    def handle_timer(self, now: float) -> list[bytes]:
        """What has waited for long enough, and what is sent because nothing else was."""
        due = []
        while self._answers and self._answers[0][0] <= now:
            _, packet, arrived_at = self._answers.popleft()
            due.append(self.acknowledge(packet, now, arrived_at))
        if now >= self._heartbeat_at or now >= self._hurry_at:
            self._heartbeat_at = now + self._options.heartbeat_s
            due.append(self.acknowledge(None, now))
        return due

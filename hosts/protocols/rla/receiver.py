"""RLA's receiver: joins, delivers the stream in order, and acknowledges every packet selectively (3.3, rule 1).

The answer to a packet may be held back by a random processing time (3.1), which breaks the phase effects of DropTail
queues; answers keep their order. When the sender wants every so many-th packet answered, each receiver answers other
ones, so that answers do not come in bursts of as many as there are receivers.
"""

import math
import random
from collections import Counter, deque
from collections.abc import Sequence

from hosts.endpoint import (
    CE,
    Address,
    Datagram,
    DatagramRun,
    Effect,
    JoinGroup,
    LeaveGroup,
    Sample,
    Send,
    SessionEnded,
    SessionStarted,
    StreamEnded,
)
from hosts.parts.doubt import Doubt
from hosts.parts.reassembly import BrokenStreamError, Reassembly
from hosts.parts.receiving import SessionReceiver
from hosts.protocol import Session
from hosts.protocols.rla.branch import LOSS_DISTANCE
from hosts.protocols.rla.options import RlaOptions
from hosts.protocols.rla.packets import (
    SACK_BITS,
    STREAM,
    WAIT_UNITS,
    WINDOW_PACKETS,
    Ack,
    Announce,
    Data,
    JoinAck,
    Packet,
    encode_abort,
    encode_ack,
    encode_fin,
    encode_join,
    parse,
)
from hosts.wire.checks import read_packet
from hosts.wire.farewell import ABORT_COPIES, FIN_TRIES, Abort, Fin
from hosts.wire.reason import Reason
from hosts.wire.seq import extend
from hosts.wire.tree.checking import TreeChecker

PREMATURE_PACKETS = 16
"""Data that overtook the answer to our join, kept until that comes (ours)."""
ALONE_WAIT_S = 0.02
"""While no answer of ours may be merged, every second packet has one, as with delayed acknowledgments (RFC 5681, 4.2),
or the first when nothing follows it for so long (ours: a packet's time at 50 packets/s). So has one that is another
receiver's to answer."""


class RlaReceiver(SessionReceiver):
    """See the module. States: listening (for an announcement), joining, member, confirming, closed."""

    def __init__(self, session: Session, options: RlaOptions, rng: random.Random) -> None:
        super().__init__(session)
        self.options = options
        self.sender: Address | None = None
        self.stream: Reassembly[Data] = Reassembly(0, 0, options.buffer_bytes, WINDOW_PACKETS - 1)
        self._rng = rng
        self._index = 0  # ours, among the sender's receivers
        self._merge = False  # switches may merge what we send
        self._premature: deque[Data] = deque(maxlen=PREMATURE_PACKETS)
        self._heard_at = 0.0  # when the sender said anything but that it is over
        self._doubt = Doubt[Reason]()
        # Acknowledgments in processing or waiting: when, of which packet; when that came if the wait is no round trip.
        self._answers: deque[tuple[float, Data, float | None]] = deque()
        self._advertised_end = 0  # stream offset that the last acknowledgment allowed
        self._examined = 0  # packets below are known to be here or lost
        self._alone_until = 0.0  # acknowledgments until then tell of a new hole: nobody may merge them
        self._sample_at = 0.0  # when the next one goes unmerged anyhow
        self._is_needless = False  # the retransmission that came last was
        self._marked = False  # a queue has marked a packet since the last answer
        self._missed = -1  # the first missing packet, when one behind it had last arrived
        self._hurry_at = math.inf  # when that has been missing for too long
        self._heartbeat_at = 0.0
        self._retry_at: float | None = None  # of a JOIN or FIN
        self._tries = 0
        self._verdict = (False, Reason.NONE)

    # --- the application's side

    def check_by(self, checker: TreeChecker) -> None:
        self.checker = checker

    def consumed(self, count: int, *, now: float) -> Sequence[Effect]:
        stream = self.stream
        stream.consume(count)
        # Tell a sender that stopped before the closed window (RFC 9293, 3.8.6.2.2: half the buffer at once).
        least = min(2 * self.options.payload_bytes, self.options.buffer_bytes // 2)
        closed = self._advertised_end - stream.delivered < self.options.payload_bytes
        opened = stream.advertised_end - self._advertised_end >= least
        if self.state == "member" and closed and opened and not stream.ended:
            return (self._acknowledge(None, now),)
        return ()

    def confirm(self, *, complete: bool, now: float, reason: Reason = Reason.NONE) -> Sequence[Effect]:
        if self.state != "member":
            return ()
        self._verdict = (complete, reason)
        self.state = "confirming"
        self._answers.clear()
        return self._repeat_fin(now)

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        if self.closed:
            return ()
        effects: list[Effect] = []
        if self.sender is not None:
            effects += [self._to_sender(encode_abort(self.number or 0, Reason.INTERRUPTED))] * ABORT_COPIES
        return effects + self._end(False, reason)

    def sample(self, *, now: float) -> Sample:
        stream = self.stream
        return {
            "state": self.state,
            "received_bytes": stream.received_bytes,
            "early_packets": stream.early_packets,
            "unconsumed_bytes": stream.delivered - stream.consumed,
            "data_packets": self.counters["data_packets"],
            "repair_packets": self.counters["repair_packets"],
            "duplicate_packets": self.counters["duplicate_packets"],
            "feedback_packets": self.counters["feedback_packets"],
        }

    # --- inputs

    def start(self, *, now: float) -> Sequence[Effect]:
        self._heard_at = now
        return (JoinGroup(self.session.group, self.session.source),)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        if self.state == "closed":
            return ()
        packet = read_packet(datagram.data, parse, self.counters)
        if packet is None:
            return ()
        if packet.session != self.number or datagram.source != self.sender:
            return self._foreign(packet, datagram, now)
        if isinstance(packet, Abort):
            return self._aborted(packet.reason, datagram, now)
        self._heard_at = now
        if not isinstance(packet, Data):
            return self._control(packet, now)
        if self.state == "member":
            self._marked |= datagram.ecn == CE
            return self._data(packet, now)
        if self.state == "joining":
            self._premature.append(packet)
        else:
            self.counters["drop_not_member"] += 1
        return ()

    def receive_run(self, run: DatagramRun, *, now: float) -> Sequence[Effect]:
        """Data that follow each other are taken as they came, unless switches merge what we send, or the paper's random
        processing time is to be had by each."""
        if run.source != self.sender or self._merge or self.options.processing_s:
            return super().receive_run(run, now=now)
        return self.receive_pieces(STREAM, run, now)

    def _take_run(self, run: DatagramRun, payload: bytes, now: float) -> Sequence[Effect] | None:
        """Data that follow each other, with all their payload: they have one answer together, if any of them has one.
        None: they have to be taken one by one."""
        count = run.packets
        if count == 1 or self.state != "member":
            return None
        packet = read_packet(run.datagram(0).data, parse, Counter(), self.number)
        if not isinstance(packet, Data) or packet.end or packet.again:
            return None
        stream = self.stream
        seq = extend(packet.seq, stream.received.cumulative)
        fits = stream.takes(seq, packet.offset, len(payload), count)
        whole = packet._replace(payload=payload)
        if seq < stream.received.cumulative or not fits or not stream.is_right(seq, whole, count):
            return None
        try:
            delivered = stream.add_run(seq, count, whole)
        except BrokenStreamError:
            return self.confirm(complete=False, now=now, reason=Reason.BROKEN_STREAM)
        if delivered is None:
            return None
        self._heard_at = now
        self._marked |= run.ecn == CE
        self.counters["data_packets"] += count
        last = packet._replace(seq=packet.seq + count - 1 & 0xFFFFFFFF)
        mine = next((at for at in range(seq, seq + count) if not self._is_anothers(last, at)), seq + count - 1)
        return [*delivered, *self._answer(last, mine, now, may_wait=False)]

    def _foreign(self, packet: Packet, datagram: Datagram, now: float) -> Sequence[Effect]:
        """From someone who is not, or not yet, known as the sender."""
        if isinstance(packet, Announce) and self.may_change_to(packet.session, datagram, now):
            self.counters["changed_session"] += 1
            self._premature.clear()
        elif self.number is not None and packet.session != self.number:
            self.counters["drop_other_session"] += 1
            return ()
        elif not isinstance(packet, (Announce, Data)) or not self.may_begin_with(datagram):
            self.counters["drop_stranger"] += 1
            return ()
        self.joining_since = now
        self.number = packet.session
        self.sender = datagram.source
        self.state = "joining"
        self._heard_at = now
        return self._repeat_join(now)

    def _control(self, packet: Packet, now: float) -> Sequence[Effect]:
        if isinstance(packet, JoinAck) and self.state == "joining":
            return self._joined(packet, now)
        if isinstance(packet, Fin) and packet.answer and self.state == "confirming":
            return self._end_as_confirmed()
        if not isinstance(packet, Announce):
            self.counters["drop_unexpected"] += 1
        return ()

    def _aborted(self, reason: Reason, datagram: Datagram, now: float) -> Sequence[Effect]:
        if self.state == "confirming":
            return self._end_as_confirmed()  # nothing is missing but the receipt
        first = self._doubt.said(reason, now, to_one=self.is_to_one(datagram))
        return () if first is None else self._over(first)

    def _over(self, reason: Reason) -> list[Effect]:
        return self._end(False, f"the sender ended the session: {reason.text}")

    def _joined(self, answer: JoinAck, now: float) -> Sequence[Effect]:
        if answer.reason is not Reason.NONE:
            return self._end(False, f"refused: {answer.reason.text}")
        if self.options.from_start and answer.offset:
            return self._end(False, f"refused: {Reason.STARTED.text}")
        self.state = "member"
        self.stream = Reassembly(
            answer.first, answer.offset, self.options.buffer_bytes, WINDOW_PACKETS - 1, self.checker
        )
        self._index, self._merge = answer.number, answer.merge
        self._examined = answer.first
        self._retry_at = None
        self._heartbeat_at = now + self.options.heartbeat_s
        self._advertised_end = self.stream.advertised_end
        effects: list[Effect] = [SessionStarted(self.sender)]
        while self._premature and self.state == "member":
            effects += self._data(self._premature.popleft(), now)
        return effects

    # --- data

    def _data(self, packet: Data, now: float) -> Sequence[Effect]:
        stream = self.stream
        seq = extend(packet.seq, stream.received.cumulative)
        if not stream.takes(seq, packet.offset, len(packet.payload)):
            self.counters["drop_outside_window"] += 1
            return ()
        if not stream.is_right(seq, packet):
            self.counters["drop_wrong"] += 1
            return ()
        self.counters["repair_packets" if packet.again else "data_packets"] += 1
        effects: list[Effect]
        try:
            delivered = stream.add(seq, packet)
        except BrokenStreamError:
            return self.confirm(complete=False, now=now, reason=Reason.BROKEN_STREAM)
        if packet.again:
            self._is_needless = delivered is None
        if delivered is None:
            self.counters["duplicate_packets"] += 1
            effects = []
        else:
            effects = [*delivered]
            if stream.ended:
                effects.append(StreamEnded(stream.delivered))
        may_wait = (
            delivered is not None and not self._marked and self._merge and now < self._alone_until and not packet.again
        )
        return [*effects, *self._answer(packet, seq, now, may_wait=may_wait)]

    def _answer(self, packet: Data, seq: int, now: float, *, may_wait: bool) -> list[Effect]:
        """To a packet that has come, if it is ours to answer by its number."""
        stream = self.stream
        if stream.received.has_gap:
            may_wait = not self._notice_holes(packet, now) and may_wait
            if self.options.hurry_after_s and self._missed != stream.received.cumulative:
                self._missed, self._hurry_at = stream.received.cumulative, now + self.options.hurry_after_s
        else:
            self._hurry_at = math.inf
        self._heartbeat_at = now + self.options.heartbeat_s
        if self._is_anothers(packet, seq) and not stream.ended:
            # Whatever comes next tells of it as well; if nothing does, it does itself.
            longest = packet.ack_ratio / WAIT_UNITS * packet.srtt_ms / 1e3 if packet.waits else ALONE_WAIT_S
            at = self._answers[0][0] if self._answers else now + self._rng.uniform(longest / 2, longest)
            self._answers.clear()
            self._answers.append((at, packet, now))
        elif self.options.processing_s:
            if packet.ack_ratio > 1:
                self._answers.clear()
            at = now + self._rng.uniform(0, self.options.processing_s)
            self._answers.append((max(at, self._answers[-1][0]) if self._answers else at, packet, None))
        elif may_wait and not self._answers and not stream.ended:
            self._answers.append((now + ALONE_WAIT_S, packet, None))
        else:
            self._answers.clear()
            # First what was delivered, so that the application may free the buffer; the window is told as it is now.
            return [self._acknowledge(packet, now)]
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
        received = self.stream.received
        limit = received.end - LOSS_DISTANCE
        first = max(self._examined, received.cumulative)
        if limit <= first:
            return False
        self._examined = limit
        if all(seq in received for seq in range(first, limit)):
            return False
        self._alone_until = now + packet.srtt_ms / 1e3
        self.counters["holes"] += 1
        return True

    def _acknowledge(self, packet: Data | None, now: float, arrived_at: float | None = None) -> Send:
        """The answer to this packet, or to none. What it has waited since it arrived is no part of a round trip."""
        stream = self.stream
        self._advertised_end = stream.advertised_end
        self.counters["feedback_packets"] += 1
        hurry = now >= self._hurry_at  # 3.3, footnote 8
        if hurry:
            self._hurry_at = now + self.options.hurry_after_s
        start = self._sack_start(packet)
        may_merge = self._merge and not start  # a switch does not read where a bitmap begins
        marked, self._marked = self._marked, False
        echo = 0 if packet is None else packet.send_time_us
        if arrived_at is not None:
            echo += int((now - arrived_at) * 1e6)
        merge = may_merge and not hurry and not marked and now >= self._alone_until
        # One by itself so often, for the round trip time; and what answers no packet, for nothing may come after it.
        passes = may_merge and (not merge or now >= self._sample_at or packet is None)
        if passes and packet is not None:
            self._sample_at = now + self.options.sample_s
        ack = Ack(
            self.number or 0,
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
            self._is_needless and not self._merge,
        )
        return self._to_sender(encode_ack(ack))

    def _sack_start(self, packet: Data | None) -> int:
        """Where the bitmap begins: it ends with the highest packet that has arrived, unless it has to tell of a repeat
        farther down. What answers no packet tells of the first ones beyond the missing one.
        """
        received = self.stream.received
        last = received.end - received.cumulative - 1 - SACK_BITS  # beyond it a bitmap would be longer than it needs
        if last <= 0 or packet is None:
            return 0
        answered = extend(packet.seq, received.cumulative) - received.cumulative - 1
        return max(0, answered - SACK_BITS // 2) if 0 <= answered < last else last

    # --- retries and timers

    def _to_sender(self, data: bytes) -> Send:
        assert self.sender is not None
        return Send(data, self.sender)

    def _repeat_join(self, now: float) -> Sequence[Effect]:
        # All have heard of the session at once: who is not answered joins again at another time than the others.
        share = 1.0 if self._retry_at is None else self._rng.uniform(0.5, 1.5)
        self._retry_at = now + share * self.options.announce_s
        join = encode_join(self.number or 0, self.options.from_start, self.options.buffer_bytes)
        return (self._to_sender(join),)

    def _repeat_fin(self, now: float) -> Sequence[Effect]:
        if self._tries == FIN_TRIES:
            return self._end_as_confirmed()
        self._tries += 1
        self._retry_at = now + self.options.announce_s
        return (self._to_sender(encode_fin(self.number or 0, False, *self._verdict)),)

    def _end_as_confirmed(self) -> list[Effect]:
        complete, reason = self._verdict
        return self._end(complete, "" if complete else reason.text)

    def _end(self, complete: bool, reason: str) -> list[Effect]:
        self.state = "closed"
        self.stream.clear()
        self._answers.clear()
        return [LeaveGroup(self.session.group, self.session.source), SessionEnded(complete, reason)]

    @property
    def wake_at(self) -> float | None:
        if self.state == "member":
            at, silent_at = self._heartbeat_at, self._heard_at + self.options.silence_s
            at = at if at < silent_at else silent_at
            at = at if at < self._hurry_at else self._hurry_at
            at = at if at < self._doubt.wake_at else self._doubt.wake_at
            return min(at, self._answers[0][0]) if self._answers else at
        if self.state in ("joining", "confirming"):
            return self._doubt.wake_at if self._retry_at is None else min(self._retry_at, self._doubt.wake_at)
        return None

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if now >= self._doubt.wake_at and self.state not in ("listening", "closed"):
            reason = self._doubt.believed(self._heard_at, now)
            if reason is not None:
                return self._over(reason)
            if self.state == "member" and self._doubt.is_open(now):  # who is none is told so again
                return (self._acknowledge(None, now),)
        silent = now >= self._heard_at + self.options.silence_s
        if self.state == "member":
            if silent:
                return self._end(False, f"the sender was silent for {self.options.silence_s:g} s")
            effects: list[Effect] = []
            while self._answers and self._answers[0][0] <= now:
                _, packet, arrived_at = self._answers.popleft()
                effects.append(self._acknowledge(packet, now, arrived_at))
            if now >= self._heartbeat_at or now >= self._hurry_at:
                self._heartbeat_at = now + self.options.heartbeat_s
                effects.append(self._acknowledge(None, now))
            return effects
        if self._retry_at is not None and now >= self._retry_at:
            if self.state == "confirming":
                return self._repeat_fin(now)
            if self.state == "joining":
                if silent:
                    return self._end(False, f"the sender was silent for {self.options.silence_s:g} s")
                return self._repeat_join(now)
        return ()

"""RLA's receiver: joins, delivers the stream in order, acknowledges it (acknowledging.py), and confirms its end."""

import random
from collections import Counter, deque
from collections.abc import Sequence

from hosts.endpoint import (
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
)
from hosts.parts.doubt import Doubt
from hosts.parts.intake import take, take_run
from hosts.parts.reassembly import BrokenStreamError, Reassembly
from hosts.parts.receiving import SessionReceiver
from hosts.protocol import Session
from hosts.protocols.rla.acknowledging import Acknowledging
from hosts.protocols.rla.options import RlaOptions
from hosts.protocols.rla.packets import (
    STREAM,
    WINDOW_PACKETS,
    Announce,
    Data,
    JoinAck,
    Packet,
    encode_abort,
    encode_fin,
    encode_join,
    parse,
)
from hosts.wire.checks import read_packet
from hosts.wire.farewell import ABORT_COPIES, FIN_TRIES, Abort, Fin
from hosts.wire.header import CE
from hosts.wire.reason import Reason
from hosts.wire.tree.checking import TreeChecker

PREMATURE_PACKETS = 16
"""Data that overtook the answer to our join, kept until that comes (ours)."""


class RlaReceiver(SessionReceiver):
    """See the module. States: listening (for an announcement), joining, member, confirming, closed."""

    def __init__(self, session: Session, options: RlaOptions, rng: random.Random) -> None:
        super().__init__(session)
        self.options = options
        self.sender: Address | None = None
        self.stream: Reassembly[Data] = Reassembly(0, 0, options.buffer_bytes, WINDOW_PACKETS - 1)
        self._rng = rng
        self._acknowledging = Acknowledging(options, rng, self.counters)
        self._premature: deque[Data] = deque(maxlen=PREMATURE_PACKETS)
        self._heard_at = 0.0  # when the sender said anything but that it is over
        self._doubt = Doubt[Reason]()
        self._retry_at: float | None = None  # of a JOIN or FIN
        self._tries = 0
        self._verdict = (False, Reason.NONE)

    # --- the application's side

    def check_by(self, checker: TreeChecker) -> None:
        self.checker = checker

    def consumed(self, count: int, *, now: float) -> Sequence[Effect]:
        self.stream.consume(count)
        return self._answers(self._acknowledging.opened(now)) if self.state == "member" else ()

    def confirm(self, *, complete: bool, now: float, reason: Reason = Reason.NONE) -> Sequence[Effect]:
        if self.state != "member":
            return ()
        self._verdict = (complete, reason)
        self.state = "confirming"
        self._acknowledging.stop()
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
            self._acknowledging.marked |= datagram.ecn == CE
            return self._data(packet, now)
        if self.state == "joining":
            self._premature.append(packet)
            return self.first_data(len(packet.payload))
        self.counters["drop_not_member"] += 1
        return ()

    def receive_run(self, run: DatagramRun, *, now: float) -> Sequence[Effect]:
        """Data that follow each other are taken as they came, unless switches merge what we send, or the paper's random
        processing time is to be had by each."""
        if run.source != self.sender or self._acknowledging.merge or self.options.processing_s:
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
        try:
            taken = take_run(self.stream, packet, payload, count, self.counters)
        except BrokenStreamError:
            return self.confirm(complete=False, now=now, reason=Reason.BROKEN_STREAM)
        if taken is None:
            return None
        self._heard_at = now
        self._acknowledging.marked |= run.ecn == CE
        answers = self._answers(self._acknowledging.run_arrived(packet, taken, count, now))
        return [*self.first_data(len(payload)), *taken.effects, *answers]

    def _foreign(self, packet: Packet, datagram: Datagram, now: float) -> Sequence[Effect]:
        """From someone who is not, or not yet, known as the sender."""
        announced = isinstance(packet, Announce)
        may_be_first = announced or isinstance(packet, Data)
        if not self.begins(packet.session, datagram, now, announced=announced, may_be_first=may_be_first):
            return ()
        self._premature.clear()
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
        self._acknowledging.begin(self.stream, answer, now)
        self._retry_at = None
        effects: list[Effect] = [SessionStarted(self.sender)]
        while self._premature and self.state == "member":
            effects += self._data(self._premature.popleft(), now)
        return effects

    # --- data

    def _data(self, packet: Data, now: float) -> Sequence[Effect]:
        try:
            taken = take(self.stream, packet, "repair_packets" if packet.again else "data_packets", self.counters)
        except BrokenStreamError:
            return self.confirm(complete=False, now=now, reason=Reason.BROKEN_STREAM)
        if taken is None:
            return ()
        answers = self._answers(self._acknowledging.arrived(packet, taken, now))
        if not self.has_data:
            taken.effects[:0] = self.first_data(len(packet.payload))
        return [*taken.effects, *answers]

    # --- retries and timers

    def _to_sender(self, data: bytes) -> Send:
        assert self.sender is not None
        return Send(data, self.sender)

    def _answers(self, answers: Sequence[bytes]) -> list[Effect]:
        return [self._to_sender(answer) for answer in answers]

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
        self._acknowledging.stop()
        return [LeaveGroup(self.session.group, self.session.source), SessionEnded(complete, reason)]

    @property
    def wake_at(self) -> float | None:
        if self.state == "member":
            at = self._acknowledging.wake_at
            if not self.stream.ended:
                at = min(at, self._heard_at + self.options.silence_s)
            return at if at < self._doubt.wake_at else self._doubt.wake_at
        if self.state in ("joining", "confirming"):
            return self._doubt.wake_at if self._retry_at is None else min(self._retry_at, self._doubt.wake_at)
        return None

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if now >= self._doubt.wake_at and self.state not in ("listening", "closed"):
            reason = self._doubt.believed(self._heard_at, now)
            if reason is not None:
                return self._over(reason)
            if self.state == "member" and self._doubt.is_open(now):  # who is none is told so again
                return (self._to_sender(self._acknowledging.acknowledge(None, now)),)
        silent = now >= self._heard_at + self.options.silence_s
        if self.state == "member":
            if silent and not self.stream.ended:  # who has all of it waits for its own disk
                return self._end(False, f"the sender was silent for {self.options.silence_s:g} s")
            return self._answers(self._acknowledging.handle_timer(now))
        if self._retry_at is not None and now >= self._retry_at:
            if self.state == "confirming":
                return self._repeat_fin(now)
            if self.state == "joining":
                if silent:
                    return self._end(False, f"the sender was silent for {self.options.silence_s:g} s")
                return self._repeat_join(now)
        return ()

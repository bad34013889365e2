"""TFMCC's sender of real-time data: paces them, and tells everybody what it hears (2.2, 2.4 to 2.6)."""

import random
from collections.abc import Sequence

from hosts.endpoint import Address, Datagram, Effect, Sample, Send, SessionStarted
from hosts.parts.realtime import LATE_S, RealtimeSender
from hosts.parts.twins import Audit
from hosts.protocol import Session
from hosts.protocols.tfmcc.judge import STRANGER, ReportJudge
from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.packets import (
    DATA_BYTES,
    FLAG_ANSWER,
    FLAG_ASSIST,
    FLAG_ECHO,
    FLAG_END,
    FLAG_LEAVE,
    FLAG_SLOWSTART,
    FLAG_SUPPRESSION_LOSS,
    NO_RECEIVER,
    Data,
    Join,
    JoinAck,
    Packet,
    Report,
    encode_abort,
    encode_data,
    encode_join_ack,
    encode_run,
    encode_share,
    packet_bytes,
    parse,
)
from hosts.protocols.tfmcc.rate_float import NO_RATE, encode_rate, encode_rtt
from hosts.protocols.tfmcc.sealed import audited
from hosts.protocols.tfmcc.status import sender_sample
from hosts.protocols.tfmcc.steering import Steering
from hosts.wire.checks import read_packet
from hosts.wire.header import ECT_0, NOT_ECT
from hosts.wire.reason import Reason

HEARTBEAT_S = 1.0
"""Without data an empty packet is sent so often, so that receivers and rounds go on (ours)."""
RUNS_TOGETHER = 8
"""Upon one input: then whoever runs us reads what has come, and asks again at once (ours: some 2 ms of a processor)."""


class TfmccSender(RealtimeSender):
    """Of real-time data. States: waiting (for `start`), sending, closed."""

    def __init__(self, session: Session, options: TfmccOptions, rng: random.Random) -> None:
        super().__init__(session, rng)
        self.options = options
        self.packet_bytes = packet_bytes(options.payload_bytes)
        self.steering = Steering(self.number, options, self.packet_bytes, self.counters)
        # A file's receivers have joined before they report.
        self._judge = ReportJudge(options.largest_rtt_s, is_open=options.rules != "today" or not session.realtime)
        self._paced_from = 0.0  # when the last packet was due
        self._paced_bytes = 0
        self._told_rate = 0.0  # by the last packet
        self._heartbeat_s = HEARTBEAT_S
        self._audit = Audit()
        self._assisted = options.assist == "switch"
        self._ecn = ECT_0 if options.rules == "today" else NOT_ECT

    # --- the application's side

    @property
    def send_space(self) -> int:
        return self._room(
            self.options.payload_bytes, int(self.steering.control.at(self._now) * self.options.send_buffer_s)
        )

    def sample(self, *, now: float) -> Sample:
        return {**sender_sample(self, self.steering, now), **self._audit.row}

    def _abort(self, reason: Reason) -> bytes:
        return encode_abort(self.number, reason)

    # --- inputs

    def start(self, *, now: float) -> Sequence[Effect]:
        self.state = "sending"
        self._begin_data(now)
        return (SessionStarted(),)

    def _begin_data(self, now: float) -> None:
        self._now = self._started_at = self._paced_from = now
        self.steering.begin(now)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        self._now = now
        packet = read_packet(datagram.data, parse, self.counters, self.number)
        if packet is None:
            return ()
        if self.state != "sending":
            return ()
        if not isinstance(packet, Report) or packet.flags & FLAG_ANSWER:
            return self._control(packet, datagram, now)
        at = datagram.came_at(now)
        problem = self._judge.problem(packet, datagram.source, self._started_at, self.steering.rounds.number, at)
        if problem is not None:
            self.counters[problem] += 1
            return self._ask(packet, datagram.source, now) if problem == STRANGER else ()
        self.counters["feedback_packets"] += 1
        if packet.flags & FLAG_LEAVE:
            self._left(packet.receiver, now)
            return ()
        effects = audited(self._audit, packet, datagram.source, self.steering.feedback_delay(now), now)
        self._assisted &= not self._audit.misquoted
        self.steering.hear(packet, datagram.source, at, now, effects)
        return effects

    def _control(self, packet: Packet, datagram: Datagram, now: float) -> Sequence[Effect]:
        """Of real-time data: beside reports there are only the answers of strangers."""
        if isinstance(packet, Join) and packet.session == self.number:
            self.counters["feedback_packets"] += 1
            if self._judge.admit(packet.receiver, datagram.source, packet.echo_time_us):
                self.counters["joins"] += 1
                self.steering.has_measured(packet.receiver)  # by our question, if not before
                return ()
        self.counters["drop_unexpected"] += 1
        return ()

    def _ask(self, report: Report, source: Address, now: float) -> Sequence[Effect]:
        """Who reports first is to answer from the address that the report came from. It learns its RTT by that."""
        self.counters["feedback_packets"] += 1
        time_us = int(now * 1e6)
        self._judge.ask(report.receiver, source, time_us)
        answer = JoinAck(self.number, Reason.NONE, report.receiver, report.time_us, time_us)
        return (Send(encode_join_ack(answer), source),)

    def _left(self, receiver: int, now: float) -> None:
        self.counters["leaves"] += 1
        self._judge.forget(receiver)
        self.steering.leave(receiver, now)

    # --- data

    def _transmit(self, now: float) -> list[Effect]:
        """Send what is due."""
        self._now = now
        effects: list[Effect] = []
        runs = 0
        while self.state == "sending" and (self._has_payload or self._is_silent(now)):
            due = self._due_at(now)
            if now < due or runs == RUNS_TOGETHER:
                break
            self._paced_from = max(due, now - LATE_S)
            if self.run_bytes and self._send_run(now, effects):
                runs += 1
            else:
                self._send_packet(now, effects)
        return effects

    def _send_run(self, now: float, effects: list[Effect]) -> bool:
        """Send together what is due at the same time, because a timer was late or is coarser than packets follow each
        other; they are told apart by their numbers only. False: that is one packet, at most."""
        size = self._full_bytes
        interval = packet_bytes(size) / max(self._told_rate, self.steering.control.at(now))
        count = min(int((now - self._paced_from) / interval) + 1, self.run_bytes // (DATA_BYTES + size))
        if count < 2:
            return False
        self.steering.turn(now)
        payload = self._next_payloads(count)
        if not payload:
            return False
        data = self._next_data(payload, 0, now)
        self._paced_from += (len(payload) // size - 1) * interval
        self._paced_bytes = packet_bytes(size)
        self._send_data_run(encode_run(data, size), DATA_BYTES + size, len(payload), self._ecn, effects)
        return True

    @property
    def _full_bytes(self) -> int:
        """What a full packet carries."""
        return self.options.payload_bytes

    def _next_payloads(self, most: int) -> bytes:
        """What so many full packets carry at most, one after the other, two or more and none of them the last; empty:
        there are not so many."""
        size = self.options.payload_bytes
        count = min(most, (len(self._unsent) - 1) // size)
        return self._take_payload(count * size)[0] if count > 1 else b""

    def _next_payload(self) -> tuple[bytes, int]:
        """What the next packet carries, and the flags it has for that."""
        payload, ends = self._take_payload(self.options.payload_bytes)
        return payload, FLAG_END if ends else 0

    def _is_silent(self, now: float) -> bool:
        return now >= self._paced_from + self._heartbeat_s

    def _due_at(self, now: float) -> float:
        """After a cut one more packet goes when it was due by the rate that the last one told: timers everywhere run on
        that rate (2.5.1), and until a packet says what was reported nothing stops them."""
        due = self._paced_from + self._paced_bytes / max(self._told_rate, self.steering.control.at(now))
        if due > self._paced_from + self.steering.rounds.max_rtt:
            return min(due, self.steering.ask_at(self._paced_from, now))
        return due

    def _send_packet(self, now: float, effects: list[Effect]) -> None:
        self.steering.turn(now)
        payload, flags = self._next_payload()
        encoded = encode_data(self._next_data(payload, flags, now))
        self._paced_bytes = packet_bytes(len(payload))
        self._send_data(encoded, len(payload), self._ecn, effects)

    def _next_data(self, payload: bytes, flags: int, now: float) -> Data:
        """With what there is to be told now."""
        steering = self.steering
        rounds = steering.rounds
        if steering.slowstart:
            flags |= FLAG_SLOWSTART
        if rounds.from_loss:
            flags |= FLAG_SUPPRESSION_LOSS
        clr = steering.clr
        echo = steering.next_echo()
        if echo is not None:
            flags |= FLAG_ECHO
        if self._assisted:
            flags |= FLAG_ASSIST
        self._told_rate = steering.control.at(now)
        return Data(
            self.number,
            flags,
            self.seq,
            rounds.number,
            min(encode_rate(self._told_rate * 8), NO_RATE - 1),
            rounds.suppression,
            rounds.suppression_no_rtt,
            rounds.max_rtt_code,
            NO_RECEIVER if clr is None else clr.receiver,
            NO_RECEIVER if echo is None else echo.receiver,
            0 if echo is None else echo.time_us,
            0 if echo is None else max(0, int((now - echo.arrived_at) * 1e6)),
            int(now * 1e6),
            self.sent_bytes,
            payload,
            *self._assistance(now),
        )

    def _assistance(self, now: float) -> tuple[int, int]:
        """What switches need to suppress reports: patience, and the share of the least rate."""
        if not self._assisted:
            return 0, 0
        options = self.options
        return encode_rtt(self.steering.unconfirmed_for(now)), encode_share(1 - options.switch_theta)

    # --- timers

    @property
    def wake_at(self) -> float | None:
        if self.state != "sending":
            return None
        if self._has_payload:
            return self._due_at(self._now)
        return max(self._paced_from + self._heartbeat_s, self._due_at(self._now))

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        return self._transmit(now)

"""TFMCC's receiver: measures loss and round trip time, and reports the rate they allow when it should (2.3 to 2.6)."""

import random
from collections import Counter
from collections.abc import Sequence

from hosts.endpoint import (
    Address,
    Datagram,
    DeliverDatagram,
    Effect,
    JoinGroup,
    LeaveGroup,
    ReceiverEndpoint,
    Sample,
    Send,
    SessionEnded,
    SessionStarted,
    StreamEnded,
)
from hosts.header import SESSION_MAX, PacketError
from hosts.loss_history import LossHistory, interval_weights
from hosts.protocols import Session
from hosts.rate_float import NO_RATE, decode_rate, decode_rtt, encode_rate, encode_rtt
from hosts.reason import Reason
from hosts.seq import extend
from hosts.tfmcc.feedback import FeedbackTimer
from hosts.tfmcc.options import TfmccOptions
from hosts.tfmcc.packets import (
    FLAG_ECHO,
    FLAG_END,
    FLAG_FIRST_LOSS,
    FLAG_FROM_CLR,
    FLAG_HAVE_LOSS,
    FLAG_HAVE_RTT,
    FLAG_LEAVE,
    FLAG_SLOWSTART,
    FLAG_SUPPRESSION_LOSS,
    NO_RECEIVER,
    Abort,
    Data,
    Packet,
    Report,
    encode_loss_rate,
    encode_report,
    packet_bytes,
    parse,
    parse_data,
)
from hosts.tfmcc.receive_rate import ReceiveRate
from hosts.tfmcc.rtt import RoundTrip
from hosts.throughput import loss_event_rate, throughput

LEAVE_COPIES = 3
"""A leave is not acknowledged; it is sent so often (ours)."""
_MICRO = 1e-6


class TfmccReceiver(ReceiverEndpoint):
    """See the module. States: listening (for data), member, closed."""

    def __init__(self, session: Session, options: TfmccOptions, rng: random.Random) -> None:
        self.session = session
        self.options = options
        self.counters: Counter[str] = Counter()
        self.state = "listening"
        self.sender: Address | None = None
        self.number = session.session
        self.id = rng.randint(NO_RECEIVER + 1, SESSION_MAX)
        self.round_trip = RoundTrip(options)
        self.history = LossHistory(
            interval_weights(options.loss_intervals), self._first_interval, discounting=options.history_discounting
        )
        self.is_clr = False
        self.received_bytes = 0  # of payload
        self.data_packets = 0
        self._receive_rate = ReceiveRate()
        self._timer = FeedbackTimer(rng, options.receivers_bound, options.offset_share, options.theta)
        self._packet_bytes = packet_bytes(options.payload_bytes)  # Eq. (1)'s s: a full packet of this session
        self._largest_payload = 0
        self._last: Data | None = None
        self._last_at = 0.0
        self._heard_at = 0.0
        self._events = 0  # loss events that have been seen to
        self._has_told_loss = False
        self._reported_at = float("-inf")
        self._delivers = session.deliver

    # --- the application's side

    def consumed(self, count: int, *, now: float) -> Sequence[Effect]:
        """Datagrams take no buffer."""
        return ()

    def confirm(self, *, complete: bool, now: float, reason: Reason = Reason.NONE) -> Sequence[Effect]:
        """Real-time data are not confirmed; an application that cannot go on leaves."""
        if complete or self.state == "closed":
            return ()
        return self.close(now=now, reason=reason.text)

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        if self.closed:
            return ()
        effects: list[Effect] = []
        # Only a leave that the sender waits for is told: thousands may leave at once.
        if self._last is not None and (self.is_clr or now - self._reported_at <= 2 * self._delay(self._last)):
            effects += [self._report(now, FLAG_LEAVE)] * LEAVE_COPIES
        return effects + self._end(False, reason)

    @property
    def session_id(self) -> int | None:
        return self.number

    @property
    def closed(self) -> bool:
        return self.state == "closed"

    @property
    def rtt(self) -> float:
        """Seconds."""
        return self.round_trip.rtt

    @property
    def calculated_rate(self) -> float:
        """Eq. (1) in bit/s; infinite without a loss."""
        p = self.history.loss_event_rate
        return throughput(p, self._rate_rtt, self._packet_bytes) * 8 if p > 0 else float("inf")

    def sample(self, *, now: float) -> Sample:
        last = self._last
        return {
            "state": self.state,
            "received_bytes": self.received_bytes,
            "data_packets": self.data_packets,
            "lost_packets": self.history.lost_packets,
            "loss_rate": self.history.loss_event_rate,
            "loss_events": self.history.events,
            "rtt_s": self.rtt,
            "has_rtt": self.round_trip.has_measurement,
            "is_clr": self.is_clr,
            "calculated_bps": self.calculated_rate,
            "receive_bps": 0.0 if last is None else self._receive_rate.at(now, decode_rtt(last.max_rtt)) * 8,
            "reports": self.counters["reports"],
        }

    # --- inputs

    def start(self, *, now: float) -> Sequence[Effect]:
        self._heard_at = now
        return (JoinGroup(self.session.group, self.session.source),)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        packet = parse_data(datagram.data)
        if packet is None:
            return self._other(datagram, now)
        effects: list[Effect] = []
        if datagram.source is not self.sender or packet.session != self.number:
            if not self._is_ours(datagram, packet, effects):
                return ()
        elif self.state == "closed":
            return ()
        at = now if datagram.arrived_at is None else datagram.arrived_at
        self._heard_at = now
        history = self.history
        seq = extend(packet.seq, history.highest) if history.highest >= 0 else packet.seq
        newest = seq > history.highest
        if not history.arrived(seq, at, self.round_trip.rtt):
            self.counters["drop_duplicate"] += 1
            return effects
        payload = packet.payload
        size = len(payload)
        self.data_packets += 1
        self.received_bytes += size
        self._receive_rate.add(packet_bytes(size), at, decode_rtt(packet.max_rtt))
        if newest:
            self._newest(packet, at, now, effects)
        if self._delivers and size:
            self._deliver(seq, packet, at, now, effects)
        if packet.flags & FLAG_END:
            effects.append(StreamEnded(packet.offset + size))
            effects += self._end(True, "")
        return effects

    def _deliver(self, seq: int, packet: Data, at: float, now: float, effects: list[Effect]) -> None:
        """Hand a payload to the application."""
        effects.append(DeliverDatagram(seq, packet.offset, packet.payload, packet.send_time_us * _MICRO, at))

    def _is_ours(self, datagram: Datagram, packet: Data, effects: list[Effect]) -> bool:
        """Whether data comes from our sender; the first session that is heard is taken."""
        if self.state == "closed":
            return False
        source = self.session.source
        if (self.number is not None and packet.session != self.number) or datagram.destination != self.session.group:
            self.counters["drop_other_session"] += 1
            return False
        if self.sender is not None:
            if datagram.source == self.sender:
                return True
            self.counters["drop_stranger"] += 1
            return False
        if source is not None and datagram.source.host != source:
            self.counters["drop_stranger"] += 1
            return False
        self.number = packet.session
        self.sender = datagram.source
        self.state = "member"
        at = datagram.arrived_at
        if at is not None:
            self.round_trip.synchronise(at, packet.send_time_us * _MICRO)
        effects.append(SessionStarted(self.sender))
        return True

    def _parsed(self, datagram: Datagram) -> Packet | None:
        try:
            return parse(datagram.data)
        except PacketError as error:
            self.counters[f"drop_{error.reason}"] += 1
            return None

    def _other(self, datagram: Datagram, now: float) -> Sequence[Effect]:
        packet = self._parsed(datagram)
        if packet is None:
            return ()
        if packet.session != self.number or datagram.source != self.sender or self.closed:
            self.counters["drop_other_session"] += 1
            return ()
        return self._control(packet, now)

    def _control(self, packet: Packet, now: float) -> Sequence[Effect]:
        """What our sender says beside its data."""
        if isinstance(packet, Abort):
            return self._end(False, f"the sender ended the session: {packet.reason.text}")
        self.counters["drop_unexpected"] += 1
        return ()

    def _newest(self, packet: Data, at: float, now: float, effects: list[Effect]) -> None:
        """What a packet says of the session, which is news only when no later one has arrived."""
        last = self._last
        sent_at = packet.send_time_us * _MICRO
        if last is None and self.options.clock_error_s >= 0:
            self.round_trip.synchronise(at, sent_at)
        self._last = packet
        self._last_at = at
        if len(packet.payload) > self._largest_payload:
            self._largest_payload = len(packet.payload)
            self._packet_bytes = packet_bytes(self._largest_payload)
        was_clr = self.is_clr
        self.is_clr = is_clr = packet.clr == self.id
        first_rtt = False
        if packet.echo_receiver == self.id and packet.flags & FLAG_ECHO:
            first_rtt = self._echoed(packet, at, sent_at)
        elif not is_clr:
            self.round_trip.adjust(at, sent_at)
        timer = self._timer
        if is_clr:
            timer.stop()
            if not was_clr or self.history.events != self._events or now >= self._reported_at + self.rtt:
                effects.append(self._report(now, FLAG_FROM_CLR))
            self._events = self.history.events
            return
        if last is None or packet.round != last.round:
            self._begin_round(packet, now)
        elif first_rtt:
            self._start_if_eligible(packet, now)  # only now the rate is known that should be reported
        elif timer.due_at is not None and (
            packet.suppression != last.suppression or packet.suppression_no_rtt != last.suppression_no_rtt
        ):
            self._hear(packet)
        if self.history.events != self._events:
            self._events = self.history.events
            if not self._has_told_loss:
                self._start_if_eligible(packet, now)  # what was to be said without a loss is void

    def _echoed(self, packet: Data, at: float, sent_at: float) -> bool:
        """Our report has come back: a round trip time. Whether it is the first one."""
        instant = at - packet.echo_time_us * _MICRO - packet.echo_held_us * _MICRO
        if instant <= 0:
            self.counters["drop_echo"] += 1  # not what we sent
            return False
        trip = self.round_trip
        first = not trip.has_measurement
        initial = self._rate_rtt
        trip.measure(instant, at, sent_at, is_clr=self.is_clr)
        if first:
            self.history.remodel(trip.rtt, (trip.rtt / initial) ** 2)
        return first

    # --- feedback

    @property
    def _rate_rtt(self) -> float:
        """What the rate is computed with; without a measurement a value that a report carries exactly."""
        trip = self.round_trip
        return trip.rtt if trip.has_measurement else decode_rtt(encode_rtt(trip.rtt))

    def _first_interval(self) -> float:
        """Appendix B: the interval that TCP would have at half the sending rate, or (4.5) at the rate that arrives."""
        packet = self._last
        if packet is None:
            return 1.0
        half = decode_rate(packet.rate) / 8 / 2
        receive = self._receive_rate.at(self.history.highest_at, decode_rtt(packet.max_rtt))
        rate = min(half, receive) if receive > 0 else half
        return 1 / loss_event_rate(rate, self._rate_rtt, self._packet_bytes)

    def _delay(self, packet: Data) -> float:
        """T."""
        return self.options.feedback_delay(decode_rtt(packet.max_rtt), self._packet_bytes, decode_rate(packet.rate) / 8)

    def _begin_round(self, packet: Data, now: float) -> None:
        """A new feedback round: who has something to say sets a timer."""
        timer = self._timer
        if timer.due_at is not None and timer.has_loss and not self._has_told_loss:
            return  # the first loss is told within one feedback delay, whatever rounds begin meanwhile (2.6)
        timer.stop()
        self._start_if_eligible(packet, now)

    def _start_if_eligible(self, packet: Data, now: float) -> None:
        rate = self._eligible_rate(packet, now)
        if rate is None:
            return
        self._timer.start(
            now,
            self._delay(packet),
            rate,
            decode_rate(packet.rate),
            has_loss=self.history.events > 0,
            has_rtt=self.round_trip.has_measurement,
        )
        self._hear(packet)

    def _eligible_rate(self, packet: Data, now: float) -> float | None:
        """The rate to report, bit/s; None when there is no reason for a report."""
        sending = decode_rate(packet.rate)
        receive = self._receive_rate.at(now, decode_rtt(packet.max_rtt)) * 8
        if self.history.events:
            rate = self.calculated_rate
            if rate < sending or packet.clr == NO_RECEIVER or self._is_far(packet):
                return rate
            return None
        # Without a loss there is no rate to report but the one that arrives: in slowstart (2.6), when nobody limits the
        # sender, or to make a long round trip time known.
        if packet.flags & FLAG_SLOWSTART or packet.clr == NO_RECEIVER or self._is_far(packet):
            return receive or sending  # nothing known yet: as it is sent
        return None

    def _is_far(self, packet: Data) -> bool:
        """Whether our RTT is above what the sender takes for the largest."""
        return self.round_trip.has_measurement and encode_rtt(self.round_trip.rtt) > packet.max_rtt

    def _hear(self, packet: Data) -> None:
        timer = self._timer
        code = packet.suppression if timer.has_rtt else packet.suppression_no_rtt
        from_loss = bool(packet.flags & FLAG_SUPPRESSION_LOSS)
        if timer.has_rtt and self._is_far(packet):
            return  # nobody else tells of our round trip time
        timer.hear(code, decode_rate(code), from_loss=from_loss)

    def _report(self, now: float, flags: int) -> Send:
        """Our state, for the sender."""
        packet = self._last
        assert packet is not None
        assert self.sender is not None
        self.counters["reports"] += 1
        self._reported_at = now
        receive = self._receive_rate.at(now, decode_rtt(packet.max_rtt)) * 8
        p = self.history.loss_event_rate
        rate = receive
        if p > 0:
            flags |= FLAG_HAVE_LOSS
            rate = self.calculated_rate
            if not self._has_told_loss:
                flags |= FLAG_FIRST_LOSS
                self._has_told_loss = True
        if self.round_trip.has_measurement:
            flags |= FLAG_HAVE_RTT
        report = Report(
            self.number or 0,
            flags,
            self.id,
            packet.round,
            min(encode_rate(rate), NO_RATE - 1),
            encode_rtt(self._rate_rtt),
            encode_loss_rate(p),
            encode_rate(receive),
            packet.send_time_us,
            max(0, int((now - self._last_at) * 1e6)),
            int(now * 1e6),
        )
        return Send(encode_report(report), self.sender)

    # --- timers

    @property
    def wake_at(self) -> float | None:
        if self.state in ("listening", "joining", "closed"):
            return None
        due_at = self._timer.due_at
        silent_at = self._heard_at + self.options.silence_s
        return silent_at if due_at is None or due_at > silent_at else due_at

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if self.state in ("listening", "joining", "closed"):
            return ()
        timer = self._timer
        if timer.due_at is not None and now >= timer.due_at:
            timer.stop()
            packet = self._last
            if packet is not None and not self.is_clr and self._eligible_rate(packet, now) is not None:
                return (self._report(now, 0),)
        if now >= self._heard_at + self.options.silence_s:
            return self._end(False, f"the sender was silent for {self.options.silence_s:g} s")
        return ()

    def _end(self, complete: bool, reason: str) -> list[Effect]:
        self.state = "closed"
        self._timer.stop()
        return [LeaveGroup(self.session.group, self.session.source), SessionEnded(complete, reason)]

"""TFMCC's sender: sends at the rate of its limiting receiver, and tells everybody what it hears (2.2, 2.4 to 2.6)."""

import random
from collections import Counter
from collections.abc import Sequence

from hosts.endpoint import (
    Address,
    CongestionSignal,
    Datagram,
    Effect,
    PeerDropped,
    Sample,
    Send,
    SenderEndpoint,
    SessionEnded,
    SessionStarted,
)
from hosts.header import SESSION_MAX, PacketError
from hosts.protocols import Session
from hosts.rate_float import NO_RATE, decode_rate, decode_rtt, encode_rate
from hosts.reason import Reason
from hosts.tfmcc.echoes import Echo, EchoQueue, Priority
from hosts.tfmcc.judge import ReportJudge
from hosts.tfmcc.limiting import Limiting, PreviousClr
from hosts.tfmcc.options import TfmccOptions
from hosts.tfmcc.packets import (
    FLAG_ECHO,
    FLAG_END,
    FLAG_HAVE_LOSS,
    FLAG_HAVE_RTT,
    FLAG_LEAVE,
    FLAG_SLOWSTART,
    FLAG_SUPPRESSION_LOSS,
    LOSS_UNIT,
    NO_RECEIVER,
    Data,
    Packet,
    Report,
    encode_abort,
    encode_data,
    packet_bytes,
    parse,
)
from hosts.tfmcc.rate import RateControl
from hosts.tfmcc.report import sender_sample
from hosts.tfmcc.rounds import FeedbackRounds

END_COPIES = 3
"""The end is not acknowledged; it is said so often (ours)."""
ABORT_COPIES = 3
"""Nor is an abort (ours)."""
LATE_S = 0.005
"""A packet that a busy machine's timer lets leave so much late does not delay the ones after it (ours)."""
HEARTBEAT_S = 1.0
"""Without data an empty packet is sent so often, so that receivers and rounds go on (ours)."""


MEASURED = 1 << 16
"""Receivers whose first RTT measurements are counted, at most (ours)."""


class TfmccSender(SenderEndpoint):
    """Of real-time data. States: waiting (for `start`), sending, closed."""

    def __init__(self, session: Session, options: TfmccOptions, rng: random.Random) -> None:
        self.session = session
        self.options = options
        self.number = rng.randint(1, SESSION_MAX) if session.session is None else session.session
        self.counters: Counter[str] = Counter()
        self.state = "waiting"
        self.detail = ""
        self.packet_bytes = packet_bytes(options.payload_bytes)
        # RFC 4654, 3.1: one packet per maximum RTT to begin with.
        first = self.packet_bytes / options.initial_rtt
        self._first_rate = first
        self.control = RateControl(
            first,
            max(self.packet_bytes / options.longest_gap_s, options.least_rate_bps / 8),
            options.rate_limit_bps / 8 or float("inf"),
            always_limited=options.rules == "rfc",
        )
        self.rounds = FeedbackRounds(options, options.initial_rtt, 0.0)
        self.clr: Limiting | None = None
        self.clr_since = 0.0
        self.slowstart = True
        self.slowstart_peak = 0.0
        """The highest rate of the slowstart that ended, bytes per second."""
        self.sent_bytes = 0
        self.seq = 0
        self._measured: set[int] = set()  # receivers that an echo gave their first RTT
        self._echoes = EchoQueue()
        self._judge = ReportJudge(options.largest_rtt_s)
        self._previous = PreviousClr()
        self._unsent = bytearray()
        self._finishing = False
        self._ends_left = END_COPIES
        self._started_at = 0.0
        self._now = 0.0
        self._paced_from = 0.0  # when the last packet was due
        self._paced_bytes = 0
        self._increase_round = 0  # slowstart: the round whose reports were used
        self._round_receive = 0.0  # and their least receive rate
        self._quiet_since = 0.0
        self._sent_away: dict[int, Address] = {}
        self._heartbeat_s = HEARTBEAT_S

    # --- the application's side

    @property
    def send_space(self) -> int:
        if self._finishing or self.state != "sending":
            return 0
        room = max(4 * self.options.payload_bytes, int(self.control.at(self._now) * self.options.send_buffer_s))
        return max(0, room - len(self._unsent))

    def write(self, data: bytes | memoryview, *, now: float) -> Sequence[Effect]:
        if len(data) > self.send_space:
            raise ValueError(f"write of {len(data)} bytes where send_space is {self.send_space}")
        self._unsent += data
        return self._transmit(now)

    def start_now(self, *, now: float) -> Sequence[Effect]:
        """Real-time data wait for nobody."""
        return ()

    def finish(self, *, now: float) -> Sequence[Effect]:
        self._finishing = True
        return self._transmit(now)

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        if self.closed:
            return ()
        self.state = "closed"
        self.detail = reason
        packet = encode_abort(self.number, Reason.INTERRUPTED)
        return [*[Send(packet, self.session.group)] * ABORT_COPIES, SessionEnded(False, reason)]

    @property
    def session_id(self) -> int:
        return self.number

    @property
    def closed(self) -> bool:
        return self.state == "closed"

    def sample(self, *, now: float) -> Sample:
        return sender_sample(self, now)

    @property
    def first_rtts(self) -> int:
        """Receivers whose first report without an RTT was echoed, so that they have measured theirs."""
        return len(self._measured)

    def feedback_delay(self, now: float) -> float:
        """T, seconds."""
        return self.options.feedback_delay(self.rounds.max_rtt, self.packet_bytes, self.control.at(now))

    # --- inputs

    def start(self, *, now: float) -> Sequence[Effect]:
        self.state = "sending"
        self._now = self._started_at = self._paced_from = self._quiet_since = self.rounds.started_at = now
        return (SessionStarted(),)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        self._now = now
        try:
            packet = parse(datagram.data)
        except PacketError as error:
            self.counters[f"drop_{error.reason}"] += 1
            return ()
        if packet.session != self.number:
            self.counters["drop_other_session"] += 1
            return ()
        if self.state != "sending":
            return ()
        if not isinstance(packet, Report):
            return self._control(packet, datagram, now)
        at = now if datagram.arrived_at is None else datagram.arrived_at
        problem = self._judge.problem(packet, datagram.source, self._started_at, self.rounds.number, at)
        if problem is not None:
            self.counters[problem] += 1
            return ()
        self.counters["feedback_packets"] += 1
        self._quiet_since = now
        effects: list[Effect] = []
        self._report(packet, datagram.source, at, now, effects)
        return effects

    def _control(self, packet: Packet, datagram: Datagram, now: float) -> Sequence[Effect]:
        """Real-time data know nothing but reports."""
        self.counters["drop_unexpected"] += 1
        return ()

    # --- reports

    def _report(self, report: Report, source: Address, at: float, now: float, effects: list[Effect]) -> None:
        if report.flags & FLAG_LEAVE:
            self._left(report.receiver, now)
            return
        rtt = decode_rtt(report.rtt)
        rate = decode_rate(report.rate) / 8
        has_rtt = bool(report.flags & FLAG_HAVE_RTT)
        has_loss = bool(report.flags & FLAG_HAVE_LOSS)
        if rtt > self.options.largest_rtt_s:
            self.counters["drop_rtt"] += 1
            return
        if has_rtt:
            self.rounds.hear_rtt(rtt)
        else:
            # 2.4.4: the rate was computed with a preset RTT; the sender has measured the real one.
            measured = max(at - report.echo_time_us * 1e-6 - report.held_us * 1e-6, 1e-4)
            self.rounds.hear_rtt(rtt if self.options.rules == "paper" else measured)
            rate *= rtt / measured if has_loss else 1.0
            rtt = measured
        is_clr = self.clr is not None and self.clr.receiver == report.receiver
        if not is_clr and report.round == self.rounds.number & 0xFFFF:
            self.rounds.hear(report.rate, has_rtt=has_rtt, has_loss=has_loss)
        if has_loss and rate * 8 < self.options.least_rate_bps:
            self._send_away(report.receiver, source, now, effects)
            return
        # Nobody receives faster than is sent; a report that says so is not to drive the rate up.
        receive_rate = min(decode_rate(report.receive_rate) / 8, self.control.at(now))
        echo = Echo(report.receiver, report.time_us, at, has_rtt)
        loss_rate = report.loss_rate / LOSS_UNIT if has_loss else 0.0
        heard = Limiting(report.receiver, source, rate, rtt, has_rtt, loss_rate, receive_rate, now, echo)
        if not has_loss:
            heard.rate = self.options.slowstart_factor * receive_rate
        if self.slowstart:
            if has_loss:
                self._end_slowstart(source, now, effects)
            else:
                self._slowstart_report(heard, report, is_clr=is_clr, now=now)
                return
        self._choose(heard, report.rate, is_clr=is_clr, now=now)

    def _choose(self, heard: Limiting, code: int, *, is_clr: bool, now: float) -> None:
        """Let a report move the rate, and the CLR (2.2)."""
        clr = self.clr
        if heard.loss_rate == 0:
            self.control.hold(now)  # no loss that would limit its increase: one packet per RTT does
        if is_clr:
            previous = self._previous.below(heard.rate, now)
            if previous is not None:  # Appendix C: it was only a short while
                self._previous.forget()
                self._become_clr(previous, now)
                heard = previous
            else:
                # At most twice what arrives (RFC 5348, 4.3): no measurement is good enough for more at once.
                heard.rate = min(heard.rate, max(2 * heard.receive_rate, self.control.at(now)))
                self.clr = heard
            self.control.allow(heard.rate, heard.rtt, self.packet_bytes, now)
        elif clr is None or (heard.loss_rate > 0 and (clr.loss_rate == 0 or heard.rate < clr.rate)):
            if clr is not None and clr.loss_rate > 0 and self.options.previous_clr_rtts > 0:
                self._previous.keep(clr, now + self.options.previous_clr_rtts * self.rounds.max_rtt)
            self._become_clr(heard, now)
            self._echo(Priority.NEW_CLR, code, heard.echo)
            if heard.rate < self.control.at(now):
                self.control.cut(heard.rate, now)
            else:
                self.control.allow(heard.rate, heard.rtt, self.packet_bytes, now)
        else:
            if heard.loss_rate > 0:
                self.control.cut(max(heard.rate, clr.rate), now)
            self._echo(Priority.OTHER if heard.has_rtt else Priority.NO_RTT, code, heard.echo)

    def _become_clr(self, limiting: Limiting, now: float) -> None:
        if self.clr is None or self.clr.receiver != limiting.receiver:
            self.counters["clr_changes"] += 1
            self.clr_since = now
        self.clr = limiting

    def _echo(self, priority: Priority, code: int, echo: Echo) -> None:
        if not self._echoes.add(priority, code, echo):
            self.counters["drop_echoes"] += 1

    def _left(self, receiver: int, now: float) -> None:
        self.counters["leaves"] += 1
        self._judge.forget(receiver)
        self._echoes.drop(receiver)
        self._previous.forget(receiver)
        if self.clr is not None and self.clr.receiver == receiver:
            self._lose_clr(now)

    def _lose_clr(self, now: float) -> None:
        """Nobody limits the rate now: it stays, and everybody is asked (by the next round) who does."""
        self.clr = None
        self.control.hold(now)
        self.rounds.begin(now)

    def _send_away(self, receiver: int, source: Address, now: float, effects: list[Effect]) -> None:
        """A receiver that cannot take the least rate of the session."""
        self.counters["sent_away"] += 1
        effects.append(Send(encode_abort(self.number, Reason.TOO_SLOW), source))
        if receiver not in self._sent_away and len(self._sent_away) < END_COPIES * 1000:
            self._sent_away[receiver] = source
            effects.append(PeerDropped(source, Reason.TOO_SLOW.text))
        if self.clr is not None and self.clr.receiver == receiver:
            self._lose_clr(now)

    # --- slowstart

    def _slowstart_report(self, heard: Limiting, report: Report, *, is_clr: bool, now: float) -> None:
        """2.6: twice the least rate that arrives, once a round; the slowest receiver is the CLR (RFC 4654, 3.6)."""
        if is_clr or self.clr is None or heard.receive_rate < self.clr.receive_rate:
            if not is_clr:
                self._become_clr(heard, now)
                self._echo(Priority.NEW_CLR, report.rate, heard.echo)
            self.clr = heard
        else:
            self._echo(Priority.OTHER if heard.has_rtt else Priority.NO_RTT, report.rate, heard.echo)
        if report.round != self.rounds.number & 0xFFFF:
            return
        if self._increase_round != self.rounds.number:
            self._increase_round = self.rounds.number
            self._round_receive = heard.receive_rate
        elif heard.receive_rate < self._round_receive:
            self._round_receive = heard.receive_rate
        else:
            return
        self.control.slowstart(self.options.slowstart_factor * self._round_receive, heard.rtt, now)

    def _end_slowstart(self, source: Address, now: float, effects: list[Effect]) -> None:
        self.slowstart = False
        self.slowstart_peak = self.control.at(now)
        self.control.cut(self.slowstart_peak, now)  # no further
        effects.append(CongestionSignal("first loss", source))

    # --- data

    def _transmit(self, now: float) -> list[Effect]:
        """Send what is due."""
        self._now = now
        effects: list[Effect] = []
        while self.state == "sending" and (self._has_payload or self._is_silent(now)):
            due = self._due_at(now)
            if now < due:
                break
            self._paced_from = max(due, now - LATE_S)
            self._send_packet(now, effects)
        return effects

    @property
    def _has_payload(self) -> bool:
        """Whether there is something to send."""
        return bool(self._unsent) or self._finishing

    def _next_payload(self) -> tuple[bytes, int]:
        """What the next packet carries, and the flags it has for that."""
        unsent = self._unsent
        payload = bytes(unsent[: self.options.payload_bytes])
        del unsent[: len(payload)]
        if self._finishing and not unsent:
            self._ends_left -= 1
            return payload, FLAG_END
        return payload, 0

    def _is_silent(self, now: float) -> bool:
        return now >= self._paced_from + self._heartbeat_s

    def _due_at(self, now: float) -> float:
        return self._paced_from + self._paced_bytes / self.control.at(now)

    def _send_packet(self, now: float, effects: list[Effect]) -> None:
        self._turn(now)
        payload, flags = self._next_payload()
        clr = self.clr
        rounds = self.rounds
        if self.slowstart:
            flags |= FLAG_SLOWSTART
        if rounds.from_loss:
            flags |= FLAG_SUPPRESSION_LOSS
        echo = self._echoes.pop()
        if echo is None and clr is not None:
            echo = clr.echo
        if echo is not None:
            flags |= FLAG_ECHO
            if not echo.has_rtt and len(self._measured) < MEASURED:
                self._measured.add(echo.receiver)
        data = Data(
            self.number,
            flags,
            self.seq,
            rounds.number,
            min(encode_rate(self.control.at(now) * 8), NO_RATE - 1),
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
        )
        encoded = encode_data(data)
        self.seq += 1
        self.sent_bytes += len(payload)
        self._paced_bytes = packet_bytes(len(payload))
        self.counters["data_packets"] += 1
        self.counters["udp_bytes"] += len(encoded)
        effects.append(Send(encoded, self.session.group))
        if self._ends_left == 0:
            self.state = "closed"
            effects.append(SessionEnded(True, ""))

    def _turn(self, now: float) -> None:
        """What goes by time, looked at when there is a packet that can tell of it: rounds, and the CLR's silence."""
        delay = self.feedback_delay(now)
        patience = self.options.clr_timeout_delays * delay
        if self.clr is not None and now > self.clr.heard_at + patience:
            self.counters["clr_timeouts"] += 1
            self._echoes.drop(self.clr.receiver)
            self._lose_clr(now)
        elif self.rounds.is_over(now):
            self.rounds.begin(now)
        if self.rounds.delay is None:
            self.rounds.delay = self.feedback_delay(now)
        if self.clr is None and now > self._quiet_since + patience:
            # Nobody has said anything for long: be careful, and begin anew when somebody does.
            self._quiet_since = now
            self.control.cut(max(self.control.at(now) / 2, self._first_rate), now)
            if self.control.at(now) <= self._first_rate:
                self.slowstart = True
                self.rounds.max_rtt = max(self.rounds.max_rtt, self.options.initial_rtt)

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

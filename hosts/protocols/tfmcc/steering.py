"""What reports make of the sending rate: the CLR, slowstart, feedback rounds, and silence (2.2, 2.4.4, 2.5, 2.6)."""

from collections import Counter
from typing import Final

from hosts.endpoint import Address, CongestionSignal, Effect, PeerDropped, Send
from hosts.protocols.tfmcc.echoes import Echo, EchoQueue, Priority
from hosts.protocols.tfmcc.limiting import Limiting, PreviousClr
from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.packets import FLAG_FROM_CLR, FLAG_HAVE_LOSS, FLAG_HAVE_RTT, LOSS_UNIT, Report, encode_abort
from hosts.protocols.tfmcc.rate import RateControl
from hosts.protocols.tfmcc.rate_float import decode_rate, decode_rtt
from hosts.protocols.tfmcc.rounds import FeedbackRounds
from hosts.protocols.tfmcc.rtt import LEAST_RTT_S
from hosts.protocols.tfmcc.trial import Standing, Trials
from hosts.wire.reason import Reason

LEAST_PATIENCE_S: Final = 0.1
"""In which the CLR may be silent however short round trips are: a program may be kept from running for tens of ms, and
reports wait for what they are on to be signed (ours; TCP's least time-out is as a rule twice that)."""
SILENCE_DELAYS: Final = 10.0
"""Without any report for so many feedback delays the rate falls (ours; 4.2 has it for the CLR)."""
FIRST_WINDOW: Final = 4
"""Packets per maximum RTT to begin with (RFC 5348, 4.2: up to 4)."""
ASKED_RTTS: Final = 2.0
"""The CLR should have answered a packet after so many maximum RTTs; then it is asked once in each of them (ours)."""
SENT_AWAY: Final = 3000
"""Receivers that were sent away and are told apart, at most (ours)."""
MEASURED: Final = 1 << 16
"""Receivers whose first RTT measurements are counted, at most (ours)."""


class Steering:
    """Of one session. Rates in bytes per second, times in seconds."""

    def __init__(self, number: int, options: TfmccOptions, packet_bytes: int, counters: Counter[str]) -> None:
        """`number`: the session's; `packet_bytes`: of a full packet, with headers."""
        self._number = number
        self._options = options
        self._packet_bytes = packet_bytes
        self._counters = counters
        self._ours = options.rules == "today"
        # RFC 4654, 3.1: one packet per maximum RTT to begin with; three seconds of that are a feedback delay.
        self._first_rate = (FIRST_WINDOW if self._ours else 1) * packet_bytes / options.initial_rtt
        self.control = self._control_from(self._first_rate)
        self.rounds = FeedbackRounds(options, options.initial_rtt, 0.0)
        self.clr: Limiting | None = None
        self.slowstart = True
        self.slowstart_peak = 0.0
        """The highest rate of the slowstart that ended."""
        self._echoes = EchoQueue()
        self._previous = PreviousClr()
        self._trials = Trials()
        self._rate_before = 0.0  # the CLR's time: the rate when it became the CLR
        self._measured: set[int] = set()  # receivers that an echo gave their first RTT
        self._sent_away: set[int] = set()
        self._quiet_since = 0.0
        self._increase_round = 0  # slowstart: the round whose reports were used
        self._round_receive = 0.0  # and their least receive rate

    def _control_from(self, first_rate: float) -> RateControl:
        options = self._options
        return RateControl(
            first_rate,
            max(self._packet_bytes / options.longest_gap_s, options.least_rate_bps / 8),
            options.rate_limit_bps / 8 or float("inf"),
            always_limited=options.rules == "rfc",
            as_tcp=self._ours,
        )

    def begin(self, now: float) -> None:
        """Data begin to flow."""
        self._quiet_since = self.rounds.started_at = now

    def know_rtts(self, max_rtt: float, of_all: bool) -> None:
        """Round trip times are known before any report: everybody's, or those of some."""
        if of_all:
            self.rounds.know_rtts(max_rtt)
        else:
            self.rounds.guess(max_rtt)
        self._first_rate = self._initial_rate
        self.control = self._control_from(self._first_rate)

    @property
    def is_unheard(self) -> bool:
        """Whether nobody has said anything by which the rate goes."""
        return self.slowstart and self.clr is None

    @property
    def _initial_rate(self) -> float:
        """Of who knows the maximum RTT, to begin with."""
        return FIRST_WINDOW * self._packet_bytes / self.rounds.max_rtt

    def feedback_delay(self, now: float) -> float:
        """T."""
        return self._delay_at(self.control.at(now))

    @property
    def first_rtts(self) -> int:
        """Receivers that we have given their first RTT: by the echo of a report without one, or as we asked them."""
        return len(self._measured)

    def has_measured(self, receiver: int) -> None:
        """A receiver that had no RTT has one."""
        if len(self._measured) < MEASURED:
            self._measured.add(receiver)

    def next_echo(self) -> Echo | None:
        """Whose report the next data packet echoes: the CLR's when nobody else waits."""
        echo = self._echoes.pop()
        if echo is None:
            return None if self.clr is None else self.clr.echo
        if not echo.has_rtt:
            self.has_measured(echo.receiver)
        return echo

    # --- reports

    def hear(self, report: Report, source: Address, at: float, now: float, effects: list[Effect]) -> None:
        """A report that is to be believed, and is no leave; it came at `at`."""
        rtt = decode_rtt(report.rtt)
        rate = decode_rate(report.rate) / 8
        has_rtt = bool(report.flags & FLAG_HAVE_RTT)
        has_loss = bool(report.flags & FLAG_HAVE_LOSS)
        if self._trials.is_unheard(report.receiver, now):
            self._counters["drop_unanswering"] += 1
            return
        self._quiet_since = now
        measured = max(at - report.echo_time_us * 1e-6 - report.held_us * 1e-6, LEAST_RTT_S)
        if has_rtt:
            if report.rtt == 0 and self._ours:
                rtt = min(rtt, measured)  # the least code says "1 ms or less"
            self.rounds.hear_rtt(rtt)
        else:
            # 2.4.4: the rate was computed with a preset RTT; the sender has measured the real one.
            self.rounds.hear_rtt(rtt if self._options.rules == "paper" else measured)
            rate *= rtt / measured if has_loss else 1.0
            rtt = measured
        if report.stands_for:
            self._counters["ended_reports"] += report.stands_for
            self.rounds.hear_far(decode_rtt(report.far_rtt))
        is_clr = self.clr is not None and self.clr.receiver == report.receiver
        if not is_clr and report.round == self.rounds.number & 0xFFFF:
            self.rounds.hear(report.rate, has_rtt=has_rtt, has_loss=has_loss)
        if has_loss and rate * 8 < self._options.least_rate_bps:
            self._send_away(report.receiver, source, now, effects)
            return
        # Nobody receives faster than is sent; a report that says so is not to drive the rate up.
        receive_rate = min(decode_rate(report.receive_rate) / 8, self.control.at(now))
        echo = Echo(report.receiver, report.time_us, at, has_rtt)
        loss_rate = report.loss_rate / LOSS_UNIT if has_loss else 0.0
        heard = Limiting(report.receiver, source, rate, rtt, has_rtt, loss_rate, receive_rate, now, echo)
        if not has_loss:
            heard.rate = self._options.slowstart_factor * receive_rate
            if self._ours and not self.slowstart:
                # RFC 5348 (4.3): who has lost nothing takes the rate no lower than it began. Within the time that is
                # measured a busy receiver may have got nothing.
                heard.rate = max(heard.rate, min(self._initial_rate, self.control.at(now)))
        standing = Standing(self.clr, self.control.at(now), self.slowstart, 0.0)
        if self.slowstart:
            if has_loss:
                self._end_slowstart(source, now, effects)
            else:
                self._slowstart_report(heard, report, is_clr=is_clr, now=now)
                return
        if self._ours:
            if is_clr and report.flags & FLAG_FROM_CLR:
                self._trials.answered(report.receiver, report.echo_time_us * 1e-6)
            self._trials.heard(heard)
        self._choose(heard, report.rate, standing, is_clr=is_clr, now=now)

    def _choose(self, heard: Limiting, code: int, before: Standing, *, is_clr: bool, now: float) -> None:
        """Let a report move the rate, and the CLR (2.2). `before`: what was in force when it came."""
        clr = self.clr
        if heard.loss_rate == 0 and (is_clr or clr is None or not self._ours):
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
            self._allow(heard, now)
        elif clr is None or (heard.loss_rate > 0 and (clr.loss_rate == 0 or heard.rate < clr.rate)):
            if clr is not None and clr.loss_rate > 0 and self._options.previous_clr_rtts > 0:
                self._previous.keep(clr, now + self._options.previous_clr_rtts * self.rounds.max_rtt)
            self._become_clr(heard, now)
            self._echo(Priority.NEW_CLR, code, heard.echo)
            if self._ours:
                self._rate_before = before.rate
                before.patience = self._patience(now)
                self._trials.begin(heard.receiver, before)
            if heard.rate < self.control.at(now):
                self.control.cut(heard.rate, now)
            else:
                self._allow(heard, now)
        else:
            if heard.loss_rate > 0:
                self.control.cut(max(heard.rate, clr.rate), now)
            self._echo(Priority.OTHER if heard.has_rtt else Priority.NO_RTT, code, heard.echo)

    def _allow(self, heard: Limiting, now: float) -> None:
        """What the CLR allows. Whoever it is, the rate goes up to no more than twice what arrives there (RFC 5348,
        4.3), and takes a maximum RTT for that, however many reports it sends."""
        if not self._ours:
            self.control.allow(heard.rate, heard.rtt, self._packet_bytes, now)
            return
        heard.rate = min(heard.rate, max(2 * heard.receive_rate, self.control.at(now)))
        self.control.allow(heard.rate, heard.rtt, self._packet_bytes, now, within=self.rounds.max_rtt)

    def _become_clr(self, limiting: Limiting, now: float) -> None:
        if self.clr is None or self.clr.receiver != limiting.receiver:
            self._counters["clr_changes"] += 1
        self.clr = limiting

    def _echo(self, priority: Priority, code: int, echo: Echo) -> None:
        if not self._echoes.add(priority, code, echo):
            self._counters["drop_echoes"] += 1

    def leave(self, receiver: int, now: float) -> None:
        """A receiver is there no longer."""
        self._quiet_since = now
        self._echoes.drop(receiver)
        self._previous.forget(receiver)
        self._trials.gone(receiver)
        if self.clr is not None and self.clr.receiver == receiver:
            self._lose_clr(now)

    def _lose_clr(self, now: float) -> None:
        """Nobody limits the rate now: it stays, and everybody is asked (by the next round) who does."""
        if self._trials.before is not None:
            self._restore(now)
            return
        self.clr = None
        self.control.hold(now)
        self.rounds.begin(now)

    def _send_away(self, receiver: int, source: Address, now: float, effects: list[Effect]) -> None:
        """A receiver that cannot take the least rate of the session."""
        self._counters["sent_away"] += 1
        effects.append(Send(encode_abort(self._number, Reason.TOO_SLOW), source))
        if receiver not in self._sent_away and len(self._sent_away) < SENT_AWAY:
            self._sent_away.add(receiver)
            effects.append(PeerDropped(source, Reason.TOO_SLOW.text))
        if self.clr is not None and self.clr.receiver == receiver:
            self._lose_clr(now)

    def refusal(self, receiver: int, source: Address) -> list[Effect]:
        """What one hears that says something though it was sent away."""
        return [Send(encode_abort(self._number, Reason.TOO_SLOW), source)] if receiver in self._sent_away else []

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
        self.control.slowstart(self._options.slowstart_factor * self._round_receive, heard.rtt, now)

    def _end_slowstart(self, source: Address, now: float, effects: list[Effect]) -> None:
        self.slowstart = False
        self.slowstart_peak = self.control.at(now)
        self.control.cut(self.slowstart_peak, now)  # no further
        effects.append(CongestionSignal("first loss", source))

    # --- time

    def turn(self, now: float) -> None:
        """What goes by time, looked at when there is a packet that can tell of it: rounds, and the CLR's silence."""
        delay = self.feedback_delay(now)
        patience = self._patience(now)
        if self._trials.is_lost(now):
            self._counters["clr_unanswering"] += 1
            self._restore(now)
        elif self.clr is not None and now > self.clr.heard_at + self._gaps(now) + patience:
            self._counters["clr_timeouts"] += 1
            self._echoes.drop(self.clr.receiver)
            self._lose_clr(now)
            if self._ours:
                # What it asked for is no longer true of anybody; at that rate nobody could say what is.
                least = min(self._initial_rate, self._rate_before)
                self.control.restore(max(least, self.control.at(now)), now)
        elif self.rounds.is_over(now) or self.rounds.is_stale(delay):
            self.rounds.begin(now)
        if self.rounds.delay is None:
            self.rounds.delay = self.feedback_delay(now)
        if self._trials.before is not None:
            self._trials.named(now)
        if self.clr is None and now > self._quiet_since + SILENCE_DELAYS * self.feedback_delay(now):
            # Nobody has said anything for long: be careful, and begin anew when somebody does.
            self._quiet_since = now
            self.control.cut(max(self.control.at(now) / 2, self._first_rate), now)
            if self.control.at(now) <= self._first_rate:
                self.slowstart = True
                self.rounds.guess(max(self.rounds.max_rtt, self._options.initial_rtt))

    def unconfirmed_for(self, now: float) -> float:
        """How long a switch may wait until we confirm a report, seconds: a maximum RTT, and where we ask strangers
        first, another."""
        trip = self.feedback_delay(now) / self._options.feedback_rtts
        return trip + self.rounds.max_rtt if self._ours else trip

    def _patience(self, now: float) -> float:
        """How long the CLR may be silent. At a rate that it has brought about itself it is given no longer."""
        delay = self.feedback_delay(now)
        if self._ours and self._rate_before > 0:
            delay = min(delay, self._delay_at(self._rate_before))
        patience = self._options.clr_delays * delay
        return max(patience, LEAST_PATIENCE_S) if self._ours else patience

    def _delay_at(self, rate: float) -> float:
        max_rtt = self.rounds.max_rtt
        return self._options.feedback_delay(max_rtt, self._packet_bytes, rate, slowstart=self.slowstart)

    def _gaps(self, now: float) -> float:
        """Two packets' time, for one may be lost."""
        return 2 * self._packet_bytes / self.control.at(now) if self._ours else 0.0

    def ask_at(self, sent_at: float, now: float) -> float:
        """When a packet should leave that asks the CLR, however low the rate; `sent_at`: when the last one did."""
        if not self._ours or self.clr is None:
            return float("inf")
        due = sent_at + self.rounds.max_rtt
        if self._trials.before is not None:
            return due
        return max(due, self.clr.heard_at + self._gaps(now) + ASKED_RTTS * self.rounds.max_rtt)

    def _restore(self, now: float) -> None:
        """The new CLR did not answer, or has gone: what was before it is there again."""
        assert self.clr is not None
        self._echoes.drop(self.clr.receiver)
        before = self._trials.lose(now)
        self.clr = before.clr
        if self.clr is not None:
            self.clr.heard_at = now
        self._quiet_since = now
        self.slowstart = before.slowstart
        self.control.restore(before.rate, now)
        self._rate_before = before.rate
        self.rounds.begin(now)

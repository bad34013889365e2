"""When a receiver reports, and what it says (2.2, 2.5, 2.6): the CLR at once, others when their timer lets them.

Behind a switch that suppresses reports (docs/assist.md) nobody need be patient for the others' sake: timers run for a
maximum RTT instead of b of them, start as soon as there is a reason (once a round), and a report is repeated until the
sender's echo shows that it, or a lower one, has arrived. Where a switch knows how far the sender is, who has no round
trip time asks for it with the first packet, and the switch answers.
"""

from collections import deque
from random import Random
from typing import Final

from hosts.protocols.tfmcc.feedback import FeedbackTimer
from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.packets import (
    FLAG_ASSIST,
    FLAG_FIRST_LOSS,
    FLAG_FROM_CLR,
    FLAG_HAVE_LOSS,
    FLAG_HAVE_RTT,
    FLAG_LEAVE,
    FLAG_MAY_SUPPRESS,
    FLAG_SLOWSTART,
    FLAG_SUPPRESSED,
    FLAG_SUPPRESSION_LOSS,
    NO_RECEIVER,
    Data,
    Report,
    encode_loss_rate,
)
from hosts.protocols.tfmcc.path import Path
from hosts.protocols.tfmcc.rate_float import NO_RATE, decode_rate, decode_rtt, encode_rate, encode_rtt

ASK_S: Final = 0.02
"""A question that a switch has not answered is asked again after so long, and then after twice the time (ours)."""
ASKS: Final = 8
"""So often, with reports that are no mere question; and the answers to so many are known (ours)."""
ANSWERED_ASKS: Final = 4
"""After so many without an answer a report is none of the switches' business any more (ours)."""


class Reporting:
    """Of one receiver. Rates in bit/s, times in seconds."""

    __slots__ = (
        "_asked",
        "_asked_at",
        "_asks",
        "_events",
        "_has_told_loss",
        "_options",
        "_path",
        "_reported_at",
        "_timed_round",
        "_timer",
        "_unmeasured",
        "id",
        "is_clr",
        "reports",
    )

    def __init__(self, path: Path, options: TfmccOptions, receiver: int, rng: Random) -> None:
        """`receiver`: our number in the session."""
        self.id = receiver
        self.is_clr = False
        self.reports = 0
        self._path = path
        self._options = options
        self._timer = FeedbackTimer(rng, options.receivers_bound, options.offset_share, options.theta)
        self._events = 0  # loss events that have been seen to
        self._has_told_loss = False
        self._timed_round = -1  # the last round that a timer was set in
        self._reported_at = float("-inf")
        self._unmeasured = False  # what was reported last was said without a round trip time
        self._asked_at = float("-inf")
        self._asks = 0
        self._asked: deque[int] = deque(maxlen=ASKS)  # `time_us` of the last reports that had none

    @property
    def due_at(self) -> float | None:
        """When `fire` is to be called."""
        return self._timer.due_at

    def stop(self) -> None:
        """No report any more."""
        self._timer.stop()

    def heard(self, packet: Data, previous: Data | None, now: float, *, first_rtt: bool) -> Report | None:
        """The newest packet and the one before it; `first_rtt`: it brought our first round trip time.

        What is to be reported at once.
        """
        was_clr = self.is_clr
        self.is_clr = is_clr = packet.clr == self.id
        timer = self._timer
        events = self._path.history.events
        if is_clr:
            timer.stop()
            said, self._events = self._events, events
            if not was_clr or events != said or now >= self._reported_at + self._path.round_trip.rtt:
                return self._report(packet, now, FLAG_FROM_CLR)
            return None
        if previous is None or packet.round != previous.round:
            self._begin_round(packet, now)
        elif first_rtt:
            self._start_if_eligible(packet, now)  # only now the rate is known that should be reported
        elif timer.due_at is not None and (
            packet.suppression != previous.suppression or packet.suppression_no_rtt != previous.suppression_no_rtt
        ):
            self._hear(packet, now)
        before, self._events = self._events, events
        if before == 0 < events and not self._has_told_loss:
            # What was to be said without a loss is void. Further losses draw no new timer: each would put it off.
            self._start_if_eligible(packet, now)
        elif events != before and packet.flags & FLAG_SUPPRESSED and packet.round != self._timed_round:
            self._start_if_eligible(packet, now)
        return None

    def fire(self, now: float) -> Report | None:
        """Time has passed: a report, when the timer's time has come and there still is a reason."""
        timer = self._timer
        packet = self._path.last
        if packet is None or timer.due_at is None or now < timer.due_at:
            return None
        self._hear(packet, now)  # our rate may have risen since
        if self._timer.due_at is None:
            return None
        timer.stop()
        if self.is_clr or self._eligible_rate(packet, now) is None:
            return None
        report = self._report(packet, now, 0)
        if packet.flags & FLAG_SUPPRESSED:
            self._start(packet, decode_rate(report.rate), now)  # again, unless the sender echoes it
        return report

    def ask(self, packet: Data, now: float) -> Report | None:
        """A switch on the way knows how far it is to the sender: what asks it for our round trip time."""
        if not packet.path_rtt or self._path.round_trip.has_measurement or self.is_clr:
            return None
        if self._asks >= ASKS or now < self._asked_at + ASK_S * (1 << self._asks):
            return None
        rate = self._path.receive_bps(now) or decode_rate(packet.rate)
        return self._say(packet, now, 0, rate)

    def has_asked(self, time_us: int) -> bool:
        """Whether this is the time of one of our reports without a round trip time."""
        return time_us in self._asked

    def measured(self, now: float) -> Report | None:
        """A switch has given us our first round trip time: what we had to say without one is said now."""
        packet = self._path.last
        if packet is None:
            return None
        if not self._unmeasured:
            self._start_if_eligible(packet, now)
            return None
        if not self.is_clr and self._eligible_rate(packet, now) is None:
            return None
        self._timer.stop()
        report = self._report(packet, now, FLAG_FROM_CLR if self.is_clr else 0)
        self._start(packet, decode_rate(report.rate), now)
        return report

    def again(self, now: float) -> Report | None:
        """The sender did not know us, and has asked: what we have to say, which no switch is to take for old."""
        packet = self._path.last
        if packet is None or (not self.is_clr and self._eligible_rate(packet, now) is None):
            return None
        self._timer.stop()
        report = self._report(packet, now, FLAG_FROM_CLR if self.is_clr else 0)
        return report._replace(flags=report.flags & ~FLAG_MAY_SUPPRESS)

    def leave(self, now: float) -> Report | None:
        """We go. Only a leave that the sender waits for is told: thousands may leave at once."""
        packet = self._path.last
        if packet is None or not (self.is_clr or now - self._reported_at <= 2 * self._delay(packet)):
            return None
        return self._report(packet, now, FLAG_LEAVE)

    # --- a round

    def _delay(self, packet: Data) -> float:
        """T."""
        max_rtt = decode_rtt(packet.max_rtt)
        rate = decode_rate(packet.rate) / 8
        slowstart = bool(packet.flags & FLAG_SLOWSTART)
        return self._options.feedback_delay(max_rtt, self._path.packet_bytes, rate, slowstart=slowstart)

    def _begin_round(self, packet: Data, now: float) -> None:
        """Who has something to say sets a timer."""
        timer = self._timer
        if timer.due_at is not None and timer.has_loss and not self._has_told_loss:
            return  # the first loss is told within one feedback delay, whatever rounds begin meanwhile (2.6)
        timer.stop()
        self._start_if_eligible(packet, now)

    def _start_if_eligible(self, packet: Data, now: float) -> None:
        rate = self._eligible_rate(packet, now)
        if rate is not None:
            self._timed_round = packet.round
            self._start(packet, rate, now)

    def _start(self, packet: Data, rate: float, now: float) -> None:
        delay = self._delay(packet)
        since = now
        if packet.flags & FLAG_SUPPRESSED:
            delay /= self._options.feedback_rtts
            since = max(now, self._reported_at + delay)  # the last report may still be answered
            if now < since:
                delay = 0.0  # who repeats a report has drawn a time for it
        self._timer.start(
            since,
            delay,
            rate,
            decode_rate(packet.rate),
            has_loss=self._path.history.events > 0,
            has_rtt=self._path.round_trip.has_measurement,
        )
        self._hear(packet, now)

    def _eligible_rate(self, packet: Data, now: float) -> float | None:
        """The rate to report; None when there is no reason for a report."""
        path = self._path
        sending = decode_rate(packet.rate)
        if path.history.events:
            rate = path.calculated_bps
            if rate < sending or packet.clr == NO_RECEIVER or path.is_far(packet):
                return rate
            return None
        # Without a loss there is no rate to report but the one that arrives: in slowstart (2.6), when nobody limits the
        # sender, or to make a long round trip time known.
        if packet.flags & FLAG_SLOWSTART or packet.clr == NO_RECEIVER or path.is_far(packet):
            return path.receive_bps(now) or sending  # nothing known yet: as it is sent
        return None

    def _hear(self, packet: Data, now: float) -> None:
        """The least rates that others have reported may make our report needless."""
        timer = self._timer
        if timer.has_rtt and self._path.is_far(packet):
            return  # nobody else tells of our round trip time
        code = packet.suppression if timer.has_rtt else packet.suppression_no_rtt
        theta = self._options.switch_theta if packet.flags & FLAG_SUPPRESSED else None
        current = self._path.calculated_bps if timer.has_loss else self._path.receive_bps(now)
        from_loss = bool(packet.flags & FLAG_SUPPRESSION_LOSS)
        timer.hear(code, decode_rate(code), current, from_loss=from_loss, theta=theta)

    # --- what is said

    def _report(self, packet: Data, now: float, flags: int) -> Report:
        """Our state, for the sender of `packet`, the newest one."""
        path = self._path
        self.reports += 1
        self._reported_at = now
        rate = path.receive_bps(now)
        self._unmeasured = not path.round_trip.has_measurement
        if path.history.loss_event_rate > 0:
            flags |= FLAG_HAVE_LOSS
            rate = path.calculated_bps
            if not self._has_told_loss:
                flags |= FLAG_FIRST_LOSS
                self._has_told_loss = True
        return self._say(packet, now, flags, rate)

    def _say(self, packet: Data, now: float, flags: int, rate: float) -> Report:
        """A report of `rate`, in bit/s."""
        path = self._path
        if path.round_trip.has_measurement:
            flags |= FLAG_HAVE_RTT
        else:
            self._asked_at = now
            self._asked.append(int(now * 1e6))
            self._asks += packet.path_rtt > 0  # else there is nobody to answer
        if packet.flags & FLAG_ASSIST and (flags & FLAG_HAVE_RTT or self._asks <= ANSWERED_ASKS):
            flags |= FLAG_MAY_SUPPRESS
        return Report(
            packet.session,
            flags,
            self.id,
            packet.round,
            min(encode_rate(rate), NO_RATE - 1),
            encode_rtt(path.rate_rtt),
            encode_loss_rate(path.history.loss_event_rate),
            encode_rate(path.receive_bps(now)),
            packet.send_time_us,
            max(0, int((now - path.last_at) * 1e6)),
            int(now * 1e6),
        )

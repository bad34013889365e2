"""When a WEBRC receiver joins: its estimates, its target rate and its decisions at every epoch (3.1 to 3.3, Table 2).

What the paper leaves out is RFC 3738's, 3.2; where the two differ is rules.py. `now` is in seconds; rates are in
packets per second. Sockets, packets and groups are the receiver's business.
"""

import math
from collections.abc import Sequence
from typing import Final

from hosts.protocols.webrc.asking import Asking
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.rates import Rates
from hosts.protocols.webrc.rules import RULES
from hosts.protocols.webrc.today_rtt import FLOWS_ALREADY
from hosts.protocols.webrc.trial import Trial
from hosts.protocols.webrc.turns import Turns
from hosts.protocols.webrc.waves import Waves, gamma

EVENT_ROUNDS: Final = 4
"""Round trips on end with losses that are one loss event at most (ours): what a join brings too much is gone again
after some of them, and a TCP that a queue has stopped once loses nothing in the next."""
JOINED_SLOTS: Final = 0.25
"""Time slots after a trial in which what it let pass is gone by itself (ours): rates fall by 7 % in them, and by more
a join is seen to lag. Where as long before the join nothing was lost but by joins, it brings what is lost on end."""
MOST_DOUBLINGS: Final = 16
"""Of the wait after failed joins: beyond any time slot."""


class ReceptionControl:
    """A receiver's state but for the channels themselves. Wave channels are told apart by their numbers."""

    def __init__(self, waves: Waves, options: WebrcOptions) -> None:
        self.waves = waves
        self.options = options
        self.rates = Rates(waves, options.epoch_s)
        self.rules = RULES[options.rules](waves, self.rates, options.epoch_s)
        self._trial = Trial(waves, self.rates, options.epoch_s)  # with today's rules
        self.losses = self.rules.loss_estimator()
        self.rtt = self.rules.rtt_estimator()
        self.ssr = math.inf
        """SSR; infinite: start-up."""
        self.reqn = math.inf
        """REQN, Eq. (6), at the last epoch."""
        self.trate = 0.0
        """TRATE, Eq. (5), at the last epoch."""
        self.mrtt: float | None = None
        """The last measurement, seconds, as it was."""
        self.joining: int | None = None
        """The channel whose first packet is waited for."""
        self.loss_events = 0
        self.startup_ended_by = ""
        """`loss`, `mark`, `mrtt`, `rate` or `lag`."""
        self._least_ssr = waves.base_rate * (1 + 1 / waves.p + 1 / waves.p**2)  # RFC 3738, 3.2.2.6
        self._joined_at = 0.0
        self._first_at = -math.inf  # when the last joined wave's first packet came
        self._event_at = -math.inf  # the last loss event
        self._brought_until = -math.inf  # what is lost on end is what a join has brought
        self._other_at = -math.inf  # the last loss event that no join had brought
        self._loss_event_until = -math.inf
        self._previous_mrtt: float | None = None
        self._most_rr = 0.0  # since the last join
        self._started = False
        self._overshot = False  # start-up has ended, and the wave joined last is not left yet
        self._failures = 0  # of joins, on end
        self._join_again_at = -math.inf  # after a failure
        self.asking = Asking()
        """Whether others have more; with today's rules."""
        self.turns = Turns(waves, options.epoch_s)
        """Whether a queue serves each channel in turn; with today's rules."""
        self._soon_s = 0.0  # what comes sooner after a join has not been through the queue
        self._left, self._left_at = -1, -math.inf  # the channel that was left last
        self._left_gap = 0.0  # between its packets, seconds
        self._left_until = -math.inf  # until then the last leave has no effect

    @property
    def starting_up(self) -> bool:
        """Whether no event has ended start-up yet (3.2)."""
        return math.isinf(self.ssr)

    @property
    def artt(self) -> float | None:
        """ARTT, seconds."""
        return self.rtt.artt

    # --- packets

    def session_joined(self, now: float) -> None:
        """The base channel has been joined."""
        self._joined_at = now

    def first_base_packet(self, psn: int, arrived_at: float) -> None:
        """What everything begins with: MRTT of the base channel, too long by the wait for its next packet."""
        self._started = True
        self.mrtt = arrived_at - self._joined_at
        self.rtt.begin(self.mrtt)
        self.rates.first_packet(psn)

    def packets(
        self, received: int, lost: int, now: float, *, is_marked: bool = False, due_at: Sequence[float] = ()
    ) -> None:
        """So many packets of joined channels have come, and so many are known to be lost. `is_marked`: a queue has
        marked one that came; that begins a loss event as a lost packet does (RFC 3168, section 5), and is none.
        `due_at`: when the lost ones should have come; the paper's rules and the RFC's do not ask."""
        self.rates.count(received, lost)
        self.losses.packets(received + lost)
        self._trial.count(received, lost, now, is_marked=is_marked, is_joining=self.joining is not None)
        if not (lost or is_marked) or self.artt is None:
            return
        self.asking.lost()
        times = (self.rules.takes_back and sorted(due_at)) or [now]
        for at in times:
            if at < self._loss_event_until:
                continue
            most = max(self._event_at + EVENT_ROUNDS * self.artt, self._brought_until)
            if self.rules.takes_back and at < min(self._loss_event_until + self.artt, most):
                self._loss_event_until = min(at + self.artt, most)
            else:
                self._loss_event(at, self.artt, "loss" if lost else "mark")

    def _loss_event(self, now: float, artt: float, why: str) -> None:
        self.loss_events += 1
        rest = JOINED_SLOTS * self.waves.slot_s
        gone_at = max(self._first_at, self._trial.until(now)) + rest
        is_brought = now < gone_at and self.joining is None and not self.turns.is_over
        is_brought = is_brought and self._other_at < self._first_at - rest
        self._brought_until = gone_at if is_brought else -math.inf
        self._other_at = self._other_at if is_brought else now
        self._event_at = now
        self._loss_event_until = now + artt
        if self._trial.is_on and self.joining is None:  # all that a join brings is one event
            self._loss_event_until = max(self._loss_event_until, self._first_at + 2 * self.options.epoch_s)
        ssr = self.waves.p * self.rates.trr
        if self.starting_up:
            self._end_startup(ssr, why, now)
        else:
            self.losses.loss_event(self.rules.loss_event(self.losses.lossp, artt, now))
            self.ssr = max(self._least_ssr, ssr)
            if self.rules.takes_back:
                self._target(now)

    def first_packet(self, psn: int, arrived_at: float) -> None:
        """The first packet of the wave that was joined last (4.2)."""
        self.joining = None
        if self.asking.is_on:
            self._take_answer(arrived_at)
            return
        self._failures = 0
        self._first_at = arrived_at
        self.turns.begin()
        measured = arrived_at - self._joined_at
        waves = self.waves
        left = waves.psns - psn
        gap = 1 / waves.rate_before_end(left)
        if self.rules.takes_back:
            if left >= waves.wave_packets:  # the newest wave has just begun: what was waited for is no round trip
                return
            gap = 1 / waves.rate_with(left)
        before, self._previous_mrtt = self._previous_mrtt, measured
        if measured < self._soon_s:
            self._trial.end()
            if not self.starting_up and self._joined_at >= self.turns.drained_at:
                self.turns.shared(arrived_at)
        self.mrtt = measured
        self.rtt.update(measured, gap, self.rates.lost_share, arrived_at)
        if not (self.starting_up and self.options.early_detection) or before is None:
            return
        if measured - before > self.rules.longest_wait():
            self._end_startup(waves.p * self.rates.trr, "mrtt", arrived_at)

    def came(self, channel: int, slot_index: int, psn: int, at: float, count: int = 1, first_at: float = 0.0) -> None:
        """So many packets of a channel that is joined, which tell when they were sent: for today's rules."""
        if not self.rules.takes_back or self.joining is not None:
            return
        place = -1 if channel == self.waves.t else (channel - slot_index) % self.waves.t
        self.turns.packets(place, self.rates.waves_joined, psn, count, first_at if count > 1 else at, at)

    def slot_changed(self, over: int) -> None:
        """A new time slot; `over` is the wave that has become quiescent."""
        self.rates.slot_changed()
        self.turns.slot_changed()
        if self.joining == over:
            self.joining, self.asking.until = None, math.inf

    # --- whether others have more

    def asks(self, base_psn: int, now: float) -> bool:
        """Whether to ask, now that this packet of the base channel has come."""
        if not self.rules.takes_back or not self.asking.is_moment(base_psn):
            return False
        rates, waves = self.rates, self.waves
        is_free = not (self.starting_up or self._trial.is_on) and self.joining is None
        is_free = is_free and now >= max(self._left_until, self.turns.drained_at) and rates.waves_joined < waves.n
        return is_free and gamma(rates.waves_joined, waves.p) * rates.arr <= self.options.max_rate

    def asked(self, channel: int, now: float) -> None:
        """The next wave has been joined, for half of a round trip or as long as its next packet takes."""
        self._wait_for(channel, now)
        before = self.rates.arr
        self.rates.joined()
        self.asking.ask(now + max(self._soon_s, 1 / (self.rates.arr - before)))

    def not_answered(self) -> None:
        """Nothing has come, and the wave has been left."""
        self.turns.begin()
        self.asking.end(answered=False)
        self.joining = None
        self.rates.join_failed()

    def _take_answer(self, arrived_at: float) -> None:
        """Something has come. Where that is late, for the wave's packets are far apart, it may have been fetched by the
        question, and is on trial."""
        if arrived_at - self._joined_at <= self._soon_s:
            self._answered(arrived_at)
            return
        self.asking.until = math.inf
        self._first_at = arrived_at
        self._trial.begin(is_asked=True)

    def _answered(self, now: float) -> None:
        """The wave flows to others: by the losses that all of them see this rate is what each may have."""
        assert self.artt is not None
        self.asking.end(answered=True)
        self.turns.shared(now)
        if self.rates.arr > self.trate:
            self.losses.rescale(self.rules.lossp_at(self.rates.arr, self.artt))
            self.rules.begins_from(self.rates.arr, self.artt)
            self._target(now)

    def _take_turn(self, now: float) -> None:
        """Where a queue serves all in turn, that says what each may have: no more, and no less."""
        assert self.artt is not None
        rate = self.turns.look(now)
        if rate is None or self.starting_up:
            return
        self.asking.lost()
        if rate > self.rules.equation(self.losses.lossp, self.artt, now):
            self.losses.rescale(self.rules.lossp_at(rate, self.artt))
            self.rules.begins_from(rate, self.artt)

    # --- epochs

    def epoch(self, now: float) -> bool:
        """An epoch is over: whether the next wave is to be joined now."""
        rates = self.rates
        rates.epoch(starting_up=self.starting_up)
        self.losses.epoch()
        self._most_rr = max(self._most_rr, rates.rr)
        if not self._started:
            return False
        self.rtt.look(now)
        if self.rules.takes_back and self.joining is None:
            self._take_turn(now)
        self._target(now)
        if self.rules.takes_back:
            is_full = self.joining is None and now - self._first_at >= self.options.epoch_s
            was_asked = self._trial.is_on and self._trial.is_asked
            self._trial.epoch(now, is_full=is_full, lags=self.rules.lags())
            if was_asked and not self._trial.is_on:
                self._answered(now)
        if now < max(self._loss_event_until, self._join_again_at):
            return False
        if self.joining is not None or rates.waves_joined >= self.waves.n:
            return False
        if self.starting_up and not self._ready_in_startup(now):
            return False
        wanted = gamma(rates.waves_joined, self.waves.p) * rates.arr
        reaches_all = self.rules.reaches_all(self.trate)
        if self.trate < wanted and not reaches_all:
            return False
        if self._trial.forbids(wanted, now):
            return False
        if self.starting_up or reaches_all or not self.options.avoid_overflow:
            return True
        if self.rules.takes_back:
            return not self.rules.lags()
        if not self._falls():
            self._lower_reqn()
            return False
        return self.rules.fits(self._most_rr)

    def joined(self, channel: int, now: float) -> None:
        """The next wave has been joined."""
        self._wait_for(channel, now)
        if self.rules.takes_back:
            self._trial.begin()
        self._most_rr = 0.0
        self.rates.joined()

    def _wait_for(self, channel: int, now: float) -> None:
        self.joining = channel
        self._joined_at = now
        self._soon_s = max(FLOWS_ALREADY * (self.artt or 0.0), self.turns.waiting.least_s)

    def is_too_much(self, now: float) -> bool:
        """Whether the wave that was joined last is to be left: without it the rate would be no less than the target, or
        start-up has just ended because it was too much. One a round trip, for that long a leave has no effect."""
        rates = self.rates
        if not self._started or rates.waves_joined == 0 or now < self._left_until:
            return False
        if self._overshot or self._trial.has_failed or self._trial.is_overloaded:
            return True
        if not self.rules.takes_back or self.starting_up or self.joining is not None:
            return False
        return rates.arr >= self.trate * gamma(rates.waves_joined - 1, self.waves.p)

    def left(self, channel: int, now: float) -> None:
        """The wave that was joined last has been left before its end."""
        self.joining = None
        self._overshot = False
        if self.asking.is_on or (self._trial.has_failed and self._trial.is_asked):
            self.asking.end(answered=False)
        elif self._trial.has_failed:
            self._trial.hold(self.artt or 0.0, now)
        self._trial.end()
        self._left, self._left_at = channel, now
        self._left_until = now + (self.artt or 0.0)
        self._loss_event_until = max(self._loss_event_until, self._left_until)  # of what has been sent already
        before = self.rates.arr
        self.rates.join_failed()
        if self.rules.takes_back:
            self._take_turn(now)
            self.turns.left(now, self.artt or 0.0)
        self._left_gap = 1 / (before - self.rates.arr)

    def still_comes(self, channel: int, now: float) -> None:
        """A packet of a channel that is not joined: if the last leave takes longer than ARTT, for joins are made when
        queues are short, what is lost meanwhile is of the same event."""
        if channel != self._left or now > min(self._left_until, self._left_at + self.rtt.join_timeout):
            return
        self._left_until = now + 2 * self._left_gap
        self._loss_event_until = max(self._loss_event_until, self._left_until)

    def join_timed_out(self, now: float) -> bool:
        """Whether the join that is waited for has failed."""
        if self.joining is None or self.asking.is_on:
            return False
        return now - self._joined_at >= self.rtt.join_timeout

    def join_failed(self, now: float, chance: float) -> None:
        """The wave that was joined last is given up. With today's rules the next join comes after twice the time-out,
        and twice as late again after each failure, a time slot at most; but by `chance`, in [0, 1), up to half of that
        sooner. A router passes a join on when it has no other member there: where that is lost, those who join one
        after the other, and leave when nothing comes, would each be another's reason not to pass it on for good.
        """
        self.joining = None
        if self.rules.takes_back:
            self._failures += 1
            wait_s = min(self.rtt.join_timeout * 2.0 ** min(self._failures, MOST_DOUBLINGS), self.waves.slot_s)
            self._join_again_at = now + wait_s * (1 - chance / 2)
        self._trial.end()
        self.rates.join_failed()

    def _target(self, now: float) -> None:
        """Eqs. (5) and (6)."""
        assert self.artt is not None
        self.reqn = self.rules.equation(self.losses.lossp, self.artt, now)
        limit = min(self.rules.limit(starting_up=self.starting_up), self.turns.limit(now))
        self.trate = min(max(self.ssr, self.reqn), limit, self.options.max_rate)

    def _ready_in_startup(self, now: float) -> bool:
        """The early ends of start-up that an epoch can bring (3.2), and the wait for a full epoch after each join."""
        rates, waves = self.rates, self.waves
        joined = rates.waves_joined
        most = min(self.options.max_rate, waves.session_rate)
        if self.rules.ends_at_all and gamma(joined, waves.p) * rates.arr > most:
            self._end_startup(rates.trr, "rate", now)
            return False
        if not self.options.early_detection or joined == 0:
            return True
        share = min(1.0, (now - self._first_at) / self.options.epoch_s)
        if share < self.rules.startup_share:
            return False
        if self.rules.lags(share):
            self._end_startup(rates.trr, "lag", now)
            return False
        return True

    def _falls(self) -> bool:
        """Whether the reception rate has fallen since the last join as the waves have: no queue keeps it up (3.3)."""
        return self.rates.rr <= max(self._most_rr - 2 / self.options.epoch_s, self.waves.p * self._most_rr)

    def _end_startup(self, ssr: float, why: str, now: float) -> None:
        self.ssr = max(self._least_ssr, ssr)
        self.startup_ended_by = why
        early = why in ("lag", "mrtt")
        self._overshot = (early and self.options.early_leave) or (self.rules.takes_back and why != "rate")
        assert self.artt is not None
        self.losses.reset(self.rules.lossp_at(self.rules.after_startup(self.artt, now), self.artt))

    def _lower_reqn(self) -> None:
        """LOSSP is reset to what gives the target rate (3.3), where the equation asks for more than that: else it would
        fall for as long as a queue keeps the rate up and nothing is lost. Where REQN is the target rate LOSSP stays: to
        begin again from a rate counts as a loss event, and at ten packets a second RR often does not fall by chance."""
        assert self.artt is not None
        if self.reqn > self.trate:
            self.losses.rescale(self.rules.lossp_at(self.trate, self.artt))

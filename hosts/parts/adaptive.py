"""A congestion window that keeps queues short as Vegas does, while nobody else fills them, and is CUBIC where somebody
does.

    alone            growth by CUBIC's curve while few packets wait, and faster the longer that lasts (Copa's velocity,
                     Arun and Balakrishnan 2018, 2.2), none while some do, back by half of what is too much in two
                     round trips while many do (Vegas' alpha and beta)
    beside others    CUBIC
    always           a loss that means congestion is CUBIC's; a drain from time to time shows whether there are others,
                     and how long the path is without a queue (coexistence.py)

A loss does not mean congestion while it is alone, few packets wait and few are lost: such losses are the
links' own (Veno, Fu and Liew 2003; BBRv3 bounds their share). But to a TCP they do, and one that they keep down shows
itself by no queue: so they count where the window is above a multiple of what a TCP has that loses as much.

Windows are in packets, times in seconds on the owner's clock.
"""

from typing import Final

from hosts.parts.coexistence import SIGNALLED_PERIODS, Company, period_s
from hosts.parts.cubic import BETA, SLOW_START_CUT, Cubic
from hosts.parts.throughput import mixed_packets_per_rtt
from hosts.parts.vegas import INITIAL_CWND, LEAST_CWND, VegasOptions

SHORT_QUEUE_CUT: Final = 0.85
"""What it leaves of the window while the queue is short: RFC 8511's for marks, and for the same reason: a window that
is cut by more than a short queue holds leaves the link idle. It is half again what TCP gets there."""
FEW_LOSSES: Final = 0.02
"""Of the packets: more of them lost mean congestion even where no queue shows it, as of a policer (BBRv3's
BBR.LossThresh, draft-ietf-ccwg-bbr, 2.4)."""
LOSSY_SHARE: Final = 1.5
"""Of a TCP's window, that losses which no queue explains leave: within twice a TCP's, which is fair (ours)."""
ALPHA_SHARE: Final = 1 / 32
"""Of the round trip, that may always wait: a few packets of a large window are less than hosts' own delays (ours)."""
NOISE_S: Final = 0.0005
"""The same in time: what a host's scheduler adds (ours)."""
HYSTART_SHARE: Final = 1 / 8
"""Of the round trip: a wait that ends slow start (RFC 9406, 4.2, without its bounds of 4 and 16 ms: the one is for the
kernel's clock, the other for long paths)."""
FREE_ROUNDS: Final = 3
"""Round trips on end in which few packets waited, after which the growth doubles with each: Copa's velocity, 2.2. A
loss, borne or not, leaves the growth to CUBIC's curve for as long as it tells of company: a short queue shows by
nothing else, and who loses by chance is to have what a TCP has (ours)."""
VELOCITY_SHARE: Final = 1 / 8
"""Of the window, that it grows in a round trip at most: what is too much shows a round trip later, when as much again
has been sent, and that is to find room in a queue of a quarter of the path (ours)."""
EXCESS_CUT: Final = 1 / 2
"""Of the packets that wait and are too many, what two round trips take back while it is alone: one packet, as Vegas has
it, is nothing of a large window, and what fills the queue for long is taken for others (ours)."""
UNDERSHOOT: Final = 0.95
"""What a drain leaves of what the path holds without a queue (ours)."""
RESTART_CWND: Final = 10.0
"""Packets with which a window begins that is known to have been larger: RFC 6928's initial window."""
PEAK_S: Final = 60.0
"""In about so long the greatest rate that was seen is forgotten (ours). Who is being pushed away has a low rate, at
which the few packets that are left to him wait as long as a full queue makes them: that must not become the measure of
a queue."""


class AdaptiveWindow:
    """See the module. Its owner says when a round trip has passed."""

    __slots__ = (
        "_before_timeout",
        "_calm",
        "_company",
        "_cubic",
        "_filling",
        "_free_from",
        "_free_rounds",
        "_grows",
        "_has_lost",
        "_lossy_share",
        "_options",
        "_peak",
        "_recovers",
        "_resumes_at",
        "_rtt_s",
        "_seen_at",
        "_window_before",
        "_yields",
        "cwnd",
        "maximum",
        "ssthresh",
    )

    def __init__(
        self, options: VegasOptions, maximum: float, company: Company | None = None, *, lossy_share: float = LOSSY_SHARE
    ) -> None:
        """`maximum`: packets that the owner can keep in flight at all. `company`: whose drains it follows; its own.
        `lossy_share`: LOSSY_SHARE.
        """
        self._options = options
        self._lossy_share = lossy_share
        self.maximum = float(maximum)
        self.cwnd = INITIAL_CWND
        self.ssthresh = self.maximum
        self._cubic = Cubic()
        self._company = Company() if company is None else company
        self._grows = True
        self._calm = 0.0  # the window when the queue was last short, or filled by others
        self._yields = False  # to a long queue, in this round trip
        self._peak = 0.0  # packets/s
        self._seen_at = 0.0  # when that was last looked at
        self._filling = 0.0  # the greatest since many packets wait; 0: they do not
        self._rtt_s = 0.0  # without queues; 0: not known
        self._before_timeout: float | None = None  # what the path held before the first of several
        self._window_before = 0.0  # the window, likewise
        self._free_rounds = 0  # on end, in which few packets waited
        self._has_lost = False  # in this round trip
        self._free_from = 0.0  # no loss counts any more
        self._recovers = False  # from a timeout, and no whole round trip has gone well since
        self._resumes_at: float | None = None  # while it drains the queue: the window before

    @property
    def slow_start(self) -> bool:
        """Whether the window still doubles (every round trip)."""
        return self.cwnd < self.ssthresh

    @property
    def is_first_slow_start(self) -> bool:
        """Whether it doubles and nothing is known yet of what fits."""
        return self.cwnd < self.ssthresh == self.maximum

    @property
    def beside_others(self) -> bool:
        """Whether somebody else fills the queue."""
        return self._company.present

    @beside_others.setter
    def beside_others(self, present: bool) -> None:
        self._company.present = present

    def signalled(self, rtt_s: float, now: float) -> None:
        """A mark or heavy losses: somebody else fills the queue."""
        self._company.signalled(rtt_s, now)

    @property
    def draining(self) -> bool:
        """Whether it takes its packets out of the queue."""
        return self._resumes_at is not None

    def is_long(self, waiting_s: float) -> bool:
        """Whether packets that waited for so long were more than a few."""
        return waiting_s > self._wait_of(self._options.beta, 2 * ALPHA_SHARE)

    @property
    def heeds_waits(self) -> bool:
        """Whether it is to be told in the middle of a round trip what waits, for it grows fast."""
        return self.slow_start or self._velocity > 0

    @property
    def _velocity(self) -> float:
        """Packets that it grows by in a round trip, beside CUBIC's."""
        beyond = self._free_rounds - FREE_ROUNDS
        return min(2.0 ** min(beyond, 30), VELOCITY_SHARE * self.cwnd) if beyond >= 0 else 0.0

    def waits(self, waiting_s: float) -> None:
        """What is acknowledged now has waited in queues for so long at least, on the way to who waits longest. Only the
        first slow start ends by that (RFC 9406, 4.3): a later one goes as far as is known to fit, and the queue that it
        sees is the one which it comes from. Fast growth does, too.
        """
        if self._free_rounds and waiting_s > self._wait_of(self._options.alpha, ALPHA_SHARE):
            self._free_rounds = 0
        if not self.is_first_slow_start or not self._rtt_s:
            return
        if waiting_s > self._wait_of(self._options.gamma, HYSTART_SHARE):
            self._avoid_from(self.cwnd / 2)  # it was sent a round trip ago, when the window was half as large

    def _wait_of(self, packets: float, share: float) -> float:
        """Of so many packets at the greatest rate that was seen, or that share of the round trip."""
        return max(packets / self._peak if self._peak else 0.0, share * self._rtt_s, NOISE_S)

    def acknowledged(self, packets: int, rtt_s: float, now: float) -> None:
        """So many new packets were acknowledged (by all)."""
        if not self._grows or not packets:
            return
        if self.slow_start:
            self.cwnd = min(self.cwnd + packets, self.ssthresh, self.maximum)
        else:
            velocity = self._velocity * packets / self.cwnd
            self.cwnd = min(self._cubic.acknowledged(self.cwnd, packets, rtt_s, now) + velocity, self.maximum)

    def round_trip_ended(self, waiting_s: float, rate: float, rtt_s: float, used: bool, now: float) -> None:
        """A round trip of `rtt_s` passed in which packets waited in queues for `waiting_s` at least, on the way to who
        waits longest, and were acknowledged at `rate` (packets/s). Not `used`: something else than this window limited
        the rate.
        """
        self._rtt_s = max(0.0, rtt_s - waiting_s)
        self._peak = max(rate, self._peak * (1 - min(1.0, (now - self._seen_at) / PEAK_S)))
        self._seen_at = now
        self._recovers &= self.cwnd <= LEAST_CWND
        if self._has_lost:
            self._free_from = now + SIGNALLED_PERIODS * period_s(rtt_s)
            self._has_lost = False
        few = self._wait_of(self._options.alpha, ALPHA_SHARE)
        many = self._wait_of(self._options.beta, 2 * ALPHA_SHARE)
        if self.slow_start:
            self._grows = used
            self.waits(waiting_s)
            return
        company = self._company
        company.round_trip_ended(waiting_s, many, rtt_s, now)
        if self._resumes_at is None:
            self._filling = max(self._filling, rate) if waiting_s > many else 0.0
        if self._resumes_at is not None:
            if not company.draining:
                self._resume(few)
        elif company.draining:
            self._resumes_at = self.cwnd
            self._grows = False
            self._avoid_from(UNDERSHOOT * self.cwnd * (self._rtt_s / rtt_s if rtt_s > 0 else 1.0) - 1)
        else:
            self._grows = used and (company.present or waiting_s < few)
            is_free = self._grows and not company.present and now >= self._free_from
            self._free_rounds = self._free_rounds + 1 if is_free else 0
            if not self._grows:
                self._cubic.hold()
            if waiting_s <= many or company.present:
                self._calm = self.cwnd
                self._yields = False
            else:
                # What it has taken back shows only in the round trip after the next one.
                self._yields = not self._yields
                excess = rate * (waiting_s - many) if self._yields else 0.0
                self._avoid_from(self.cwnd - max(1.0, EXCESS_CUT * excess))

    def _resume(self, few_s: float) -> None:
        """The drain is over."""
        assert self._resumes_at is not None
        before = self._resumes_at
        if not self._company.present:  # the queue was this window's own
            self._cubic.hold()
            if self._filling:  # and its rate the link's, which may have fallen
                self._peak = self._filling
            before = min(before, self.cwnd / UNDERSHOOT + 1 + max(self._options.alpha, self._peak * few_s))
        else:  # and what it gave way for was not
            before = max(before, self._calm)
        self._resumes_at = None
        self._grows = True
        self._avoid_from(before)

    def _avoid_from(self, cwnd: float) -> None:
        """Congestion avoidance from this window on."""
        self._free_rounds = 0
        self.cwnd = self.ssthresh = min(max(LEAST_CWND, cwnd), self.maximum)

    def lost(self, waiting_s: float, share: float = 1.0, rtt_s: float | None = None) -> bool:
        """A loss, once a round trip; packets waited in queues for so long on the way to who lost it, and that `share`
        of them has been lost lately; `rtt_s`: that way's round trip without queues, where it is known to be another
        than the longest. Whether it is taken for congestion.
        """
        before = self.cwnd if self._resumes_at is None else self._resumes_at
        self._free_rounds = 0
        self._has_lost = not self.slow_start
        if (
            not self._company.present
            and not self.is_long(waiting_s)
            and self._bears(share, before, rtt_s or self._rtt_s)
        ):
            return False
        short = waiting_s < self._wait_of(self._options.alpha, ALPHA_SHARE)
        self._calm = 0.0
        if self.slow_start:
            self._cubic.lost(before)
            self._avoid_from(before * SLOW_START_CUT)
            return True
        after = self._cubic.lost(before, SHORT_QUEUE_CUT if short else BETA)
        if self._resumes_at is None:
            self._avoid_from(after)
        else:
            self._resumes_at = after
            self._avoid_from(min(self.cwnd, after))
        return True

    def _bears(self, share: float, cwnd: float, rtt_s: float) -> bool:
        """Whether losses of that share of the packets, which no queue explains, leave such a window as it is, on a way
        with such a round trip. What a TCP has there is a rate: of a longer round trip, which the window is of where
        others are farther, that is as many more packets. The first slow start knows of too few losses to tell the
        share.
        """
        if share >= FEW_LOSSES:
            return False
        if not share or not self._rtt_s or self.is_first_slow_start:
            return True
        return cwnd / self._rtt_s <= self._lossy_share * mixed_packets_per_rtt(share, rtt_s) / rtt_s

    def cut(self, share: float = BETA) -> None:
        """Repairs were lost, too: that share is left."""
        self._leave_drain()
        self._cubic.hold()
        self._avoid_from(self.cwnd * share)

    def timed_out(self, again: bool = False) -> None:
        """A retransmission timer expired; `again`: for a packet on whose account it did before.

        Until a whole round trip has gone well it is taken for the same loss: ssthresh is what the path held before, and
        one lost flight says no more of that than one lost packet (ours; RFC 5681 has the flight's size, RFC 6582 keeps
        what was there before the recovery).
        """
        self._leave_drain()
        if not again and not self._recovers:
            known = self.ssthresh / 2 if self.slow_start and self.ssthresh < self.maximum else 0.0
            self._before_timeout = self.ssthresh if self.slow_start else self.cwnd
            self._window_before = self.cwnd
            self.ssthresh = max(LEAST_CWND, known, self._cubic.lost(self.cwnd))
        self._recovers = True
        self.cwnd = INITIAL_CWND
        self._grows = True

    def forgive(self) -> None:
        """The last timeouts said nothing of this path: slow start leads back to what was before them, from what may be
        sent at once (RFC 4015, 3.2, with RFC 6928's initial window).
        """
        if self._recovers and self._before_timeout is not None:
            self._cubic.hold()
            self.ssthresh = max(self.ssthresh, self._before_timeout)
            self.cwnd = max(self.cwnd, min(RESTART_CWND, self.ssthresh, self._window_before))

    def blame(self) -> None:
        """The last timeouts were of losses: there is nothing to forgive."""
        self._before_timeout = None

    def _leave_drain(self) -> None:
        self._calm = 0.0
        if self._resumes_at is not None:
            self.cwnd = self._resumes_at
            self._resumes_at = None
        self._company.forget()

    def continue_from(self, cwnd: float) -> None:
        """Congestion avoidance goes on from a window of so many packets, as of another path."""
        self._leave_drain()
        self._cubic.hold()
        self._avoid_from(cwnd)

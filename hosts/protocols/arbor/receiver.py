"""Arbor's receiver of real-time data: keeps the window that a TCP on its path would have, and reports it when it limits
the rate, or should.
"""

import random
from collections.abc import Sequence
from math import inf
from typing import Final

from hosts.endpoint import Datagram, DatagramRun, DeliverDatagram, Effect, Sample, Send
from hosts.parts.base_delay import BaseDelay
from hosts.parts.gaps import REORDERING, Gaps
from hosts.parts.jump import Jump
from hosts.parts.path import Path
from hosts.parts.realtime import LEAVE_COPIES, RealtimeReceiver
from hosts.parts.runs import singly
from hosts.parts.spread import Wait, spread_rtts
from hosts.protocol import Session
from hosts.protocols.arbor.going import window_at
from hosts.protocols.arbor.joining import Joining
from hosts.protocols.arbor.link_rate import LinkRate
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.packets import (
    FLAG_ASSIST,
    FLAG_END,
    FLAG_FILE,
    FLAG_RESTARTING,
    FLAG_STARVED,
    FLAG_SUPPRESSED,
    JOIN,
    LEAVE,
    NO_RECEIVER,
    STREAM,
    AnyData,
    Packet,
    Report,
    ToldData,
    Welcome,
    encode_report,
    parse,
    parse_data,
    parse_told_data,
)
from hosts.protocols.arbor.twins import twins
from hosts.protocols.arbor.window import Arrival, EmulatedWindow
from hosts.wire.farewell import Abort, Leave
from hosts.wire.header import CE, SESSION_MAX
from hosts.wire.reason import Reason
from hosts.wire.seq import extend
from hosts.wire.units import UNIT, to_units, to_us

UNUSED_GROWTH: Final = 2.0
"""Of what the sender has in flight: what the window of who does not limit the rate may grow to (RFC 7661, 4.3)."""
HEARD_RTTS: Final = 1.5
"""After so many round trips what the sender does about a loss or a report has been heard for certain (ours)."""
HEADER_BYTES: Final = 42
"""Of Ethernet, IPv4 and UDP, before a packet on a link."""
LESS: Final = 0.95
"""Of the sender's rate: who wants less than this says so (ours)."""
BY_THEMSELVES: Final = REORDERING + 1
"""Packets that are taken one by one after a gap: with the last of them what was missing is lost."""
_MICRO: Final = 1e-6


class ArborReceiver(RealtimeReceiver):
    """States: listening (for data), member, closed."""

    def __init__(self, session: Session, options: ArborOptions, rng: random.Random) -> None:
        super().__init__(session)
        self.options = options
        self.id = rng.randint(NO_RECEIVER + 1, SESSION_MAX)
        self.limits = False
        self.asks = True
        """Whether it may ask for less while somebody else limits the rate."""
        self.path = Path(learns_again=True)
        self.path.note_company(True, inf)  # a window that fills queues sees none without one for long
        self.window = EmulatedWindow(options.first_window, options.max_window)
        self.gaps = Gaps()
        self.rtt = 0.0  # smoothed; 0: not known
        self._longest_wait = BaseDelay()  # of the last while, negated
        self._rng = rng
        self._jump = Jump()
        self._delivers = session.deliver
        self._parse_data = parse_told_data if options.assist == "switch" else parse_data
        self._link = LinkRate()
        self._of_file = 0  # the flag that data have
        self._begun = False  # an rtt is known, and the window follows what comes
        self._last: AnyData | None = None  # the newest packet
        self._last_at = 0.0
        self._unreported = 0  # packets since the last report
        self._reported_at = -inf
        self._joining = Joining(options, rng)
        self._wait = Wait()
        self._twins = twins(options, Report)

    # --- the application's side

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        if self.closed:
            return ()
        effects: list[Effect] = []
        # Only a leave that the sender waits for is told: thousands may leave at once.
        if self.limits and self.sender is not None:
            leave = LEAVE.encode(Leave(self.number or 0, self.id, Reason.INTERRUPTED))
            effects += [Send(leave, self.sender)] * LEAVE_COPIES
        return effects + self._end(False, reason)

    def sample(self, *, now: float) -> Sample:
        window = self.window
        return {
            "state": self.state,
            "received_bytes": self.received_bytes,
            "data_packets": self.data_packets,
            "lost_packets": self.gaps.lost_packets,
            "rtt_s": self.rtt or None,
            "clock_drift": self.path.drift,
            "is_leader": self.limits,
            "cwnd": window.cwnd,
            "calculated_bps": window.cwnd / self.rtt * self.options.packet_bytes * 8 if self.rtt else 0.0,
            "challenges": self.counters["challenges"],
        }

    # --- inputs

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        packet = self._parse_data(datagram.data)
        if packet is None:
            return self._other(datagram, now)
        effects: list[Effect] = []
        if datagram.source is not self.sender or packet.session != self.number:
            begins = self.state == "listening"
            if self._of_file != packet.flags & FLAG_FILE:
                self.counters["drop_other_session"] += 1
                return ()
            if not self._is_ours(datagram, packet.session, effects):
                return ()
            if begins:
                self._joining.heard(packet, now)
        elif self.state == "closed":
            return ()
        at = datagram.came_at(now)
        if not packet.flags & FLAG_END:
            self._heard_at = now
        gaps = self.gaps
        seq = extend(packet.seq, gaps.highest) if gaps.highest >= 0 else packet.seq
        newest = seq > gaps.highest
        if self._jump.refuses(seq, gaps.highest):
            self.counters["drop_far_ahead"] += 1
            return effects
        if not gaps.arrived(seq):
            self.counters["drop_duplicate"] += 1
            return effects
        size = len(packet.payload)
        self.data_packets += 1
        self.received_bytes += size
        if newest:
            self._newest(packet, len(datagram.data) + HEADER_BYTES, datagram.ecn == CE, at, now, effects)
        if size and self._delivers:
            self._deliver(seq, packet, at, now, effects)
        if packet.flags & FLAG_END:
            self._stream_ends(packet.offset + size, now)
        return effects

    def receive_run(self, run: DatagramRun, *, now: float) -> Sequence[Effect]:
        """Data that the sender has sent together are taken together."""
        if run.source != self.sender or self.options.assist == "switch":  # which tells of each packet by itself
            return super().receive_run(run, now=now)
        return self.receive_pieces(STREAM, run, now)

    def _take_run(self, run: DatagramRun, payload: bytes, now: float) -> Sequence[Effect] | None:
        """Data that follow each other and say the same. None: they have to be taken one by one."""
        gaps, count = self.gaps, run.packets
        if count == 1 or run.ecn == CE or run.destination != self.session.group or not self.path.is_known:
            return None
        first = run.datagram(0)
        packet = self._parse_data(first.data)
        if packet is None or packet.session != self.number or packet.flags & FLAG_END or self.state == "closed":
            return None
        if len(payload) != count * len(packet.payload):
            return None
        if not gaps.is_next(extend(packet.seq, gaps.highest)):
            return self._take_after_gap(run, payload, len(packet.payload), now) if count > BY_THEMSELVES else None
        self._heard_at = now
        seq = gaps.follow(count)
        self.data_packets += count
        self.received_bytes += len(payload)
        effects: list[Effect] = []
        # They left together: how long the way is the first one shows.
        self._newest(packet, len(first.data) + HEADER_BYTES, False, first.came_at(now), now, effects, count)
        if payload and self._delivers:
            self._deliver_run(seq, packet, payload, now if run.arrived_at is None else run.arrived_at, now, effects)
        return effects

    def _take_after_gap(self, run: DatagramRun, payload: bytes, size: int, now: float) -> Sequence[Effect]:
        """With the first of them what is missing before is lost."""
        first, rest = run.split(BY_THEMSELVES)
        effects = super().receive_run(first, now=now)
        taken = None if self.gaps.is_doubtful else self._take_run(rest, payload[BY_THEMSELVES * size :], now)
        return [*effects, *(super().receive_run(rest, now=now) if taken is None else taken)]

    def _deliver_run(
        self, seq: int, packet: AnyData, payload: bytes, at: float, now: float, effects: list[Effect]
    ) -> None:
        """Hand the payloads of packets like this one, from `seq` on, to the application."""
        for before, one in singly(packet, payload):
            self._deliver(seq + before, one, at, now, effects)

    def _deliver(self, seq: int, packet: AnyData, at: float, now: float, effects: list[Effect]) -> None:
        """Hand a payload to the application."""
        effects.append(DeliverDatagram(seq, packet.offset, packet.payload, packet.send_time_us * _MICRO, at))

    def _other(self, datagram: Datagram, now: float) -> Sequence[Effect]:
        packet = self._told(datagram, parse)
        return () if packet is None else self._control(packet, datagram, now)

    def _control(self, packet: Packet, datagram: Datagram, now: float) -> Sequence[Effect]:
        """What our sender says beside its data."""
        at = datagram.came_at(now)
        if isinstance(packet, Welcome):
            return self._welcomed(packet, at, now)
        if isinstance(packet, Abort):
            return self._aborted(packet.reason, datagram, now)
        self.counters["drop_unexpected"] += 1
        return ()

    def _welcomed(self, welcome: Welcome, at: float, now: float) -> Sequence[Effect]:
        joining = self._joining
        asked_us = joining.asked_us
        if welcome.receiver != self.id or asked_us is None or not asked_us <= welcome.time_comp_us <= at * 1e6:
            self.counters["drop_forged"] += 1  # or a second answer, to a request that was repeated
            return ()
        is_first = not self.path.is_known
        self.path.started(at, (welcome.time_us - welcome.time_comp_us) * _MICRO)
        if self._last is not None:
            joining.answered(self._last, is_first, self._loop(self._last), at)
        return ()

    def _newest(
        self, packet: AnyData, size: int, marked: bool, at: float, now: float, effects: list[Effect], count: int = 1
    ) -> None:
        """The newest packet, of `size` bytes on a link, moves the window; or `count` of them that left together."""
        path = self.path
        transit = at - packet.send_time_us * _MICRO
        path.arrived(at, transit - self._waited(packet))
        self._last, self._last_at = packet, at
        begins = packet.limiting == self.id and not self.limits
        self.limits = packet.limiting == self.id
        lost = self.gaps.take_lost()
        if not path.is_known:
            if self.limits:
                self._report_as_due(True, self.options.first_window, now, effects)
            elif self._joining.asked_us is None:
                self._joining.waits(packet)
                self._joining.suffers(packet, self.gaps.lost_packets, self.data_packets, now)
            return
        rtt = path.rtt(at, transit)
        # Smoothed over a round trip, as the sender's is by so many reports of an eighth each.
        self.rtt += (rtt - self.rtt) / max(1.0, self.window.cwnd / count) if self.rtt else rtt
        rate = packet.rate / UNIT
        if not self._begun:
            self._begin(rate)
        waiting = path.waiting(at, transit)
        self._longest_wait.add(-waiting, at)
        arrival = Arrival(at, packet.send_time_us, self.rtt, self._loop(packet), transit, waiting, marked, rate)
        window = self.window
        window.level.among(packet.receivers)
        cut = window.arrived(arrival, self._most(packet, rate), count)
        if lost:
            cut |= window.lost(arrival, -self._longest_wait.least)
        if isinstance(packet, ToldData) and (left := self._link.add(packet, size, at)) < 1:
            window.slowed(arrival, left)
            cut = True
        self._wait.stretch(rtt)
        if self.limits:
            self._wait.end()
            if begins:
                window.begin(rate * self.rtt)
            at_once = cut or begins or packet.flags & FLAG_RESTARTING > 0
            self._report_as_due(at_once, window.cwnd, now, effects, count)
        else:
            self._challenge_as_due(packet, rate, now, effects)

    def _waited(self, packet: AnyData) -> float:
        """For how long it was in switches' queues, as far as these tell: without that it shows what the way takes when
        all queues are empty. Other queues are not in it, nor is what cannot be.
        """
        waited = packet.waited_us * _MICRO if isinstance(packet, ToldData) else 0.0
        return waited if waited < (self.rtt or self.options.largest_rtt_s) else 0.0

    def _begin(self, rate: float) -> None:
        """What is sent so far is what its path is taken to bear; more or less shows soon."""
        self._begun = True
        self.window.cwnd = max(self.window.cwnd, rate * self.rtt)

    def _loop(self, packet: AnyData) -> float:
        """The time in which the sender reacts."""
        return min(max(self.rtt, packet.rtt_us * _MICRO), self.options.largest_rtt_s)

    def _most(self, packet: AnyData, rate: float) -> float:
        """What the window may grow to."""
        if self.limits:
            return self.window.cwnd if packet.flags & (FLAG_STARVED | FLAG_RESTARTING) else inf
        return max(UNUSED_GROWTH * window_at(self.rtt, rate, packet.rtt_us * _MICRO), float(self.options.first_window))

    # --- what it says

    def _report_as_due(self, at_once: bool, cwnd: float, now: float, effects: list[Effect], count: int = 1) -> None:
        self._unreported += count
        share = self.options.reports_per_rtt
        if at_once or self._unreported * share >= cwnd or (now - self._reported_at) * share >= self.rtt:
            self._unreported = 0
            self._reported_at = now
            report = self._report(cwnd, now)
            if self._last is not None and self._last.flags & FLAG_ASSIST:
                effects += self._send(self._twins.checks(report._replace(may_suppress=True), now))
            effects += self._send([report])

    def _challenge_as_due(self, packet: AnyData, rate: float, now: float, effects: list[Effect]) -> None:
        wanted = self._wanted(packet, rate)
        if wanted is None:
            self._wait.end()
            self._twins.answered()
        elif self._wait.at == inf:
            # What has just cut this window may have cut the one that the sender goes by: that is seen a round trip
            # later. And where many want less at once, some say so, and the others hear of it; or a switch sees to it.
            spread = spread_rtts(self._rng, self._others(packet), self.options.challenges_per_rtt)
            self._wait.begin(HEARD_RTTS + spread, self._loop(packet), now)
        if wanted is not None and now >= self._wait.at:
            self.counters["challenges"] += 1
            # Again only when an answer would have come.
            self._wait.begin(HEARD_RTTS, self._loop(packet), now)
            request = self._report(wanted, now, may_suppress=packet.flags & FLAG_ASSIST > 0)
            effects += self._send(self._twins.request(request, now))

    def _others(self, packet: AnyData) -> int:
        """How many must not all speak at once."""
        return 1 if packet.flags & FLAG_SUPPRESSED else packet.receivers

    def _wanted(self, packet: AnyData, rate: float) -> float | None:
        """The window to challenge with; None: it wants no less than what comes."""
        window = self.window
        if packet.limiting == NO_RECEIVER:
            return window.cwnd
        if not self.asks:
            return None
        # Means are compared; and not while the sender goes by less, for a moment, and would follow nobody.
        most = min(window.level.rate, rate) if window.level.epochs else rate
        less = LESS * window_at(self.rtt, most, packet.rtt_us * _MICRO)
        return window.standing if window.level.likely(window.cwnd) < less else None

    def _report(self, cwnd: float, now: float, *, may_suppress: bool = False) -> Report:
        assert self._last is not None
        waited_us = max(0, int((now - self._last_at) * 1e6))
        who = (self.number or 0, self.id, to_units(cwnd, 1), to_us(self.rtt, 1))
        rate = to_units(cwnd / self.rtt) if self.rtt else 0
        window, time_us = self.window, self._last.send_time_us + waited_us
        return Report(*who, rate, self.gaps.highest, time_us, window.slow_start, window.scalable, False, may_suppress)

    def _send(self, reports: Sequence[Report]) -> list[Send]:
        assert self.sender is not None
        return [Send(encode_report(report), self.sender) for report in reports]

    def _join(self, now: float) -> Send:
        assert self.sender is not None
        assert self._last is not None
        self.counters["joins"] += 1
        self._joining.asks(self._last, self.path.is_known, now)
        join = self._joining.packet(self.id, self._last, self._last_at, now)
        return Send(JOIN.encode(join), self.sender)

    # --- timers

    @property
    def _takes_part(self) -> bool:
        return self.state not in ("listening", "closed")

    @property
    def wake_at(self) -> float | None:
        if not self._takes_part:
            return None
        return min(self._joining.at, self._wait.at, self._doubt.wake_at, self._heard_at + self.options.silence_s)

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if not self._takes_part:
            return ()
        effects = self._believe(now)
        if effects:
            return effects
        if now >= self._joining.at and self._last is not None:
            effects.append(self._join(now))
        if now >= self._wait.at and self._last is not None:
            self._challenge_as_due(self._last, self._last.rate / UNIT, now, effects)
        if now >= self._heard_at + self.options.silence_s:
            effects += self._end(False, f"the sender was silent for {self.options.silence_s:g} s")
        return effects

    def _end(self, complete: bool, reason: str) -> list[Effect]:
        self.limits = False
        return super()._end(complete, reason)

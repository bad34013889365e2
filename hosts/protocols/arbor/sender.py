"""Arbor's sender of real-time data: goes by the window of the receiver that wants least, paced. It repeats nothing."""

import random
from collections.abc import Sequence
from math import inf
from typing import Final

from hosts.endpoint import Address, CongestionSignal, Datagram, Effect, PeerDropped, Sample, Send, SessionStarted
from hosts.parts.least_rate import LeastRate
from hosts.parts.members import Members
from hosts.parts.rate_limit import RateLimit
from hosts.parts.realtime import LATE_S, RealtimeSender
from hosts.parts.twins import Audit
from hosts.protocol import Session
from hosts.protocols.arbor.going import Going, Limiting
from hosts.protocols.arbor.joining import Crowd, Gathering, again_s
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.packets import (
    DATA_BYTES,
    FLAG_ASSIST,
    FLAG_END,
    FLAG_GATHERING,
    FLAG_RESTARTING,
    FLAG_STARVED,
    NO_RECEIVER,
    TOLD_DATA_BYTES,
    WELCOME,
    Data,
    Join,
    Packet,
    Report,
    Welcome,
    encode_abort,
    encode_data,
    encode_run,
    encode_told_data,
    encode_told_run,
    parse,
)
from hosts.protocols.arbor.twins import audited
from hosts.wire.checks import read_packet
from hosts.wire.farewell import Leave
from hosts.wire.header import ECT_1
from hosts.wire.reason import Reason
from hosts.wire.seq import extend
from hosts.wire.units import UNIT, to_units, to_us

HEARTBEAT_S: Final = 0.25
"""Without data, or somebody to go by, an empty packet is sent so often: receivers join by it (ours)."""
STALE_S: Final = 10.0
"""A report on a packet older than this is not believed (ours)."""
LEAST_RTT_S: Final = 5e-5
"""None is taken for less (ours)."""
SENT_AWAY: Final = 3000
"""Receivers that were sent away and are told so again, at most (ours, as TFMCC's)."""
_MICRO: Final = 1e-6


class ArborSender(RealtimeSender):
    """States: waiting (for `start`), sending, closed."""

    def __init__(self, session: Session, options: ArborOptions, rng: random.Random) -> None:
        super().__init__(session, rng)
        self.options = options
        self.going = Going(options)
        self.members = Members(options.join_interval_s)
        self._crowd = Crowd(options.join_interval_s)
        self._gathering = Gathering(session.receivers, session.wait)
        self._sent_at = -inf  # the last packet
        self._limit = RateLimit(options.rate_limit_bps)
        self._lacking_since: float | None = None  # a packet could leave, and the application has none
        self._heartbeat_s = HEARTBEAT_S
        self._assist = FLAG_ASSIST if options.assist == "switch" else 0
        self._audit = Audit()
        self._starved = False  # something else than the window has limited the rate since the last report
        self._least = LeastRate(options.least_rate_bps, options.least_rate_s)
        self._sent_away: set[Address] = set()

    # --- the application's side

    @property
    def send_space(self) -> int:
        payload = self.options.payload_bytes
        return self._room(payload, int(self.going.rate * payload * self.options.send_buffer_s))

    def _abort(self, reason: Reason) -> bytes:
        return encode_abort(self.number, reason)

    # --- inputs

    def start(self, *, now: float) -> Sequence[Effect]:
        self.state = "sending"
        self._now = self._started_at = now
        self._least.begin(now)
        return (SessionStarted(), *self._transmit(now))

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        self._now = now
        packet = read_packet(datagram.data, parse, self.counters, self.number)
        if packet is None or self.closed:
            return ()
        if datagram.source in self._sent_away:
            return (Send(self._abort(Reason.TOO_SLOW), datagram.source),)
        at = datagram.came_at(now)
        if isinstance(packet, Report):
            return self._report(packet, datagram.source, at, now)
        if isinstance(packet, Join):
            return self._join(packet, datagram.source, at, now)
        if isinstance(packet, Leave):
            return self._leave(packet, datagram.source, now)
        return self._other(packet, datagram.source, now)

    def _other(self, packet: Packet, source: Address, now: float) -> Sequence[Effect]:
        """Nothing else is said of real-time data."""
        self.counters["drop_unexpected"] += 1
        return ()

    def _knows(self, receiver: int, source: Address, now: float) -> bool:
        """Whether a receiver that reports has joined: where switches answer, it may have been by one."""
        if self.members.hear(receiver, source, now) if self._assist else self.members.knows(receiver, source):
            return True
        self.counters["drop_stranger"] += 1
        return False

    def _report(self, report: Report, source: Address, at: float, now: float) -> Sequence[Effect]:
        counters, going = self.counters, self.going
        if not self._knows(report.receiver, source, now):
            return ()
        rtt = at - report.time_comp_us * _MICRO
        seq = extend(report.seq, self.seq)
        if not 0 < rtt <= STALE_S or not 0 <= seq < self.seq:
            counters["drop_forged"] += 1
            return ()
        counters["feedback_packets"] += 1
        cwnd = min(report.cwnd / UNIT, float(self.options.max_window))
        limiting = going.limiting
        effects = audited(self._audit, report, "rate", 0, report.rate, source, going.srtt or 0.0, now)
        if limiting is not None and limiting.receiver == report.receiver:
            counters["acks"] += 1
            if cwnd < going.cwnd:
                effects.append(CongestionSignal("report", source))
            going.reported(seq, self._bounded(rtt), report, now)
            self._starved = False
        else:
            counters["challenges"] += 1
            wanted = self._bounded(max(report.rtt_us * _MICRO, LEAST_RTT_S))
            if limiting is None or going.is_more_than(cwnd, wanted):
                counters["limiting_changes"] += 1
                one = Limiting(report.receiver, source, now)
                going.follow(one, seq, wanted, cwnd, now)
                going.note(report)
                effects.append(CongestionSignal("report", source))
        return effects + self._transmit(now)

    def _bounded(self, rtt: float) -> float:
        return min(max(rtt, LEAST_RTT_S), self.options.largest_rtt_s)

    def _join(self, join: Join, source: Address, at: float, now: float) -> Sequence[Effect]:
        counters = self.counters
        counters["feedback_packets"] += 1
        counters["joins"] += 1
        rtt = at - join.time_comp_us * _MICRO
        effects: list[Effect] = []
        reason = self._admit(join.receiver, source, rtt, now, effects)
        if reason is None:
            counters["drop_members"] += 1
            return ()
        if join.may_suppress:
            self._crowd.told(join.stands_for, now)
        if reason is Reason.NONE and self.going.limiting is None and 0 < rtt <= STALE_S:
            # Somebody has to be the first; the others say so when they want less.
            self._go_by(join.receiver, source, self._bounded(rtt), now)
        waited_us = max(0, int((now - at) * 1e6))
        echo = min(join.time_us + waited_us, 2**64 - 1)
        welcome = Welcome(self.number, join.receiver, echo, int(now * 1e6), reason, join.may_suppress)
        answer = WELCOME.encode(welcome)
        return [Send(answer, source), *effects, *self._transmit(now)]

    def _go_by(self, receiver: int, source: Address, rtt: float, now: float) -> None:
        """Of a receiver that limits the rate from now on no more than this is known."""
        first = float(self.options.first_window)
        self.going.follow(Limiting(receiver, source, now), self.seq - 1, rtt, min(first, self.going.cwnd), now)

    def _admit(self, receiver: int, source: Address, rtt: float, now: float, effects: list[Effect]) -> Reason | None:
        """What is answered to a JOIN; None: nothing."""
        before = len(self.members)
        if not self.members.hear(receiver, source, now):
            return None
        if len(self.members) > before:
            self._gathering.joined(self.going.srtt, now)
        return Reason.NONE

    def _leave(self, leave: Leave, source: Address, now: float) -> Sequence[Effect]:
        if not self._knows(leave.receiver, source, now):
            return ()
        self.counters["leaves"] += 1
        self.members.remove(leave.receiver)
        self._left(leave.receiver, now)
        return self._transmit(now)

    def _left(self, receiver: int, now: float) -> None:
        if self.going.limiting is not None and self.going.limiting.receiver == receiver:
            self.going.forsake(now)

    # --- data

    @property
    def _sendable_at(self) -> float:
        """When the next packet may leave, as things stand; infinite: not before a report or a time-out."""
        if self.going.limiting is None:
            return self._sent_at + self._heartbeat_s
        at = max(self.going.may_send_at(self.seq), self._limit.until)
        return at if self._has_payload else max(at, self._sent_at + self._heartbeat_s)

    def _transmit(self, now: float) -> list[Effect]:
        self._now = now
        effects: list[Effect] = []
        while self.state == "sending" and now >= self._sendable_at:
            if not (self.run_bytes and self._has_payload and self._send_run(now, effects)):
                self._send_packet(now, effects)
        if self.going.may_send_at(self.seq) <= now < inf:
            if now < self._limit.until:
                self._starved = True
            elif self._lacking_since is None:
                self._lacking_since = now
        return effects

    def _next_payload(self) -> tuple[bytes, int]:
        """What the next packet carries, and the flags it has for that."""
        payload, ends = self._take_payload(self.options.payload_bytes)
        return payload, FLAG_END if ends else 0

    @property
    def _receivers(self) -> int:
        """As many as are known, one by one or by switches."""
        return max(len(self.members), self._crowd.count)

    def _send_run(self, now: float, effects: list[Effect]) -> bool:
        """Send together what may leave now; such packets are told apart by their numbers only. False: that is one
        packet, at most.
        """
        size, head_bytes = self._full_bytes, TOLD_DATA_BYTES if self._assist else DATA_BYTES
        limited = 1 if self.options.rate_limit_bps else self.run_bytes // (head_bytes + size)
        count = 0 if self.going.limiting is None else min(self.going.due(self.seq, now), limited)
        payload = self._next_payloads(count) if count > 1 else b""
        if not payload:
            return False
        data = self._next_data(payload, self._kind, now)
        encoded = encode_told_run(data, size) if self._assist else encode_run(data, size)
        self.going.sent(now, len(payload) // size)
        self._sent_at = now
        self._send_data_run(encoded, head_bytes + size, len(payload), ECT_1, effects)
        return True

    _kind = 0
    """The flag that data have."""

    @property
    def _full_bytes(self) -> int:
        """What a full packet carries."""
        return self.options.payload_bytes

    def _next_payloads(self, most: int) -> bytes:
        """What so many full packets carry at most, one after the other, two or more and none of them the last; empty:
        there are not so many.
        """
        size = self._full_bytes
        count = min(most, (len(self._unsent) - 1) // size)
        return self._take_payload(count * size)[0] if count > 1 else b""

    def _send_packet(self, now: float, effects: list[Effect]) -> None:
        payload, kind = self._next_payload()
        data = self._next_data(payload, kind, now)
        encoded = encode_told_data(data) if self._assist else encode_data(data)
        self.going.sent(now)
        self._sent_at = now
        self._limit.sent(len(encoded), now)
        self._send_data(encoded, len(payload), ECT_1, effects)

    def _next_data(self, payload: bytes, kind: int, now: float) -> Data:
        """With what there is to be told now."""
        going = self.going
        if self._lacking_since is not None:
            self._starved |= now - self._lacking_since > LATE_S
            self._lacking_since = None
        flags = (
            kind
            | (0 if self._audit.misquoted else self._assist)
            | (FLAG_STARVED if self._starved else 0)
            | (FLAG_RESTARTING if going.restarting else 0)
        )
        limiting = going.limiting
        receivers = self._receivers
        awaited = self._gathering.awaited(receivers, going.srtt, now)
        if awaited:
            flags |= FLAG_GATHERING
        return Data(
            self.number,
            flags,
            self.seq,
            NO_RECEIVER if limiting is None else limiting.receiver,
            to_units(going.rate),
            0 if going.srtt is None else to_us(going.srtt, 1),
            int(now * 1e6),
            self.sent_bytes,
            awaited or receivers,
            payload,
        )

    # --- timers

    @property
    def wake_at(self) -> float | None:
        if self.state != "sending":
            return None
        return min(self._sendable_at, self.going.timeout_at(self.seq), self._least.at)

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if self.state != "sending":
            return ()
        if now >= self.going.timeout_at(self.seq):
            self._timed_out(now)
        effects = self._keep_least_rate(now) if now >= self._least.at else []
        self.members.expire(now, again_s(len(self.members), self.going.srtt or 0.0))
        self._crowd.expire(now)
        return effects + self._transmit(now)

    def _timed_out(self, now: float) -> None:
        """What is under way counts as lost."""
        self.counters["timeouts"] += 1
        self.going.timed_out(self.seq, now)

    def _keep_least_rate(self, now: float) -> list[Effect]:
        """Send away who keeps the session below its least rate."""
        limiting = None if self._starved or self._lacking_since is not None else self.going.limiting
        slowest = self._least.look(self.sent_bytes, None if limiting is None else limiting.address, now)
        if slowest is None:
            return []
        if len(self._sent_away) < SENT_AWAY:
            self._sent_away.add(slowest)
        self.counters["sent_away"] += 1
        return [Send(self._abort(Reason.TOO_SLOW), slowest), *self._drop(slowest, now)]

    def _drop(self, source: Address, now: float) -> list[Effect]:
        """Wait no longer for who cannot take the session's least rate."""
        receiver = self.members.at(source)
        if receiver is not None:
            self.members.remove(receiver)
            self._left(receiver, now)
        return [PeerDropped(source, Reason.TOO_SLOW.text)]

    # --- what it shows

    def sample(self, *, now: float) -> Sample:
        going, counters = self.going, self.counters
        limiting = going.limiting
        return {
            "state": self.state,
            "detail": self.detail,
            "cwnd": going.cwnd,
            "slow_start": going.slow_start,
            "rtt_s": going.srtt,
            "allowed_bps": going.rate * self.options.packet_bytes * 8,
            "leader": None if limiting is None else limiting.address.host,
            "leader_changes": counters["limiting_changes"],
            "challenges": counters["challenges"],
            "known_receivers": self._receivers,
            "limiting": None
            if limiting is None
            else {
                "receiver": limiting.address.host,
                "reason": "application" if self._starved else "cwnd",
                "cwnd": going.cwnd,
                "rtt_s": going.srtt,
                "last_heard_s": now - limiting.heard_at,
            },
            "sent_bytes": self.sent_bytes,
            "udp_bytes": counters["udp_bytes"],
            "data_packets": counters["data_packets"],
            "feedback_packets": counters["feedback_packets"],
            **self._audit.row,
        }

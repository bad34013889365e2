"""VLMCC's receiver: acknowledges as the leader (2.2), watches and challenges as a follower (2.3)."""

import random
from collections.abc import Sequence
from math import inf

from hosts.endpoint import Datagram, DatagramRun, DeliverDatagram, Effect, Sample, Send
from hosts.parts.gaps import Gaps
from hosts.parts.jump import Jump
from hosts.parts.path import Path
from hosts.parts.realtime import LEAVE_COPIES, RealtimeReceiver
from hosts.parts.runs import singly
from hosts.parts.spread import Wait, spread_rtts
from hosts.parts.twins import Twins
from hosts.protocol import Session
from hosts.protocols.vlmcc.acknowledging import Arrivals
from hosts.protocols.vlmcc.adaptive_following import AdaptiveFollowing
from hosts.protocols.vlmcc.options import VlmccOptions
from hosts.protocols.vlmcc.packets import (
    FLAG_ASSIST,
    FLAG_END,
    FLAG_SETTLING,
    FLAG_SUPPRESSED,
    NO_RECEIVER,
    REPORTED_BEFORE,
    STREAM,
    Ack,
    Challenge,
    Data,
    Report,
    Start,
    StartRequest,
    encode_ack,
    encode_challenge,
    encode_leave,
    encode_report,
    encode_start_request,
    packet_bytes,
    parse,
    parse_data,
)
from hosts.protocols.vlmcc.paper_following import PaperFollowing
from hosts.wire.farewell import Abort, Leave
from hosts.wire.header import CE, SESSION_MAX
from hosts.wire.reason import Reason
from hosts.wire.seq import extend
from hosts.wire.units import MAX_U32, UNIT, to_units, to_us

FIRST_RETRY_S = 1.0
"""A START_REQUEST without an answer is repeated after so long, then after twice as long each time (ours). While packets
are lost the time stays as it is: then the answer was probably lost as well, and who loses packets has most to say."""
REQUEST_SHARE_S = 0.002
"""No sooner than so long for each receiver there is: all together repeat 500 requests a second (ours)."""
SECOND_START_S = 10.0
"""The second START_REQUEST follows the first so soon, and the others at twice the distance each: what a clock drifts
shows the better the longer one waits (ours)."""
_MICRO = 1e-6


class VlmccReceiver(RealtimeReceiver):
    """States: listening (for data), member, closed."""

    def __init__(self, session: Session, options: VlmccOptions, rng: random.Random) -> None:
        super().__init__(session)
        self.options = options
        self.id = rng.randint(NO_RECEIVER + 1, SESSION_MAX)
        self.leads = False
        self.path: Path
        self.following: AdaptiveFollowing | PaperFollowing
        self.gaps: Gaps
        self._arrivals: Arrivals
        self._begin()
        self._marked = 0  # packets that came with a mark of congestion
        self._jump = Jump()
        self._rng = rng
        self._last: Data | None = None  # the newest packet
        self._last_at = 0.0
        self._request_at = inf
        self._request_gap = FIRST_RETRY_S
        self._lost_before = 0  # packets, when it was last asked
        self._asked_at = -inf
        self._asked_us: int | None = None  # the START_REQUEST that is not answered yet
        self._wait = Wait()
        self._rounds_too_slow = 0
        self._twins = Twins(options.assist, options.sample_s, _twin)
        self._packet_bits = options.packet_bytes * 8

    def _begin(self) -> None:
        """Nothing is known of the stream."""
        self.path = Path(learns_again=self.options.adaptive)
        self.following = AdaptiveFollowing(self.options) if self.options.adaptive else PaperFollowing(self.options)
        self.gaps = Gaps()
        self._arrivals = Arrivals()

    # --- the application's side

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        if self.closed:
            return ()
        return self._leave(reason, Reason.INTERRUPTED)

    def sample(self, *, now: float) -> Sample:
        following = self.following
        has_rtt = following.rtt.samples > 0
        return {
            "state": self.state,
            "received_bytes": self.received_bytes,
            "data_packets": self.data_packets,
            "lost_packets": self.gaps.lost_packets,
            "rtt_s": following.rtt.mean if has_rtt else None,
            "base_rtt_s": self.path.base_rtt if has_rtt else None,
            "clock_drift": self.path.drift,
            "is_leader": self.leads,
            "cwnd": following.window.cwnd,
            "calculated_bps": following.rate * self._packet_bits,
            "difference_bps": following.difference * self._packet_bits,
            "challenges": self.counters["challenges"],
        }

    # --- inputs

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        packet = parse_data(datagram.data)
        if packet is None:
            return self._other(datagram, now)
        effects: list[Effect] = []
        if datagram.source is not self.sender or packet.session != self.number:
            if not self._is_ours(datagram, packet.session, effects):
                return ()
            if effects:  # the session has just been taken
                self._request_at = now + self._rng.random() * self.options.start_spread_s
        elif self.state == "closed":
            return ()
        at = datagram.came_at(now)
        if not packet.flags & FLAG_END:
            self._heard_at = now
        gaps = self.gaps
        seq = extend(packet.seq, gaps.highest) if gaps.highest >= 0 else packet.seq
        if self._jump.is_base_doubtful(seq, gaps.highest, self.data_packets):
            self.counters["drop_far_ahead"] += 1
            self.data_packets = 0
            self._begin()
            gaps, seq = self.gaps, packet.seq
        newest = seq > gaps.highest
        if self._jump.refuses(seq, gaps.highest):
            self.counters["drop_far_ahead"] += 1
            return effects
        if not gaps.arrived(seq):
            self.counters["drop_duplicate"] += 1
            return effects
        is_marked = datagram.ecn == CE and self.options.adaptive
        self._marked += is_marked
        self._arrivals.arrived(seq)
        size = len(packet.payload)
        self.data_packets += 1
        self.received_bytes += size
        if newest:
            self.path.arrived(at, at - packet.send_time_us * _MICRO)
        if packet.leader == self.id:
            effects.append(self._acknowledge(packet, seq, at, now))
        if gaps.take_lost() or is_marked:
            self.following.lost(at, is_marked=is_marked)
        if newest:
            self._newest(packet, at, now, effects)
        if not self.closed:
            if size and self.session.deliver:
                effects.append(_delivered(seq, packet, at))
            if packet.flags & FLAG_END:
                self._stream_ends(packet.offset + size, now)
        return effects

    def receive_run(self, run: DatagramRun, *, now: float) -> Sequence[Effect]:
        """Data that the sender has sent together are taken together."""
        if run.source != self.sender or not self.options.adaptive:
            return super().receive_run(run, now=now)
        return self.receive_pieces(STREAM, run, now)

    def _take_run(self, run: DatagramRun, payload: bytes, now: float) -> Sequence[Effect] | None:
        """See SessionReceiver; data that say the same."""
        count, is_groups = run.packets, run.destination == self.session.group
        if not 1 < count <= REPORTED_BEFORE or self.state != "member" or run.ecn == CE or not is_groups:
            return None
        first = run.datagram(0)
        packet = parse_data(first.data)
        if packet is None or packet.session != self.number or packet.flags & FLAG_END:
            return None
        gaps, size = self.gaps, len(packet.payload)
        if not gaps.is_next(extend(packet.seq, gaps.highest)) or len(payload) != count * size:
            return None
        at = first.came_at(now)  # they left together: how long the way is the first one shows
        self._heard_at = now
        seq = gaps.follow(count)
        self._arrivals.arrived_run(seq, count)
        self.data_packets += count
        self.received_bytes += len(payload)
        self.path.arrived(at, at - packet.send_time_us * _MICRO)
        last = packet._replace(seq=packet.seq + count - 1 & MAX_U32)
        effects: list[Effect] = []
        if packet.leader == self.id:
            effects.append(self._acknowledge(last, seq + count - 1, at, now))
        self._newest(last, at, now, effects, count)
        if not self.closed and size and self.session.deliver:
            effects += [_delivered(seq + before, one, at) for before, one in singly(packet, payload)]
        return effects

    def _other(self, datagram: Datagram, now: float) -> Sequence[Effect]:
        packet = self._told(datagram, parse)
        if packet is None:
            return ()
        if isinstance(packet, Start):
            self._started(packet, datagram.came_at(now))
            return ()
        if isinstance(packet, Abort):
            return self._aborted(packet.reason, datagram, now)
        self.counters["drop_unexpected"] += 1
        return ()

    def _started(self, start: Start, at: float) -> None:
        """2.3: a first rtt, and the sender's window."""
        asked_us = self._asked_us
        if start.receiver != self.id or asked_us is None or not asked_us <= start.time_comp_us <= at * 1e6:
            self.counters["drop_forged"] += 1  # or an answer to a request that was repeated since
            return
        self._asked_us = None
        first = not self.path.is_known
        self.path.started(at, (start.time_us - start.time_comp_us) * _MICRO)
        if first:
            self.following.begin(start.cwnd / UNIT)
            self._request_gap = SECOND_START_S
        else:
            self._request_gap = min(2 * self._request_gap, self.options.start_interval_s)
        # Not all in the rhythm in which they joined.
        self._request_at = at + min(self._request_gap, self.options.start_interval_s) * self._rng.uniform(0.75, 1)

    def _newest(self, packet: Data, at: float, now: float, effects: list[Effect], count: int = 1) -> None:
        """What a packet, of `count`, says of path and sender, which is news only when no later one has arrived."""
        self._last, self._last_at = packet, at
        size = packet_bytes(len(packet.payload)) * 8
        if size > self._packet_bits:
            self._packet_bits = size
        self.leads = packet.leader == self.id
        if self.leads or packet.flags & FLAG_SETTLING:
            self._wait.end()  # it would be ignored
        here = at - packet.send_time_us * _MICRO
        path, following = self.path, self.following
        if not path.is_known:
            return
        rtt = path.rtt(at, here)
        self._wait.stretch(rtt)
        round_ended = following.arrived(
            at, rtt, path.base_rtt, packet.rate / UNIT, packet.flags, leads=self.leads, count=count
        )
        if round_ended:
            if isinstance(following, AdaptiveFollowing):
                path.note_company(following.beside_others, at)
            if path.may_be_longer:
                self._ask_again(packet, now)
            self._judge(packet, now, effects)
        if self.leads and following.rate and packet.flags & (FLAG_ASSIST | FLAG_SETTLING) == FLAG_ASSIST:
            effects += self._send(self._twins.checks(self._challenge_now(packet, now), now))

    # --- as leader

    def _acknowledge(self, packet: Data, seq: int, at: float, now: float) -> Send:
        """2.2: "leaders add the time spent by the receiver processing the packet"."""
        assert self.sender is not None
        self.counters["acks"] += 1
        time_us = packet.send_time_us + max(0, int((now - at) * 1e6))
        if not self.options.adaptive:
            return Send(encode_ack(Ack(packet.session, self.id, packet.seq, time_us)), self.sender)
        waiting = to_us(self.path.waiting(at, at - packet.send_time_us * _MICRO))
        have = self._arrivals.before(seq)
        report = Report(packet.session, self.id, packet.seq, time_us, waiting, have, self._marked)
        return Send(encode_report(report), self.sender)

    # --- as follower

    def _judge(self, packet: Data, now: float, effects: list[Effect]) -> None:
        """A round has ended: leave, challenge, or go on."""
        following, options = self.following, self.options
        if following.is_worse and not self.leads and following.rate * self._packet_bits < options.least_rate_bps:
            # A challenge would be refused.
            self._rounds_too_slow += 1
            if self._rounds_too_slow >= options.least_rate_rounds:
                effects += self._leave(Reason.TOO_SLOW.text, Reason.TOO_SLOW)
            return
        self._rounds_too_slow = 0
        wants = following.should_lead or self._is_vacant(packet)
        if not wants:
            self._twins.answered()
        if wants and self._wait.at == inf and not packet.flags & FLAG_SETTLING:
            # Where a switch lets one of many through, nobody need be patient.
            others = 0 if packet.flags & FLAG_SUPPRESSED else packet.receivers
            rtts = spread_rtts(self._rng, others, options.challenges_per_rtt)
            self._wait.begin(rtts, following.rtt.mean, now)
            if self._wait.at <= now:
                effects += self._challenge(now)

    def _is_vacant(self, packet: Data) -> bool:
        """By the paper's rules the sender becomes faster until somebody is worse off (2.4); by default who hears that
        nobody leads offers to, and who is worse off than that one challenges it.
        """
        return packet.leader == NO_RECEIVER and self.options.adaptive

    def _challenge(self, now: float) -> Sequence[Effect]:
        """The wait is over: challenge if there is still reason to."""
        self._wait.end()
        following, packet = self.following, self._last
        if packet is None or self.leads or not (following.is_worse or self._is_vacant(packet)):
            return []
        self.counters["challenges"] += 1
        challenge = self._challenge_now(packet, now)
        return self._send(self._twins.request(challenge, now) if challenge.may_suppress else [challenge])

    def _send(self, challenges: Sequence[Challenge]) -> list[Send]:
        assert self.sender is not None
        return [Send(encode_challenge(challenge), self.sender) for challenge in challenges]

    def _challenge_now(self, packet: Data, now: float) -> Challenge:
        following = self.following
        return Challenge(
            packet.session,
            self.id,
            to_units(following.rate, 1),
            to_units(following.window.cwnd, 1),
            to_us(following.rtt.mean, 1),
            to_us(min(self.path.base_rtt, following.rtt.mean), 1),
            packet.seq,
            packet.send_time_us + max(0, int((now - self._last_at) * 1e6)),
            bool(packet.flags & FLAG_ASSIST),
            isinstance(following, AdaptiveFollowing) and following.beside_others,
        )

    def _request(self, now: float) -> Send:
        assert self.sender is not None
        self.counters["start_requests"] += 1
        self._asked_at = now
        self._asked_us = int(now * 1e6)
        if not self.path.is_known:
            self._request_gap = self._retry_gap()
        self._request_at = now + self._request_gap * self._rng.uniform(0.75, 1.25)
        return Send(encode_start_request(StartRequest(self.number or 0, self.id, self._asked_us)), self.sender)

    def _ask_again(self, packet: Data, now: float) -> None:
        """The way here has become longer, and the way back may have as well."""
        soon = self._rng.random() * max(FIRST_RETRY_S, REQUEST_SHARE_S * packet.receivers)
        self._request_at = min(self._request_at, max(now, self._asked_at + SECOND_START_S) + soon)

    def _retry_gap(self) -> float:
        """Seconds until a request that nobody answers is repeated."""
        lost, self._lost_before = self.gaps.lost_packets - self._lost_before, self.gaps.lost_packets
        least = FIRST_RETRY_S if self._last is None else max(FIRST_RETRY_S, REQUEST_SHARE_S * self._last.receivers)
        if self.counters["start_requests"] == 1 or lost:
            return min(max(least, self._request_gap), self.options.start_interval_s)
        return min(max(least, 2 * self._request_gap), self.options.start_interval_s)

    # --- timers

    @property
    def wake_at(self) -> float | None:
        if self.state != "member":
            return None
        return min(self._request_at, self._wait.at, self._doubt.wake_at, self._heard_at + self.options.silence_s)

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if self.state != "member":
            return ()
        effects = self._believe(now)
        if effects:
            return effects
        if now >= self._request_at:
            effects.append(self._request(now))
        if now >= self._wait.at:
            effects += self._challenge(now)
        if now >= self._heard_at + self.options.silence_s:
            effects += self._end(False, f"the sender was silent for {self.options.silence_s:g} s")
        return effects

    def _leave(self, detail: str, reason: Reason) -> list[Effect]:
        effects: list[Effect] = []
        # Only a leave that the sender waits for is told: thousands may leave at once.
        if self.leads and self.sender is not None:
            effects += [Send(encode_leave(Leave(self.number or 0, self.id, reason)), self.sender)] * LEAVE_COPIES
        return effects + self._end(False, detail)

    def _end(self, complete: bool, reason: str) -> list[Effect]:
        self.leads = False
        return super()._end(complete, reason)


def _delivered(seq: int, packet: Data, at: float) -> DeliverDatagram:
    return DeliverDatagram(seq, packet.offset, packet.payload, packet.send_time_us * _MICRO, at)


def _twin(challenge: Challenge) -> Challenge:
    return challenge._replace(may_suppress=False, twin=True)

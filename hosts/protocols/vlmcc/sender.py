"""VLMCC's sender: a Vegas connection to the leader, and the judge of who leads (2.2 to 2.4). It repeats nothing."""

import random
from collections.abc import Sequence
from math import inf

from hosts.endpoint import (
    Address,
    CongestionSignal,
    Datagram,
    DatagramRun,
    Effect,
    PeerDropped,
    Sample,
    Send,
    SessionStarted,
)
from hosts.parts.members import Members
from hosts.parts.rate_limit import RateLimit
from hosts.parts.realtime import RealtimeSender
from hosts.parts.twins import Audit
from hosts.parts.vegas import LEAST_CWND
from hosts.protocol import Session
from hosts.protocols.vlmcc.adaptive_control import AdaptiveControl
from hosts.protocols.vlmcc.control import Clocking
from hosts.protocols.vlmcc.election import LEAST_PROOF_S, PROOF_RTTS, Election, Verdict
from hosts.protocols.vlmcc.options import VlmccOptions
from hosts.protocols.vlmcc.packets import (
    DATA_BYTES,
    FLAG_ASSIST,
    FLAG_BESIDE_OTHERS,
    FLAG_DRAINING,
    FLAG_END,
    FLAG_SETTLING,
    FLAG_SLOW_START,
    NO_RECEIVER,
    Ack,
    Challenge,
    Data,
    Report,
    Start,
    StartRequest,
    encode_abort,
    encode_data,
    encode_run,
    encode_start,
    parse,
)
from hosts.protocols.vlmcc.paper_control import PaperControl
from hosts.protocols.vlmcc.status import sender_sample
from hosts.wire.checks import read_packet
from hosts.wire.farewell import Leave
from hosts.wire.header import ECT_0, NOT_ECT
from hosts.wire.reason import Reason
from hosts.wire.seq import extend
from hosts.wire.units import to_units, to_us

HEARTBEAT_S = 1.0
"""Without data an empty packet is sent so often, so that receivers and leader go on (ours)."""
STALE_S = 10.0
"""A challenge that answers a packet older than this is not believed (ours)."""
LONGEST_RTT_S = 60.0
"""An acknowledgment that claims more is not believed (ours)."""
LEAST_RTT_S = 1e-4
"""None is taken for less: a leader that claims so would have the sender reckon with millions of packets a second (ours,
as TFMCC's)."""
_MICRO = 1e-6


class VlmccSender(RealtimeSender):
    """States: waiting (for `start`), sending, closed."""

    def __init__(self, session: Session, options: VlmccOptions, rng: random.Random) -> None:
        super().__init__(session, rng)
        self.options = options
        self.control: AdaptiveControl | PaperControl
        self.control = AdaptiveControl(options) if options.adaptive else PaperControl(options)
        self.election = Election(options)
        self._audit = Audit()
        self.members = Members(options.start_interval_s)
        self._sent_at = 0.0  # the last packet
        self._limit = RateLimit(options.rate_limit_bps)
        self._reads_on = False  # what came together is not read to its end

    # --- the application's side

    @property
    def send_space(self) -> int:
        payload = self.options.payload_bytes
        return self._room(payload, int(self.control.rate * payload * self.options.send_buffer_s))

    def sample(self, *, now: float) -> Sample:
        row = sender_sample(
            self,
            self.control,
            self.election.leader,
            now,
            packet_bytes=self.options.packet_bytes,
            known_receivers=len(self.members),
        )
        return {**row, **self._audit.row}

    def _abort(self, reason: Reason) -> bytes:
        return encode_abort(self.number, reason)

    # --- inputs

    def start(self, *, now: float) -> Sequence[Effect]:
        self.state = "sending"
        self._now = self._started_at = self._sent_at = now
        return (SessionStarted(),)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        self._now = now
        packet = read_packet(datagram.data, parse, self.counters, self.number)
        if packet is None:
            return ()
        if self.state != "sending":
            return ()
        at = datagram.came_at(now)
        if isinstance(packet, (Ack, Report)):
            return self._ack(packet, datagram.source, at, now)
        if isinstance(packet, Challenge):
            return self._challenge(packet, datagram.source, at, now)
        if isinstance(packet, StartRequest):
            return self._start_request(packet, datagram.source, at, now)
        if isinstance(packet, Leave):
            return self._leave(packet, datagram.source, now)
        self.counters["drop_unexpected"] += 1
        return ()

    def receive_run(self, run: DatagramRun, *, now: float) -> Sequence[Effect]:
        """What acknowledgments let go that came together leaves together."""
        self._reads_on = True
        effects = list(super().receive_run(run, now=now))
        self._reads_on = False
        return [*effects, *self._transmit(now)]

    def _ack(self, ack: Ack | Report, source: Address, at: float, now: float) -> Sequence[Effect]:
        """Fig. 2: the id "is there just to prevent errors"."""
        election = self.election
        leader = election.leader or election.previous
        control = self.control
        if isinstance(ack, Report) != isinstance(control, AdaptiveControl):
            self.counters["drop_unexpected"] += 1  # the other rules'
            return ()
        if leader is None or leader.receiver != ack.receiver:
            self.counters["drop_not_leader"] += 1  # of packets from before a change
            return ()
        rtt = at - ack.time_comp_us * _MICRO
        seq = extend(ack.seq, self.seq)
        if leader.address != source or not 0 < rtt <= LONGEST_RTT_S or not 0 <= seq < self.seq:
            self.counters["drop_forged"] += 1
            return ()
        self.counters["feedback_packets"] += 1
        self.counters["acks"] += 1
        if election.leader is None:
            self.counters["leaders_reinstated"] += 1
            election.reinstate(now)
            self.control.reinstate(now)
        leader.acknowledges(seq, now)
        cuts = control.cuts
        rtt = self._bounded(rtt)
        if isinstance(control, PaperControl):
            control.acknowledged(seq, rtt, now)
        elif isinstance(ack, Report):
            control.reported(seq, rtt, ack, now)
        effects: list[Effect] = []
        if control.cuts > cuts:
            effects.append(CongestionSignal("loss", source))
        if self.options.least_rate_bps > 0 and self.control.rounds_below >= self.options.least_rate_rounds:
            self._send_away(leader.receiver, source, effects)
            self._lose_leader(now)
            election.previous = None
        return effects + self._transmit(now)

    def _bounded(self, rtt: float) -> float:
        """A round trip time as it counts.

        A slow link behind a long queue is as slow as the largest: whoever is there must be able to lead. Were it a
        minute, a window could last longer than receivers' patience with a silent sender.
        """
        return min(max(rtt, LEAST_RTT_S), self.options.largest_rtt_s)

    def _challenge(self, challenge: Challenge, source: Address, at: float, now: float) -> Sequence[Effect]:
        """2.3: "it will be up to the sender to either accept the challenge or ignore it"."""
        counters = self.counters
        if not self.members.knows(challenge.receiver, source):
            counters["drop_stranger"] += 1
            return ()
        age = at - challenge.time_comp_us * _MICRO
        rtt, base_rtt = challenge.rtt_us * _MICRO, challenge.base_rtt_us * _MICRO
        seq = extend(challenge.seq, self.seq)
        if not 0 < age <= STALE_S or not 0 <= seq < self.seq or not 0 < base_rtt <= rtt <= LONGEST_RTT_S:
            counters["drop_forged"] += 1
            return ()
        rtt = self._bounded(rtt)
        base_rtt = min(base_rtt, rtt)
        counters["feedback_packets"] += 1
        counters["challenges"] += 1
        may_suppress, is_twin, trip = challenge.may_suppress, challenge.twin, self.control.smoothed_rtt
        effects = self._audit.told(
            "rate", 0, challenge.rate, source, trip, now, may_suppress=may_suppress, is_twin=is_twin
        )
        if self.election.leader is not None and self.election.leader.receiver == challenge.receiver:
            return effects  # sent before it knew
        verdict = self.election.judge(challenge, self.control.rate, now)
        counters[verdict.value] += 1
        if verdict is Verdict.TOO_SLOW:
            self._send_away(challenge.receiver, source, effects)
        elif verdict is Verdict.ACCEPTED:
            counters["leader_changes"] += 1
            leader = self.election.elect(challenge.receiver, source, rtt, self.seq, now)
            if self.options.adaptive:
                leader.prove_by = now + max(LEAST_PROOF_S, PROOF_RTTS * self._bounded(age))
            # Nobody's word takes the rate up by more than what it is; the least window would, over a short round trip.
            rtt = max(rtt, LEAST_CWND / self.control.rate)
            cwnd = min(challenge.cwnd, challenge.rate * rtt) * 1e-3
            cwnd = min(cwnd, self.control.rate * rtt)
            self.control.take_over(cwnd, rtt, base_rtt, now, beside_others=challenge.beside_others)
            effects.append(CongestionSignal("challenge", source))
        return effects + self._transmit(now)

    def _start_request(self, request: StartRequest, source: Address, at: float, now: float) -> Sequence[Effect]:
        """2.3: always answered."""
        self.counters["feedback_packets"] += 1
        self.counters["start_requests"] += 1
        election, control = self.election, self.control
        effects: list[Effect] = []
        if not self.members.hear(request.receiver, source, now):
            self.counters["drop_members"] += 1
        elif control.clocking is Clocking.NOBODY:
            # Somebody has to be the first; the others challenge when they are worse off.
            self.counters["leader_changes"] += 1
            election.elect_first(request.receiver, source, self.seq, now)
            control.first_leader(now)
        leader = election.leader
        waited_us = max(0, int((now - at) * 1e6))
        start = Start(
            self.number,
            request.receiver,
            self.seq,
            NO_RECEIVER if leader is None else leader.receiver,
            to_units(control.rate),
            to_units(control.window.cwnd),
            to_us(control.smoothed_rtt),
            min(request.time_us + waited_us, 2**64 - 1),
            int(now * 1e6),
        )
        effects.append(Send(encode_start(start), source))
        return effects + self._transmit(now)

    def _leave(self, leave: Leave, source: Address, now: float) -> Sequence[Effect]:
        if not self.members.knows(leave.receiver, source):
            self.counters["drop_stranger"] += 1
            return ()
        self.counters["leaves"] += 1
        self.members.remove(leave.receiver)
        if self.election.remove(leave.receiver):
            self._lose_leader(now)
        return self._transmit(now)

    def _lose_leader(self, now: float) -> None:
        """2.4: go on as if nothing had happened, and faster until somebody complains; or nobody is left."""
        self.election.lose()
        self.control.lose_leader(now)

    def _send_away(self, receiver: int, source: Address, effects: list[Effect]) -> None:
        """A receiver that cannot take the least rate of the session."""
        self.counters["sent_away"] += 1
        effects.append(Send(encode_abort(self.number, Reason.TOO_SLOW), source))
        if self.members.knows(receiver, source):
            self.members.remove(receiver)
            effects.append(PeerDropped(source, Reason.TOO_SLOW.text))

    # --- data

    def _transmit(self, now: float) -> list[Effect]:
        """Send what may be sent (2.2: data, window, bursts)."""
        self._now = now
        effects: list[Effect] = []
        while (
            self.state == "sending"
            and not self._reads_on
            and now >= max(self.control.may_send_at(now), self._limit.until)
        ):
            if self.run_bytes and self._send_run(now, effects):
                continue
            if not self._has_payload:
                self.control.starved = True
                if now < self._sent_at + HEARTBEAT_S:
                    break
            self._send_packet(now, effects)
        return effects

    def _send_run(self, now: float, effects: list[Effect]) -> bool:
        """Send together what may leave at once; they are told apart by their numbers only. False: that is one packet,
        at most."""
        control, options = self.control, self.options
        if options.rate_limit_bps or not isinstance(control, AdaptiveControl):
            return False
        size = options.payload_bytes
        most = min(control.together(now), self.run_bytes // (DATA_BYTES + size), (len(self._unsent) - 1) // size)
        if most < 2:
            return False
        payload = self._take_payload(most * size)[0]
        data, ecn = self._next_data(payload, ends=False, now=now)
        control.sent_run(self.seq, most, now)
        self._sent_at = now
        self._send_data_run(encode_run(data, size), DATA_BYTES + size, len(payload), ecn, effects)
        return True

    def _send_packet(self, now: float, effects: list[Effect]) -> None:
        payload, ends = self._take_payload(self.options.payload_bytes)
        data, ecn = self._next_data(payload, ends=ends, now=now)
        encoded = encode_data(data)
        self.control.sent(self.seq, now)
        self._sent_at = now
        self._limit.sent(len(encoded), now)
        self._send_data(encoded, len(payload), ecn, effects)

    def _next_data(self, payload: bytes, *, ends: bool, now: float) -> tuple[Data, int]:
        """With what there is to be told now; and its ECN field."""
        options, control, leader = self.options, self.control, self.election.leader
        flags = FLAG_ASSIST if options.assist == "switch" and not self._audit.misquoted else 0
        flags |= FLAG_SLOW_START if leader is not None and control.window.slow_start else 0
        if self.election.is_settling(now):
            flags |= FLAG_SETTLING
        ecn = NOT_ECT
        if isinstance(control, AdaptiveControl):
            ecn = ECT_0
            flags |= FLAG_DRAINING if control.window.draining else 0
            flags |= FLAG_BESIDE_OTHERS if control.window.beside_others else 0
        flags |= FLAG_END if ends else 0
        data = Data(
            self.number,
            flags,
            self.seq,
            NO_RECEIVER if leader is None else leader.receiver,
            to_units(control.rate),
            to_us(control.smoothed_rtt),
            int(now * 1e6),
            self.sent_bytes,
            len(self.members),
            payload,
        )
        return data, ecn

    # --- timers

    @property
    def wake_at(self) -> float | None:
        if self.state != "sending":
            return None
        sendable = max(self.control.may_send_at(self._now), self._limit.until)
        if not self._has_payload:
            sendable = max(sendable, self._sent_at + HEARTBEAT_S)
        leader = self.election.leader
        return min(sendable, self.control.timeout_at, inf if leader is None else leader.prove_by)

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if self.state != "sending":
            return ()
        control = self.control
        effects: list[Effect] = []
        cuts = control.cuts
        is_gone = control.expire(now)
        leader = self.election.leader
        if isinstance(control, AdaptiveControl) and leader is not None and now >= leader.prove_by:
            self.counters["leaders_unproven"] += 1
            control.take_back()
            self.election.distrust(now)
            self._lose_leader(now)
        if control.cuts > cuts and self.election.leader is not None:
            effects.append(CongestionSignal("loss", self.election.leader.address))
        # A new leader's first acknowledgments wait behind the queue that made it challenge.
        if is_gone and self.election.leader is not None and not self.election.is_settling(now):
            self.counters["leaders_lost"] += 1
            self._lose_leader(now)
        self.members.expire(now)
        if not self.members and control.clocking is Clocking.LOST:
            self.election.previous = None
            control.forsake()
        return effects + self._transmit(now)

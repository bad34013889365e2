"""RLA's sender: admits receivers, sends the stream as its window allows (see `flow`), and ends when every receiver has
confirmed the stream or was dropped.
"""

import random
from collections.abc import Sequence

from hosts.endpoint import (
    Address,
    Datagram,
    Effect,
    PeerDropped,
    PeerFinished,
    PeerJoined,
    PeerRefused,
    Sample,
    Send,
    SessionEnded,
    SessionStarted,
)
from hosts.parts.least_rate import LeastRate
from hosts.parts.parting import Parting
from hosts.parts.sending import StreamSender
from hosts.parts.silence import nobody_text
from hosts.protocol import Session
from hosts.protocols.rla.branch import Branch, Ended
from hosts.protocols.rla.flow import Flow
from hosts.protocols.rla.hopeless import hopeless
from hosts.protocols.rla.options import RlaOptions
from hosts.protocols.rla.packets import (
    CHILD_BITS,
    DATA_BYTES,
    Ack,
    Join,
    JoinAck,
    Packet,
    encode_abort,
    encode_announce,
    encode_fin,
    encode_join_ack,
    parse,
)
from hosts.protocols.rla.status import sender_sample, waited_for
from hosts.protocols.rla.through import Through
from hosts.wire.checks import read_packet
from hosts.wire.farewell import ABORT_COPIES, Abort, Fin
from hosts.wire.reason import Reason

ROOM_PART = 16
"""Room in the send buffer is offered when so large a part of it is free, not packet by packet (ours)."""
MOST_RECEIVERS = 1 << 16
"""Of one session, one after the other: their numbers have 16 bits, and who has ended is remembered (ours)."""
REVIEW_S = 0.5
"""How often receivers are looked at: who is silent, stalled, or much slower than the others (ours)."""


class RlaSender(StreamSender):
    """See the module. States: waiting, sending, closing, closed."""

    def __init__(self, session: Session, options: RlaOptions, rng: random.Random) -> None:
        super().__init__(session, rng)
        self.options = options
        self.flow = Flow(self.number, session.group, options, rng, self.counters)
        self.ended = Through()
        self.limit = "application"
        """What kept the sender from sending the next packet (docs/trace.md)."""
        self.end_sent = False
        """Whether the last packet of the stream has left, so that only repairs and confirmations are missing."""
        self._parting: Parting | None = None
        self._has_begun = False
        self._least = LeastRate(options.least_rate_bps, options.least_rate_s)
        self._wait_until = 0.0
        self._announce_at = 0.0
        self._review_at = 0.0

    # --- the application's side

    @property
    def checked_bytes(self) -> tuple[int, int]:
        return self.options.payload_bytes, self.options.buffer_bytes

    @property
    def send_space(self) -> int:
        if self._finishing or self.state in ("closing", "closed"):
            return 0
        space = self.options.buffer_bytes - len(self._unsent)
        return space if space >= self.options.buffer_bytes // ROOM_PART else 0

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        return () if self.closed else self._abort(Reason.INTERRUPTED, reason)

    def sample(self, *, now: float) -> Sample:
        state = "closing" if self.end_sent and not self.closed else self.state
        return sender_sample(self, self.flow, self.ended, now, state=state, limit=self.limit)

    # --- inputs

    def start(self, *, now: float) -> Sequence[Effect]:
        self.flow.start(now)
        self._wait_until = now + self.session.wait
        self._announce_at = now
        return self.handle_timer(now=now)

    def start_now(self, *, now: float) -> Sequence[Effect]:
        return self._begin(now) if self.state == "waiting" and self.flow.branches else ()

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        if self.state == "closed":
            return ()
        packet = read_packet(datagram.data, parse, self.counters, self.number)
        if packet is None:
            return ()
        if type(packet) is Ack:
            return self._acknowledge(packet, datagram, now)
        return self._control(packet, datagram.source, now)

    def _acknowledge(self, ack: Ack, datagram: Datagram, now: float) -> Sequence[Effect]:
        branch = self.flow.branches.get(datagram.source)
        if branch is None and self.ended.get(datagram.source) is not None:
            self.counters["drop_late"] += 1
            return (Send(encode_abort(self.number, Reason.NOT_A_CHILD), datagram.source),)
        if branch is not None and self.state == "waiting":
            branch.heard_at = now
        if branch is None or self.state != "sending":
            self.counters["drop_stranger"] += 1
            return ()
        self.counters["feedback_packets"] += 1
        if not ack.merged:
            self.counters["hole_reports"] += ack.passes and not ack.merge
            effects = self.flow.acknowledge(branch, ack, now, datagram.arrived_at)
            self._least.note(effects, now)
            if self.run_bytes:  # packets that came together have one answer, which lets go what theirs would
                return self._transmit(effects, now, max(self.options.max_burst, self.flow.arrived + 1))
        elif self.flow.window.is_helped:
            self.counters["summaries"] += 1
            effects = self.flow.acknowledge_merged(ack, now)
        else:
            self.counters["drop_unexpected"] += 1
            return ()
        return self._transmit(effects, now)

    def _control(self, packet: Packet, source: Address, now: float) -> Sequence[Effect]:
        if isinstance(packet, Join):
            return self._join(packet, source, now)
        if isinstance(packet, Fin) and not packet.answer:
            answer = Send(encode_fin(self.number, True, packet.complete, packet.reason), source)
            if source in self.ended:
                return (answer,)
            branch = self.flow.branches.get(source)
            if branch is not None and (self.end_sent or not packet.complete):
                if packet.complete:  # it may stand for acknowledgments that were not sent any more
                    return [answer, *self._finished(branch, packet, now)]
                return [answer, *self._doubt(branch, packet, now)]
        if isinstance(packet, Abort) and source in self.flow.branches:
            return self._doubt(self.flow.branches[source], packet, now)
        self.counters["drop_unexpected"] += 1
        return ()

    def _doubt(self, branch: Branch, farewell: Fin | Abort, now: float) -> list[Effect]:
        """Somebody says in a receiver's name that it is through: the others wait for it no longer, and it is so when
        nothing comes from it any more."""
        branch.doubt.said(farewell, now, to_one=False)
        if len(self.flow.branches) > 1:
            self.flow.put_aside(branch, now)
        return self._transmit([], now)

    def _finished(self, branch: Branch, farewell: Fin | Abort, now: float) -> list[Effect]:
        complete = isinstance(farewell, Fin) and farewell.complete
        reason = "" if complete else farewell.reason.text
        event = PeerFinished(branch.address, complete, reason)
        return [event, *self._remove(branch.address, "complete" if complete else "left", reason, now)]

    def _join(self, join: Join, source: Address, now: float) -> Sequence[Effect]:
        flow = self.flow
        branch = flow.branches.get(source)
        if branch is not None:
            return (self._welcome(branch),)
        is_full = len(flow.branches) >= self.options.max_receivers
        leaver = self._leaver if is_full else None
        reason = Reason.NONE
        is_late = not flow.has_start and (self.end_sent or join.from_start)
        if self.state == "closing" or is_late or not self.ended.may_come(source):
            reason = Reason.STARTED
        elif (is_full and leaver is None) or flow.joined >= MOST_RECEIVERS:
            reason = Reason.FULL
        if reason is not Reason.NONE:
            refusal = encode_join_ack(JoinAck(self.number, False, reason, 0, 0, 0))
            return (Send(refusal, source), PeerRefused(source, reason.text))
        effects: list[Effect] = [self._welcome(flow.add(source, join.window, now)), PeerJoined(source)]
        if leaver is not None:  # the first packets are kept for it
            if leaver.doubt.what is not None:
                effects += self._finished(leaver, leaver.doubt.what, now)
            else:
                effects += self._drop(leaver, Reason.UNPROVEN, Reason.UNPROVEN.text, now)
        if self.state == "waiting" and self._present >= self.session.receivers:
            effects += self._begin(now)
        return effects

    @property
    def _leaver(self) -> Branch | None:
        """Who leaves its place to another: is said to have left, or is silent and has not shown that it is there."""
        flow = self.flow
        for branch in flow.branches.values():
            if branch.doubt.what is not None or (flow.is_aside(branch) and not branch.presence.is_proven):
                return branch
        return None

    @property
    def _present(self) -> int:
        """Receivers that are not said to have left."""
        return sum(branch.doubt.what is None for branch in self.flow.branches.values())

    def _welcome(self, branch: Branch) -> Send:
        flow = self.flow
        merge = flow.window.is_helped and branch.number < CHILD_BITS
        is_new = branch.cumulative == branch.first
        first, offset = (branch.first, branch.first_offset) if is_new else (flow.base, flow.base_offset)
        ack = JoinAck(self.number, merge, Reason.NONE, branch.number, first, offset)
        return Send(encode_join_ack(ack), branch.address)

    # --- the session

    def _begin(self, now: float) -> list[Effect]:
        self.state = "sending"
        self.detail = ""
        self._review_at = now + REVIEW_S
        self._least.begin(now)
        for branch in self.flow.branches.values():
            if branch.doubt.what is not None:
                self.flow.put_aside(branch, now)
        begins: list[Effect] = [] if self._has_begun else [SessionStarted()]
        self._has_begun = True
        return self._transmit(begins, now)

    def _remove(
        self, address: Address, state: str, reason: str, now: float, code: Reason = Reason.NONE
    ) -> list[Effect]:
        self.ended[address] = Ended(state, reason, self.flow.remove(address, now), code)
        if self.flow.branches:
            return self._transmit([], now)
        if self.state == "waiting":
            return []
        if self._may_wait(now):  # those who were meant may still come
            self.state = "waiting"
            self._announce_at = now
            return []
        if self._finishing and self.end_sent and self.ended.is_somebody_whole:
            self.state = "closing"
            self._parting = Parting(now)
            return []
        return self._abort(Reason.FAILED, nobody_text("no receiver is left", self.ended.failed_text))

    def _may_wait(self, now: float) -> bool:
        """Whether receivers are waited for, and none has come but those who may not be there."""
        return self.ended.is_nobody and now < self._wait_until and self.flow.has_start

    def _abort(self, reason: Reason, text: str) -> list[Effect]:
        abort = encode_abort(self.number, reason)
        effects: list[Effect] = [Send(abort, self.session.group)] * ABORT_COPIES
        self.detail = text
        self.state = "closed"
        return [*effects, SessionEnded(False, text)]

    def _end(self) -> Effect:
        self.state = "closed"
        return self.ended.end(self.session.receivers)

    # --- sending

    def _resume(self, now: float) -> Sequence[Effect]:
        """The application has done something: go on if that was what was missing. Otherwise it would add to the burst
        of the input that made room for it.
        """
        return self._transmit([], now) if self.limit == "application" else ()

    def _transmit(self, effects: list[Effect], now: float, most: int | None = None) -> list[Effect]:
        """Add what the window allows now to `effects`, `most` packets or `max_burst`."""
        if self.state != "sending":
            return effects
        flow, unsent, payload_bytes = self.flow, self._unsent, self.options.payload_bytes
        left = self.options.max_burst if most is None else most
        while left:
            if self.run_bytes and left > 1:
                whole = (len(unsent) - self._finishing) // payload_bytes
                count = flow.window.room(
                    payload_bytes, min(left, whole, self.run_bytes // (DATA_BYTES + payload_bytes)), now
                )
                if count > 1:
                    effects.append(flow.send_run(unsent.take(count * payload_bytes), payload_bytes, now))
                    left -= count
                    continue
            left -= 1
            size = min(payload_bytes, len(unsent))
            if size < payload_bytes and (not self._finishing or self.end_sent):
                self.limit = "application"
                return effects
            limit = flow.window.limit(size, now)
            if limit is not None:
                self.limit = limit
                return effects
            self.end_sent = self._finishing and size == len(unsent)
            effects.append(flow.send(unsent.take(size), self.end_sent, now))
        self.limit = "burst"
        return effects

    # --- timers

    @property
    def wake_at(self) -> float | None:
        if self.state == "sending":
            at = self.flow.wake_at
            review_at = min(self._review_at, self._least.at)
            at = review_at if at is None else min(at, review_at)
            return min(at, self.flow.window.paced_until) if self.limit == "pacing" else at
        if self.state == "waiting":
            return min(self._announce_at, self._wait_until)
        return self._parting.at if self.state == "closing" and self._parting is not None else None

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        effects: list[Effect] = []
        if self.state == "waiting":
            return self._wait(now)
        if self.state == "sending":
            effects += self.flow.handle_timer(now)
            self._least.note(effects, now)
            if now >= self._least.at:
                effects += self._keep_least_rate(now)
            if now >= self._review_at:
                self._review_at = now + REVIEW_S
                effects += self._review(now)
            return self._transmit(effects, now)
        if self.state == "closing" and self._parting is not None:
            if self._parting.says(now):
                effects.append(Send(encode_abort(self.number, Reason.NONE), self.session.group))
            elif self._parting.is_over:
                effects.append(self._end())
        return effects

    def _wait(self, now: float) -> list[Effect]:
        effects = self._believe(now)
        joined = len(self.flow.branches)
        self.detail = f"{joined} of {self.session.receivers} receivers have joined"
        if now >= self._wait_until:
            if joined:
                return [*effects, *self._begin(now)]
            text = nobody_text(f"no receiver joined within {self.session.wait:g} s", self.ended.failed_text)
            return [*effects, *self._abort(Reason.NONE, text)]
        if now < self._announce_at:
            return effects
        self._announce_at = now + self.options.announce_s
        return [*effects, Send(encode_announce(self.number, self.options.payload_bytes), self.session.group)]

    def _believe(self, now: float) -> list[Effect]:
        """Who is through, if what was said of it agrees with what has come since."""
        effects: list[Effect] = []
        for branch in list(self.flow.branches.values()):
            farewell = branch.doubt.believed(branch.heard_at, now)
            if farewell is not None and not self.closed:
                effects += self._finished(branch, farewell, now)
        return effects

    def _review(self, now: float) -> list[Effect]:
        """Drop who is waited for no longer."""
        effects = self._believe(now)
        flow = self.flow
        is_over = not any(branch.presence.is_proven for branch in flow.branches.values()) and (
            (self.end_sent and self.ended.is_somebody_whole) or self._may_wait(now)
        )
        for branch, reason, text in hopeless(
            flow, now, limit=self.limit, end_sent=self.end_sent, others_are_through=is_over
        ):
            if self.state == "sending":
                effects += self._drop(branch, reason, text, now)
        return effects

    def _drop(self, branch: Branch, reason: Reason, text: str, now: float) -> list[Effect]:
        effects: list[Effect] = [Send(encode_abort(self.number, reason), branch.address)] * ABORT_COPIES
        effects.append(PeerDropped(branch.address, text))
        return effects + self._remove(branch.address, "lost", text, now, reason)

    def _keep_least_rate(self, now: float) -> list[Effect]:
        """Send away who keeps the session below its least rate."""
        held_by = waited_for(self.flow, self.limit, all_sent=self.end_sent)
        least = min((branch.cumulative for branch in self.flow.branches.values()), default=self.flow.end)
        done = (least if self.end_sent else self.flow.base) * self.options.payload_bytes
        slowest = self._least.look(done, None if held_by is None else held_by.address, now)
        branch = None if slowest is None else self.flow.branches.get(slowest)
        return [] if branch is None else self._drop(branch, Reason.TOO_SLOW, Reason.TOO_SLOW.text, now)

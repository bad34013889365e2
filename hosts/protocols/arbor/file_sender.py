"""Files over Arbor: the sender knows its receivers, and sends RaptorQ symbols until each has enough.

It sends empty data until enough have joined; sends each block's source symbols once; then, of the blocks of which
somebody lacks packets, as many new symbols as the neediest of those that spoke lacks.
"""

import random
from collections.abc import Sequence
from typing import Final

from hosts.endpoint import Address, Effect, PeerJoined, PeerRefused, Sample, Send, SessionStarted
from hosts.parts.file_sending import FileSending
from hosts.parts.parting import Parting
from hosts.parts.roster import Member
from hosts.protocol import Session
from hosts.protocols.arbor.lacking import OPEN_BLOCKS, turn_s
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.packets import FIN, FLAG_FILE, Blocks, Packet, encode_abort
from hosts.protocols.arbor.sender import HEARTBEAT_S, ArborSender
from hosts.wire.farewell import MemberFin
from hosts.wire.reason import Reason
from hosts.wire.seq import extend

LEAST_HEARTBEAT_S: Final = 0.02
"""While receivers have to say what they lack (ours)."""
MISSED_WORDS: Final = 4
"""Of a receiver, before it counts as silent: when many take turns that may be longer than `drop_after_s` (ours)."""


class ArborFileSender(ArborSender):
    """States: waiting (for receivers), sending, closing, closed."""

    def __init__(self, session: Session, options: ArborOptions, rng: random.Random) -> None:
        super().__init__(session, options, rng)
        self._file = FileSending(self.counters, options.payload_bytes, OPEN_BLOCKS)
        self.roster, self.blocks = self._file.roster, self._file.blocks
        self._wait_until = 0.0
        self._parting: Parting | None = None

    # --- the application's side

    @property
    def send_space(self) -> int:
        return 0 if self.state in ("closing", "closed") else self.blocks.space

    def write(self, data: bytes | memoryview, *, now: float) -> Sequence[Effect]:
        self.blocks.write(data)
        return self._transmit(now)

    def finish(self, *, now: float) -> Sequence[Effect]:
        self.blocks.finish()
        return self._transmit(now)

    def start_now(self, *, now: float) -> Sequence[Effect]:
        return self._begin(now) if self.state == "waiting" and self.roster.members else ()

    # --- who takes part

    def start(self, *, now: float) -> Sequence[Effect]:
        self._now = self._started_at = now
        self._wait_until = now + self.session.wait
        return self.handle_timer(now=now)

    def _knows(self, receiver: int, source: Address, now: float) -> bool:
        member = self.roster.member(receiver, source)
        if member is None:
            return False
        member.heard(now)
        return True

    def _admit(self, receiver: int, source: Address, rtt: float, now: float, effects: list[Effect]) -> Reason | None:
        roster = self.roster
        reason = roster.admission(receiver, source, begun=self.state != "waiting")
        if reason is not None and reason is not Reason.NONE:
            self.counters["refused"] += 1
            effects.append(PeerRefused(source, reason.text))
        elif reason is Reason.NONE and receiver not in roster.members:
            roster.members[receiver] = Member(source, now, now, self._bounded(rtt))
            effects.append(PeerJoined(source))
            if len(roster) >= self.session.receivers:
                effects += self._begin(now)
        return reason

    @property
    def _receivers(self) -> int:
        return len(self.roster)

    def _begin(self, now: float) -> list[Effect]:
        self.state = "sending"
        self.detail = ""
        self._file.begin(now)
        return [SessionStarted(), *self._transmit(now)]

    def _other(self, packet: Packet, source: Address, now: float) -> Sequence[Effect]:
        if isinstance(packet, Blocks):
            return self._status(packet, source, now)
        if isinstance(packet, MemberFin) and not packet.answer:
            return self._fin(packet, source, now)
        return super()._other(packet, source, now)

    def _fin(self, packet: MemberFin, source: Address, now: float) -> Sequence[Effect]:
        if self._file.is_strange(packet, source):
            return ()
        effects: list[Effect] = [Send(FIN.encode(packet._replace(answer=True)), source)]
        verdict = self._file.verdict(packet, source)
        if verdict is not None:
            effects += self._remove(packet.receiver, *verdict, now)
        return effects

    def _remove(self, receiver: int, state: str, reason: Reason, now: float) -> list[Effect]:
        """A receiver is through; what it held back goes on."""
        effects: list[Effect] = [self._file.remove(receiver, state, reason)]
        self._left(receiver, now)
        if not self.roster.members and self.state == "sending":
            self.state = "closing"
            self._parting = Parting(now)
        return effects

    # --- blocks

    def _status(self, status: Blocks, source: Address, now: float) -> Sequence[Effect]:
        member = self.roster.member(status.receiver, source)
        if member is None or self.state != "sending":
            return ()
        self.counters["block_reports"] += 1
        self._file.told(member, status.delivered, status.needs, extend(status.seq, self.seq), now)
        return self._transmit(now)

    @property
    def _has_payload(self) -> bool:
        return self.blocks.has_piece

    def _next_payload(self) -> tuple[bytes, int]:
        return self.blocks.next_piece(self.seq) if self.state == "sending" else self.blocks.nothing(), FLAG_FILE

    # --- timers

    @property
    def wake_at(self) -> float | None:
        if self.state == "waiting":
            return min(self._sent_at + HEARTBEAT_S, self._wait_until)
        if self.state == "closing" and self._parting is not None:
            return self._parting.at
        return super().wake_at

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if self.state == "waiting":
            return self._wait(now)
        if self.state == "closing" and self._parting is not None:
            if self._parting.says(now):
                return [Send(encode_abort(self.number, Reason.NONE), self.session.group)]
            if not self._parting.is_over:
                return []
            self.state = "closed"
            end = self.roster.end(all_sent=self.blocks.all_made)
            self.detail = end.reason
            return [end]
        effects: list[Effect] = []
        rtt = self.going.srtt or HEARTBEAT_S
        patience = max(self.options.drop_after_s, MISSED_WORDS * turn_s(len(self.roster), rtt))
        for receiver, reason in self.roster.overdue(self.blocks.passed, patience, now):
            effects.append(Send(encode_abort(self.number, reason), self.roster.members[receiver].address))
            effects += self._remove(receiver, "lost", reason, now)
        waits_for_needs = self.blocks.passed == self.blocks.made
        self._heartbeat_s = min(max(rtt, LEAST_HEARTBEAT_S), HEARTBEAT_S) if waits_for_needs else HEARTBEAT_S
        return [*effects, *super().handle_timer(now=now)]

    def _wait(self, now: float) -> list[Effect]:
        self._now = now
        self.detail = f"{len(self.roster)} of {self.session.receivers} receivers have joined"
        if now >= self._wait_until:
            if self.roster.members:
                return self._begin(now)
            return list(self.close(now=now, reason=f"no receiver joined within {self.session.wait:g} s"))
        effects: list[Effect] = []
        if now >= self._sent_at + HEARTBEAT_S:
            if now >= self.going.timeout_at(self.seq):
                self.going.timed_out(self.seq, now)
            self._send_packet(now, effects)
        return effects

    # --- what it shows

    def sample(self, *, now: float) -> Sample:
        return {**super().sample(now=now), **self._file.sample(now)}

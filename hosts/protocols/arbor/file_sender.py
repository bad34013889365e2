"""Files over Arbor: the sender knows its receivers, and sends RaptorQ symbols until each has enough.

It sends empty data until enough have joined; sends each block's source symbols once; then, of the blocks of which
somebody lacks packets, as many new symbols as the neediest of those that spoke lacks.
"""

import random
from collections.abc import Sequence
from typing import Final

from hosts.endpoint import Address, Effect, PeerJoined, PeerRefused, Sample, SessionStarted
from hosts.parts.file_sender import FileSender
from hosts.parts.roster import Member
from hosts.protocol import Session
from hosts.protocols.arbor.lacking import OPEN_BLOCKS, turn_s
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.packets import FIN, FLAG_FILE, Blocks, Packet, Report
from hosts.protocols.arbor.sender import HEARTBEAT_S, ArborSender
from hosts.protocols.arbor.twins import audited
from hosts.wire.farewell import MemberFin
from hosts.wire.reason import Reason
from hosts.wire.seq import extend

LEAST_HEARTBEAT_S: Final = 0.02
"""While receivers have to say what they lack (ours)."""
MISSED_WORDS: Final = 4
"""Of a receiver, before it counts as silent: when many take turns that may be longer than `drop_after_s` (ours)."""


class ArborFileSender(FileSender, ArborSender):
    """States: waiting (for receivers), sending, closing, closed."""

    def __init__(self, session: Session, options: ArborOptions, rng: random.Random) -> None:
        super().__init__(session, options, rng)
        self._has_file(options.payload_bytes, OPEN_BLOCKS)

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

    def _report(self, report: Report, source: Address, at: float, now: float) -> Sequence[Effect]:
        member = self.roster.members.get(report.receiver)
        if member is not None and member.address == source:
            member.says(report, now)
        return super()._report(report, source, at, now)

    def _admit(self, receiver: int, source: Address, rtt: float, now: float, effects: list[Effect]) -> Reason | None:
        roster = self.roster
        reason = roster.admission(receiver, source, begun=self._is_too_late)
        if reason is not None and reason is not Reason.NONE:
            self.counters["refused"] += 1
            effects.append(PeerRefused(source, reason.text))
        elif reason is Reason.NONE and receiver not in roster.members:
            self._gathering.joined(self.going.srtt, now)
            roster.members[receiver] = Member(source, now, now, self._bounded(rtt))
            effects.append(PeerJoined(source))
            if self.state == "waiting" and len(roster) >= self.session.receivers:
                effects += self._begin(now)
        return reason

    @property
    def _receivers(self) -> int:
        return len(self.roster)

    def _begin(self, now: float) -> list[Effect]:
        self.state = "sending"
        self.detail = ""
        self._least.begin(now)
        self._file.begin(now)
        return [SessionStarted(), *self._transmit(now)]

    def _other(self, packet: Packet, source: Address, now: float) -> Sequence[Effect]:
        if isinstance(packet, Blocks):
            return self._status(packet, source, now)
        if isinstance(packet, MemberFin) and not packet.answer:
            return self._fin(packet, source, now)
        return super()._other(packet, source, now)

    # --- blocks

    def _status(self, status: Blocks, source: Address, now: float) -> Sequence[Effect]:
        member = self.roster.member(status.receiver, source)
        if member is None or self.state != "sending":
            return ()
        self.counters["block_reports"] += 1
        effects: list[Effect] = []
        if len(status.needs) == 1:
            ((block, packets),) = status.needs
            effects = audited(self._audit, status, "repairs", block, -packets, source, self.going.srtt or 0.0, now)
        self._file.told(member, status.delivered, status.needs, extend(status.seq, self.seq), now)
        return [*effects, *(self.blocks.take_work() or self._transmit(now))]

    _kind = FLAG_FILE

    @property
    def _full_bytes(self) -> int:
        return self.blocks.piece_bytes

    def _next_payloads(self, most: int) -> bytes:
        return self.blocks.next_pieces(self.seq, most) if self.state == "sending" else b""

    def _next_payload(self) -> tuple[bytes, int]:
        return self.blocks.next_piece(self.seq) if self.state == "sending" else self.blocks.nothing(), FLAG_FILE

    # --- timers

    def _timed_out(self, now: float) -> None:
        """Who limits the rate, and has said next to nothing, may not be there: then it goes by somebody else, if it has
        said a word by one who has been heard of since."""
        super()._timed_out(now)
        members, limiting = self.roster.members, self.going.limiting
        mute = None if limiting is None else members.get(limiting.receiver)
        if limiting is not None and mute is not None and not mute.presence.is_proven:
            others = [
                number
                for number, member in members.items()
                if number != limiting.receiver and (not mute.feedback or member.heard_at > mute.heard_at)
            ]
            other = next((number for number in others if members[number].feedback), others[0] if others else None)
            if other is not None:
                self._go_by(other, members[other].address, members[other].rtt, now)

    @property
    def _invites_at(self) -> float:
        return self._sent_at + HEARTBEAT_S

    def _invite(self, now: float) -> list[Effect]:
        effects: list[Effect] = []
        if now >= self._invites_at:
            if now >= self.going.timeout_at(self.seq):
                self.going.timed_out(self.seq, now)
            self._send_packet(now, effects)
        return effects

    def _receipt(self, fin: MemberFin) -> bytes:
        return FIN.encode(fin)

    def _gone(self, receiver: int, now: float) -> None:
        self._left(receiver, now)

    def _drop(self, source: Address, now: float) -> list[Effect]:
        members = self.roster.members.items()
        receiver = next((number for number, member in members if member.address == source), None)
        return [] if receiver is None else self._remove(receiver, "lost", Reason.TOO_SLOW, now)

    @property
    def wake_at(self) -> float | None:
        return super().wake_at if self.state == "sending" else self._rests_until

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if self.state != "sending":
            self._now = now
            joined = len(self.roster)
            if joined and now >= self._wait_until and self._gathering.awaited(joined, self.going.srtt, now):
                self._wait_until = now + HEARTBEAT_S  # they have been told to wait for their places
            return self._rest(now)
        rtt = self.going.srtt or HEARTBEAT_S
        longest_s = MISSED_WORDS * turn_s(len(self.roster), rtt)
        effects = self._give_up(self.options.drop_after_s, now, turn_s=longest_s)
        waits_for_needs = self.blocks.passed == self.blocks.made
        self._heartbeat_s = min(max(rtt, LEAST_HEARTBEAT_S), HEARTBEAT_S) if waits_for_needs else HEARTBEAT_S
        return [*effects, *super().handle_timer(now=now)]

    # --- what it shows

    def sample(self, *, now: float) -> Sample:
        return {**super().sample(now=now), **self._file.sample(now)}

"""Files over TFMCC: the sender knows its receivers, and sends RaptorQ symbols until each has enough (ours).

It announces itself until enough have joined, which also measures everybody's round trip time; sends each block's source
symbols once; then, of the blocks of which somebody lacks packets, as many new symbols as the neediest lacks.
"""

import random
from collections.abc import Sequence
from typing import Final

from hosts.endpoint import (
    Address,
    Datagram,
    Effect,
    PeerJoined,
    PeerRefused,
    Sample,
    Send,
    SessionEnded,
    SessionStarted,
)
from hosts.parts.fec.pieces import BlockStatus
from hosts.parts.file_sending import FileSending
from hosts.parts.parting import Parting
from hosts.parts.roster import Member
from hosts.protocol import Session
from hosts.protocols.tfmcc.blocks import is_blocks, parse_status
from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.packets import (
    Join,
    JoinAck,
    Packet,
    Report,
    encode_abort,
    encode_announce,
    encode_fin,
    encode_join_ack,
    parse,
)
from hosts.protocols.tfmcc.sender import HEARTBEAT_S, TfmccSender
from hosts.wire.farewell import MemberFin
from hosts.wire.header import PacketError
from hosts.wire.reason import Reason
from hosts.wire.seq import extend

OPEN_BLOCKS: Final = 24
"""Blocks that somebody still lacks, at most: the receivers' and the sender's buffer (ours)."""
LEAST_RTT_S: Final = 0.005
"""Times of ordinary machines below this are noise (ours)."""
LEAST_HEARTBEAT_S: Final = 0.02
ANNOUNCE_S: Final = 0.25


class TfmccFileSender(TfmccSender):
    """States: waiting (for receivers), sending, closing, closed."""

    def __init__(self, session: Session, options: TfmccOptions, rng: random.Random) -> None:
        super().__init__(session, options, rng)
        self._file = FileSending(self.counters, options.payload_bytes, OPEN_BLOCKS)
        self.roster, self.blocks = self._file.roster, self._file.blocks
        self._wait_until = 0.0
        self._announce_at = 0.0
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

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        packet = encode_abort(self.number, Reason.INTERRUPTED)
        told = [Send(packet, member.address) for member in self.roster.members.values()]
        return [] if self.closed else [*told, *super().close(now=now, reason=reason)]

    # --- inputs

    def start(self, *, now: float) -> Sequence[Effect]:
        self._now = now
        self._wait_until = now + self.session.wait
        self._announce_at = now
        return self.handle_timer(now=now)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        self._now = now
        try:
            if is_blocks(datagram.data):
                return self._status(parse_status(datagram.data), datagram.source, now)
            packet = parse(datagram.data)
        except PacketError as error:
            self.counters[f"drop_{error.reason}"] += 1
            return ()
        if packet.session == self.number and not self.closed:
            if isinstance(packet, Join):
                return self._join(packet, datagram, now)
            if isinstance(packet, MemberFin) and not packet.answer:
                return self._fin(packet, datagram.source, now)
            if isinstance(packet, Report):
                member = self.roster.member(packet.receiver, datagram.source)
                if member is None:
                    return ()
                member.heard(now)
        return super().receive(datagram, now=now)

    def _control(self, packet: Packet, datagram: Datagram, now: float) -> Sequence[Effect]:
        self.counters["drop_unexpected"] += 1
        return ()

    # --- who takes part

    def _join(self, packet: Join, datagram: Datagram, now: float) -> Sequence[Effect]:
        source = datagram.source
        members = self.roster.members
        known = packet.receiver in members
        reason = self.roster.admission(packet.receiver, source, begun=self.state != "waiting")
        if reason is None:
            return ()
        answer = JoinAck(self.number, reason, packet.receiver, packet.time_us, int(now * 1e6))
        effects: list[Effect] = [Send(encode_join_ack(answer), source)]
        if reason is not Reason.NONE:
            self.counters["refused"] += 1
            return [*effects, PeerRefused(source, reason.text)]
        if known:
            return effects
        at = datagram.came_at(now)
        rtt = at - packet.echo_time_us * 1e-6 - packet.held_us * 1e-6
        if not 0 <= rtt <= self.options.largest_rtt_s:
            rtt = self.options.initial_rtt
        members[packet.receiver] = Member(source, now, now, max(rtt, LEAST_RTT_S))
        effects.append(PeerJoined(source))
        if len(members) >= self.session.receivers:
            effects += self._begin(now)
        return effects

    def _begin(self, now: float) -> list[Effect]:
        """Everybody's round trip time is known: slowstart begins with it."""
        self.state = "sending"
        self.detail = ""
        self.steering.know_rtts(max(member.rtt for member in self.roster.members.values()))
        self._begin_data(now)
        self._file.begin(now)
        return [SessionStarted(), *self._transmit(now)]

    def _fin(self, packet: MemberFin, source: Address, now: float) -> Sequence[Effect]:
        if self._file.is_strange(packet, source):
            return ()
        effects: list[Effect] = [Send(encode_fin(packet._replace(answer=True)), source)]
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

    def _status(self, status: BlockStatus, source: Address, now: float) -> Sequence[Effect]:
        if status.session != self.number:
            self.counters["drop_other_session"] += 1
            return ()
        member = self.roster.member(status.receiver, source)
        if member is None or self.state != "sending":
            return ()
        self._file.told(member, status.delivered, status.needs, extend(status.seq, self.seq), now)
        return self._transmit(now)

    @property
    def _has_payload(self) -> bool:
        return self.blocks.has_piece

    @property
    def _full_bytes(self) -> int:
        return self.blocks.piece_bytes

    def _next_payloads(self, most: int) -> bytes:
        return self.blocks.next_pieces(self.seq, most)

    def _next_payload(self) -> tuple[bytes, int]:
        return self.blocks.next_piece(self.seq), 0

    # --- timers

    @property
    def wake_at(self) -> float | None:
        if self.state == "waiting":
            return min(self._announce_at, self._wait_until)
        if self.state == "closing" and self._parting is not None:
            return self._parting.at
        return super().wake_at

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if self.state == "waiting":
            return self._wait(now)
        if self.state == "closing" and self._parting is not None:
            if self._parting.says(now):
                return [Send(encode_abort(self.number, Reason.NONE), self.session.group)]
            return [self._end()] if self._parting.is_over else []
        effects: list[Effect] = []
        for receiver, reason in self.roster.overdue(self.blocks.passed, self.options.drop_after_s, now):
            effects.append(Send(encode_abort(self.number, reason), self.roster.members[receiver].address))
            effects += self._remove(receiver, "lost", reason, now)
        waits_for_needs = self.blocks.passed == self.blocks.made
        self._heartbeat_s = max(self.steering.rounds.max_rtt, LEAST_HEARTBEAT_S) if waits_for_needs else HEARTBEAT_S
        return [*effects, *self._transmit(now)]

    def _wait(self, now: float) -> list[Effect]:
        self.detail = f"{len(self.roster)} of {self.session.receivers} receivers have joined"
        if now >= self._wait_until:
            if self.roster.members:
                return self._begin(now)
            return list(self.close(now=now, reason=f"no receiver joined within {self.session.wait:g} s"))
        if now >= self._announce_at:
            self._announce_at = now + ANNOUNCE_S
            return [Send(encode_announce(self.number, int(now * 1e6)), self.session.group)]
        return []

    def _end(self) -> SessionEnded:
        self.state = "closed"
        end = self.roster.end(all_sent=self.blocks.all_made)
        self.detail = end.reason
        return end

    # --- what it shows

    def sample(self, *, now: float) -> Sample:
        return {**super().sample(now=now), "state": self.state, **self._file.sample(now)}

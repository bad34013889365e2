"""Files over TFMCC: the sender knows its receivers, and sends RaptorQ symbols until each has enough (ours).

It announces itself until enough have joined, which also measures everybody's round trip time; sends each block's source
symbols once; then, of the blocks of which somebody lacks packets, as many new symbols as the neediest lacks.
"""

import random
from collections.abc import Sequence
from statistics import median_low
from typing import Final

from hosts.endpoint import Address, Datagram, Effect, PeerDropped, PeerJoined, PeerRefused, Sample, Send, SessionStarted
from hosts.parts.fec.pieces import BlockStatus
from hosts.parts.file_sender import FileSender
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
"""Blocks that somebody still lacks, at most: the receivers' and the sender's buffer, 8.5 MB (ours). A block that is
whole is open for one round trip and a half, until its receivers have said so: two would bound a path of 20 ms to 190
Mbit/s, and these to 2.3 Gbit/s."""
LEAST_RTT_S: Final = 0.005
"""Times of ordinary machines below this are noise (ours)."""
FAR: Final = 4.0
"""Whose round trip is so many times as long as most of the others' is far away, if it is there (ours)."""
LEAST_HEARTBEAT_S: Final = 0.02
ANNOUNCE_S: Final = 0.25


class TfmccFileSender(FileSender, TfmccSender):
    """States: waiting (for receivers), sending, closing, closed."""

    def __init__(self, session: Session, options: TfmccOptions, rng: random.Random) -> None:
        super().__init__(session, options, rng)
        self._has_file(options.payload_bytes, OPEN_BLOCKS)
        self._announce_at = self._announced_from = 0.0

    # --- the application's side

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        packet = encode_abort(self.number, Reason.INTERRUPTED)
        told = [Send(packet, member.address) for member in self.roster.members.values()]
        return [] if self.closed else [*told, *super().close(now=now, reason=reason)]

    # --- inputs

    def start(self, *, now: float) -> Sequence[Effect]:
        self._now = now
        self._wait_until = now + self.session.wait
        self._announce_at = self._announced_from = now
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
                    return self.steering.refusal(packet.receiver, datagram.source)
                member.heard(now)
                member.says(packet, now)
                return self._without_slow(packet.receiver, super().receive(datagram, now=now), now)
        return super().receive(datagram, now=now)

    def _without_slow(self, receiver: int, effects: Sequence[Effect], now: float) -> Sequence[Effect]:
        """Who was sent away upon its report holds back nothing any more."""
        others = [effect for effect in effects if not isinstance(effect, PeerDropped)]
        if len(others) == len(effects):
            return effects
        return [*others, *self._remove(receiver, "lost", Reason.TOO_SLOW, now)]

    def _control(self, packet: Packet, datagram: Datagram, now: float) -> Sequence[Effect]:
        self.counters["drop_unexpected"] += 1
        return ()

    # --- who takes part

    def _join(self, packet: Join, datagram: Datagram, now: float) -> Sequence[Effect]:
        source = datagram.source
        members = self.roster.members
        known = packet.receiver in members
        reason = self.roster.admission(packet.receiver, source, begun=self._is_too_late)
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
        is_measured = 0 <= rtt <= min(self.options.largest_rtt_s, at - self._announced_from)
        rtt = max(rtt, LEAST_RTT_S) if is_measured else self.options.initial_rtt
        members[packet.receiver] = Member(source, now, now, rtt, is_measured)
        effects.append(PeerJoined(source))
        if self.state == "waiting" and len(members) >= self.session.receivers:
            effects += self._begin(now)
        elif self.state == "sending" and self.steering.is_unheard and FAR * rtt < self.steering.rounds.max_rtt:
            self.steering.know_rtts(*self._known_rtt)  # those before are far away, or were not there
            self.steering.rounds.begin(now)
        return effects

    def _begin(self, now: float) -> list[Effect]:
        """Slowstart begins with everybody's round trip time."""
        self.state = "sending"
        self.detail = ""
        self.steering.know_rtts(*self._known_rtt)
        self._begin_data(now)
        self._file.begin(now)
        return [SessionStarted(), *self._transmit(now)]

    @property
    def _known_rtt(self) -> tuple[float, bool]:
        """The largest, as it was measured when they joined, and whether that is everybody's. Who has answered no
        announcement, or answers one late, may not be there: its round trip is taken for no longer than that of somebody
        unknown, until it says so itself (`Path.is_far`)."""
        members = self.roster.members.values()
        rtts = [member.rtt for member in members if member.is_measured]
        if not rtts:
            return self.options.initial_rtt, False
        largest, usual = max(rtts), FAR * median_low(rtts)
        if largest <= usual:
            return largest, len(rtts) == len(members)
        return min(largest, max(usual, self.options.initial_rtt)), False

    # --- blocks

    def _status(self, status: BlockStatus, source: Address, now: float) -> Sequence[Effect]:
        if status.session != self.number:
            self.counters["drop_other_session"] += 1
            return ()
        member = self.roster.member(status.receiver, source)
        if member is None or self.state != "sending":
            return ()
        self._file.told(member, status.delivered, status.needs, extend(status.seq, self.seq), now)
        return self.blocks.take_work() or self._transmit(now)

    @property
    def _full_bytes(self) -> int:
        return self.blocks.piece_bytes

    def _next_payloads(self, most: int) -> bytes:
        return self.blocks.next_pieces(self.seq, most)

    def _next_payload(self) -> tuple[bytes, int]:
        return self.blocks.next_piece(self.seq), 0

    # --- timers

    @property
    def _invites_at(self) -> float:
        return self._announce_at

    def _invite(self, now: float) -> list[Effect]:
        if now < self._announce_at:
            return []
        self._announce_at = now + ANNOUNCE_S
        return [Send(encode_announce(self.number, int(now * 1e6)), self.session.group)]

    def _receipt(self, fin: MemberFin) -> bytes:
        return encode_fin(fin)

    def _gone(self, receiver: int, now: float) -> None:
        self._left(receiver, now)

    @property
    def wake_at(self) -> float | None:
        return super().wake_at if self.state == "sending" else self._rests_until

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        if self.state != "sending":
            return self._rest(now)
        effects = self._give_up(self.options.drop_after_s, now)
        waits_for_needs = self.blocks.passed == self.blocks.made
        self._heartbeat_s = max(self.steering.rounds.max_rtt, LEAST_HEARTBEAT_S) if waits_for_needs else HEARTBEAT_S
        return [*effects, *self._transmit(now)]

    # --- what it shows

    def sample(self, *, now: float) -> Sample:
        return {**super().sample(now=now), "state": self.state, **self._file.sample(now)}

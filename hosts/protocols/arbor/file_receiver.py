"""Files over Arbor: the receiver joins, collects symbols until each block is whole, and says what it lacks."""

import random
from collections.abc import Sequence
from math import inf
from typing import Final

from hosts.endpoint import Datagram, Effect, Sample, Send, SessionStarted
from hosts.parts.fec.incoming import IncomingBlocks
from hosts.parts.fec.pieces import following, parse_piece
from hosts.protocol import Session
from hosts.protocols.arbor.lacking import OPEN_BLOCKS, WORD_BLOCKS, Lacking, spread_s, turn_s
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.packets import FIN, FLAG_ASSIST, FLAG_FILE, AnyData, Blocks, Packet, Welcome, encode_blocks
from hosts.protocols.arbor.receiver import ArborReceiver
from hosts.protocols.arbor.twins import twins
from hosts.wire.farewell import FIN_TRIES, Abort, MemberFin
from hosts.wire.header import PacketError
from hosts.wire.reason import Reason

FIN_RETRY_S: Final = 0.25
"""A FIN without an answer is repeated after so long, and after its share of everybody's (ours)."""


class ArborFileReceiver(ArborReceiver):
    """States: listening (for data), joining, member, confirming, closed."""

    def __init__(self, session: Session, options: ArborOptions, rng: random.Random) -> None:
        super().__init__(session, options, rng)
        self._delivers = True
        self._of_file = FLAG_FILE
        self._blocks = IncomingBlocks(options.payload_bytes, OPEN_BLOCKS)
        self._lacking = Lacking(rng, options.challenges_per_rtt)
        self._repair_twins = twins(options, Blocks)
        self._status_at = inf
        self._spoke_at = -inf
        self._speaks_from = WORD_BLOCKS  # blocks, before its turn
        self._fin_at = inf
        self._tries = 0
        self._verdict = (False, Reason.NONE)

    # --- the application's side

    def consumed(self, count: int, *, now: float) -> Sequence[Effect]:
        self._blocks.consumed(count)
        # On a fast link the sender would have no block left to send before the turn comes.
        is_much = self._blocks.free >= self._speaks_from
        if is_much and self.state == "member" and now >= self._spoke_at + spread_s(self._receivers, self._round_trip):
            return self._status(self._blocks.needs(), now)
        return ()

    def confirm(self, *, complete: bool, now: float, reason: Reason = Reason.NONE) -> Sequence[Effect]:
        if self.state != "member":
            return ()
        self._verdict = (complete, reason)
        self.state = "confirming"
        self._status_at = inf
        self._joining.end()
        self._lacking.end()
        # Thousands may be through at once.
        self._fin_at = now + self._rng.random() * spread_s(self._receivers - 1, self._round_trip)
        return self.handle_timer(now=now)

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        if self.state not in ("member", "confirming"):
            return super().close(now=now, reason=reason)
        return [self._fin(False, Reason.INTERRUPTED), *self._end(False, reason)]

    # --- joining

    def _is_ours(self, datagram: Datagram, number: int, effects: list[Effect]) -> bool:
        if not super()._is_ours(datagram, number, effects):
            return False
        if effects:  # it has begun; but it has to be admitted yet
            effects.clear()
            self.state = "joining"
        return True

    def _welcomed(self, welcome: Welcome, at: float, now: float) -> Sequence[Effect]:
        super()._welcomed(welcome, at, now)
        if self.state != "joining" or not self.path.is_known:
            return ()
        if welcome.reason is not Reason.NONE:
            return self._end(False, f"refused: {welcome.reason.text}")
        self.state = "member"
        self._status_at = now + self._turn_s * self._rng.uniform(0.5, 1)
        effects: list[Effect] = [SessionStarted(self.sender)]
        self._blocks.deliver(effects)
        return effects

    def _control(self, packet: Packet, datagram: Datagram, now: float) -> Sequence[Effect]:
        if self.state == "confirming":
            is_answer = isinstance(packet, MemberFin) and packet.answer and packet.receiver == self.id
            if is_answer or isinstance(packet, Abort):  # nothing is missing but the receipt
                return self._end_as_confirmed()
        return super()._control(packet, datagram, now)

    def _stream_ends(self, length: int, now: float) -> None:
        """A file's blocks say where it ends."""
        self.counters["drop_unexpected"] += 1

    # --- blocks

    @property
    def _receivers(self) -> int:
        return 1 if self._last is None else self._last.receivers

    @property
    def _turn_s(self) -> float:
        return turn_s(self._receivers, self._round_trip)

    @property
    def _round_trip(self) -> float:
        """Within which the sender answers."""
        return FIN_RETRY_S if self._last is None or not self.rtt else self._loop(self._last)

    def _deliver(self, seq: int, packet: AnyData, at: float, now: float, effects: list[Effect]) -> None:
        if self._take(packet.payload, len(packet.payload), now, effects):
            self._go_on(packet, now, effects)

    def _deliver_run(
        self, seq: int, packet: AnyData, payload: bytes, at: float, now: float, effects: list[Effect]
    ) -> None:
        size = len(packet.payload)
        for _, part in following(payload, size):
            self._take(part, size, now, effects)
        self._go_on(packet, now, effects)

    def _take(self, payload: bytes, size: int, now: float, effects: list[Effect]) -> bool:
        """Pieces of which the symbols follow each other, each of `size` bytes; whether they can be a sender's."""
        blocks = self._blocks
        try:
            piece = parse_piece(payload[:size])
            if size < len(payload):
                blocks.take_run(piece, payload, size)
            else:
                blocks.take(piece)
        except (PacketError, ValueError):
            self.counters["drop_block"] += 1
            return False
        if piece.packet:
            if not self.has_data:
                effects += self.first_data(len(payload))
            self._lacking.came(piece, blocks.passed, self._round_trip, now)
        return True

    def _go_on(self, packet: AnyData, now: float, effects: list[Effect]) -> None:
        """Hand over what is whole, and say by and by what is lacking: when all is done that may make blocks whole."""
        blocks = self._blocks
        if work := blocks.take_work():
            effects += work
            return
        if self.state == "joining":
            return
        blocks.deliver(effects)
        if self.state == "member" and blocks.next < blocks.passed:
            self._lacking.begin(self._others(packet), self._round_trip, now)

    def computed(self, *, now: float) -> Sequence[Effect]:
        effects: list[Effect] = []
        self._blocks.settle()
        if self._last is not None:
            self._go_on(self._last, now, effects)
        return effects

    def _status(self, needs: list[tuple[int, int]], now: float, *, may_suppress: bool = False) -> list[Send]:
        assert self.sender is not None
        if not may_suppress:
            self._status_at = now + self._turn_s * self._rng.uniform(0.75, 1)
        self.counters["block_reports"] += 1
        free = self._blocks.free
        self._spoke_at = now
        self._speaks_from = free + int(WORD_BLOCKS * self._rng.uniform(0.5, 1))
        status = Blocks(self.number or 0, self.id, self.gaps.highest, free, tuple(needs), may_suppress=may_suppress)
        said = self._repair_twins.request(status, now) if may_suppress else [status]
        return [Send(encode_blocks(one), self.sender) for one in said]

    # --- timers

    @property
    def wake_at(self) -> float | None:
        at = super().wake_at
        return None if at is None else min(at, self._lacking.at, self._status_at, self._fin_at)

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        effects = list(super().handle_timer(now=now))
        if not self._takes_part:
            return effects
        if now >= self._fin_at:
            return [*effects, *self._repeat_fin(now)]
        if now >= self._lacking.at:
            needs = self._blocks.needs()
            if not needs:
                self._repair_twins.answered()
            packet = self._last
            if packet is not None and self._lacking.due(needs, self._others(packet), self._round_trip, now):
                # Switches compare what is lacking of one block.
                may_suppress = len(needs) == 1 and packet.flags & FLAG_ASSIST > 0
                effects += self._status(needs, now, may_suppress=may_suppress)
        if now >= self._status_at:
            effects += self._status(self._blocks.needs(), now)
        return effects

    def _fin(self, complete: bool, reason: Reason) -> Send:
        assert self.sender is not None
        return Send(FIN.encode(MemberFin(self.number or 0, False, complete, reason, self.id)), self.sender)

    def _repeat_fin(self, now: float) -> Sequence[Effect]:
        if self._tries == FIN_TRIES:
            return self._end_as_confirmed()
        self._tries += 1
        self._fin_at = now + max(FIN_RETRY_S, self._turn_s)
        return (self._fin(*self._verdict),)

    def _end_as_confirmed(self) -> list[Effect]:
        complete, reason = self._verdict
        return self._end(complete, "" if complete else reason.text)

    def sample(self, *, now: float) -> Sample:
        return {**super().sample(now=now), "received_bytes": self._blocks.delivered_bytes}

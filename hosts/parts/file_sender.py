"""The sender of a file whose receivers join and confirm its end: what Arbor's and TFMCC's share.

It begins when enough have joined, whoever they are: anybody may say in a packet that somebody joins. So the others may
join as long as everything is still there that has been sent, which is until all who have joined have its first block.

It stands before the protocol's sender of real-time data among the bases of the protocol's sender of files.
"""

from abc import abstractmethod
from collections.abc import Sequence

from hosts.endpoint import Address, Effect, Send
from hosts.parts.file_sending import FileSending
from hosts.parts.parting import Parting
from hosts.parts.realtime import RealtimeSender
from hosts.wire.farewell import MemberFin
from hosts.wire.reason import Reason


class FileSender(RealtimeSender):
    """States: waiting (for receivers), sending, closing, closed."""

    def _has_file(self, payload_bytes: int, open_blocks: int) -> None:
        """Packets carry so many bytes of it; of so many blocks somebody may lack something at a time."""
        self._file = FileSending(self.counters, payload_bytes, open_blocks)
        self.roster, self.blocks = self._file.roster, self._file.blocks
        self._wait_until = 0.0
        self._parting: Parting | None = None

    @abstractmethod
    def _begin(self, now: float) -> list[Effect]:
        """All, or enough, have joined."""

    @abstractmethod
    def _invite(self, now: float) -> list[Effect]:
        """Receivers are waited for: say so again, if it is time."""

    @property
    @abstractmethod
    def _invites_at(self) -> float:
        """When `_invite` is due."""

    @abstractmethod
    def _receipt(self, fin: MemberFin) -> bytes:
        """The packet that says that a FIN has come."""

    @abstractmethod
    def _gone(self, receiver: int, now: float) -> None:
        """The rate goes by this receiver no longer."""

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

    def computed(self, *, now: float) -> Sequence[Effect]:
        return self._transmit(now) if self.state == "sending" else ()

    @property
    def _is_too_late(self) -> bool:
        """Whether who joins now would not get the whole."""
        return self.state != "waiting" and not (self.state == "sending" and self.blocks.has_all)

    def start_now(self, *, now: float) -> Sequence[Effect]:
        return self._begin(now) if self.state == "waiting" and self.roster.members else ()

    @property
    def _has_payload(self) -> bool:
        return self.blocks.has_piece

    # --- who is through

    def _fin(self, packet: MemberFin, source: Address, now: float) -> Sequence[Effect]:
        if self._file.is_strange(packet, source):
            return ()
        effects: list[Effect] = [Send(self._receipt(packet._replace(answer=True)), source)]
        verdict = self._file.verdict(packet, source)
        if verdict is not None:
            effects += self._remove(packet.receiver, *verdict, now)
        return effects

    def _remove(self, receiver: int, state: str, reason: Reason, now: float) -> list[Effect]:
        """A receiver is through; what it held back goes on."""
        effects: list[Effect] = [self._file.remove(receiver, state, reason)]
        self._gone(receiver, now)
        if reason is not Reason.UNPROVEN:
            self._end_without(now)
        return effects

    def _end_without(self, now: float) -> None:
        """The session is over when nobody is left."""
        if not self.roster.members and self.state == "sending":
            self.state = "closing"
            self._parting = Parting(now)

    def _give_up(self, patience_s: float, now: float, *, turn_s: float = 0.0) -> list[Effect]:
        """Wait no longer for who has been silent, or has not got on, for so long. `turn_s`: nobody may say anything for
        so long.
        """
        effects: list[Effect] = []
        passed = self.blocks.passed
        overdue = self.roster.overdue(
            passed,
            patience_s,
            now,
            turn_s=turn_s,
            waits=passed == self.blocks.made and not self.send_space,
            ended=self.blocks.all_made and passed == self.blocks.made,
        )
        for receiver, reason in overdue:
            effects.append(Send(self._abort(reason), self.roster.members[receiver].address))
            effects += self._remove(receiver, "lost", reason, now)
        # When none was there of those who had joined, those who were meant may still come.
        if self.roster.is_over or now >= self._wait_until:
            self._end_without(now)
        return effects

    # --- before the file is sent, and after

    @property
    def _rests_until(self) -> float | None:
        """When `_rest` is due."""
        if self.state == "waiting":
            return min(self._invites_at, self._wait_until)
        return None if self._parting is None or self.state == "closed" else self._parting.at

    def _rest(self, now: float) -> list[Effect]:
        """Wait for receivers, or take leave of them."""
        if self.state == "waiting":
            return self._wait(now)
        return [] if self._parting is None or self.state == "closed" else self._part(self._parting, now)

    def _wait(self, now: float) -> list[Effect]:
        self.detail = f"{len(self.roster)} of {self.session.receivers} receivers have joined"
        if now < self._wait_until:
            return self._invite(now)
        if self.roster.members:
            return self._begin(now)
        return list(self.close(now=now, reason=f"no receiver joined within {self.session.wait:g} s"))

    def _part(self, parting: Parting, now: float) -> list[Effect]:
        if parting.says(now):
            return [Send(self._abort(Reason.NONE), self.session.group)]
        if not parting.is_over:
            return []
        self.state = "closed"
        end = self.roster.end(self.session.receivers, all_sent=self.blocks.all_made)
        self.detail = end.reason
        return [end]

"""A member's side of registration, without I/O, clock or randomness of its own: when it calls the registrar, what it
says, and which epochs its endpoints have at which time."""

import random
from enum import Enum
from typing import Final

from canopy_engine import Signer

from hosts.security.keyring import KeyRing
from hosts.security.keys import KeysError
from hosts.security.messages import AGAIN, MOST_BYTES, Challenge, Hello, Refusal, decode_answer, encode_hello
from hosts.security.schedule import Schedule
from hosts.security.ticket import Ticket

FIRST_RETRY_S: Final = 0.5
MOST_RETRY_S: Final = 30.0
"""Between calls that fail (ours): doubled each time, and drawn from half of that to the whole, so that members of a
registrar that comes back do not all call at once."""
ALIVE_S: Final = 15.0
"""So often a member asks again, to find out whether somebody still listens (ours)."""
ANSWER_S: Final = 3.0
"""Without an answer for so long it hangs up and calls again (ours)."""
LEAST_AGAIN_S: Final = 1.0
"""Between questions that packets of unknown epochs cause (ours): anybody can send such."""


class Action(Enum):
    """What a member's shell is to do."""

    CALL = "connect to the registrar"
    HANG_UP = "close the connection"


class Membership:
    """One process's. Each call returns what to do: an Action, or bytes to say."""

    def __init__(self, ticket: Ticket, ring: KeyRing, rng: random.Random) -> None:
        self.ring = ring
        self.refused: str | None = None
        """Why the registrar has no more for this member; there is nothing left to do."""
        self.schedule: Schedule | None = None
        self._ticket = ticket
        self._rng = rng
        self._connected = False
        self._heard = b""
        self._retry_s = FIRST_RETRY_S
        self._call_at: float | None = None
        self._ask_at: float | None = None
        self._answer_by: float | None = None
        self._again_from = 0.0

    def start(self, now: float) -> list[Action | bytes]:
        """Begin."""
        return [Action.CALL]

    def connected(self, now: float) -> list[Action | bytes]:
        """The registrar is at the other end."""
        self._connected = True
        self._heard = b""
        self._answer_by = now + ANSWER_S
        self._ask_at = None
        return [] if self._ticket.is_own else [encode_hello(Hello(self._ticket.name, self._ticket.token))]

    def lost(self, now: float) -> list[Action | bytes]:
        """A call failed, or the connection is gone."""
        self._connected = False
        self._answer_by = self._ask_at = None
        if self.refused is None:
            self._call_at = now + self._retry_s * self._rng.uniform(0.5, 1.0)
            self._retry_s = min(2 * self._retry_s, MOST_RETRY_S)
        return []

    def heard(self, data: bytes, now: float) -> list[Action | bytes]:
        """What the registrar says. KeysError is for no caller: who talks nonsense is hung up on."""
        *lines, self._heard = (self._heard + data).split(b"\n")
        said: list[Action | bytes] = []
        try:
            for line in lines:
                answer = decode_answer(line, now)
                if not isinstance(answer, Challenge):
                    self._take(answer, now)
                elif self._ticket.is_own:
                    said.append(self._signed(answer))
            if len(self._heard) > MOST_BYTES:
                raise KeysError("a line is too long")
        except KeysError:
            return [Action.HANG_UP, *self.lost(now)]
        return [Action.HANG_UP] if self.refused is not None else said

    def _signed(self, challenge: Challenge) -> bytes:
        ticket = self._ticket
        signature = Signer(ticket.token).sign(challenge.message(ticket.name, ticket.fingerprint))
        return encode_hello(Hello(ticket.name, signature, is_signed=True))

    def _take(self, answer: Schedule | Refusal, now: float) -> None:
        self._answer_by = None
        self._ask_at = now + ALIVE_S
        if isinstance(answer, Refusal):
            self.refused = answer.reason
            self._ask_at = None
            return
        self._retry_s = FIRST_RETRY_S
        self.ring.is_behind = False
        if self.schedule is None or answer.newest.serial >= self.schedule.newest.serial:
            self.schedule = answer
            self.ring.follow(answer, now)

    def handle_timer(self, now: float) -> list[Action | bytes]:
        """Whatever is due; harmless at any time."""
        if self.schedule is not None:
            self.ring.follow(self.schedule, now)
        if self.refused is not None:
            return []
        if not self._connected:
            if self.ring.is_behind and self._call_at is not None:
                self._call_at = min(self._call_at, max(now, self._again_from))
            if self._call_at is None or now < self._call_at:
                return []
            self._call_at = None
            self._again_from = now + LEAST_AGAIN_S
            return [Action.CALL]
        if self._answer_by is not None:
            return [Action.HANG_UP, *self.lost(now)] if now >= self._answer_by else []
        asks = self._ask_at is not None and now >= self._ask_at
        if asks or (self.ring.is_behind and now >= self._again_from):
            self._again_from = now + LEAST_AGAIN_S
            self._answer_by = now + ANSWER_S
            return [AGAIN]
        return []

    def wake_at(self, now: float) -> float | None:
        """When `handle_timer` is due, as far as is known now; a packet of an unknown epoch may come any time."""
        times = [self._call_at, self._answer_by, self._ask_at]
        if self.schedule is not None:
            times.append(self.schedule.next_at(now))
        return min((at for at in times if at is not None), default=None)

"""Who belongs to a group, and which keys they are told: a registrar's rules, without I/O, clock or randomness.

Epochs roll on a schedule, when somebody asks for it, and when a member is expelled. An expelled member may have been
told of the epoch that is coming; so another roll follows as soon as that one is over.
"""

import math
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from canopy_engine import verify_signature

from hosts.security.messages import Challenge, Hello, Refusal
from hosts.security.schedule import LEAD_S, OVERLAP_S, Schedule
from hosts.security.ticket import is_token

MOST_MEMBERS: Final = 16_384
"""Of a group: as many senders as an endpoint remembers (engine/crates/seal)."""


class Member(NamedTuple):
    """One that was enrolled."""

    kept: bytes
    """Of its token (ticket.py); or the public key of one that has its own."""
    expelled: bool = False
    is_own: bool = False


class Members(NamedTuple):
    """What a file says of them."""

    members: Mapping[str, Member]
    turns: int = 0
    """Rolls that were asked for so far, each expulsion among them."""


class Registrar:
    """One group's."""

    def __init__(
        self,
        members: Members,
        schedule: Schedule,
        turns: int,
        every_s: float,
        draw: Callable[[], bytes],
        fingerprint: bytes = b"",
    ) -> None:
        """`turns`: as many as the newest epoch was made after; `every_s`: how long an epoch seals, at least a roll's
        time; `draw`: a new secret; `fingerprint`: by which members know it."""
        self._fingerprint = fingerprint
        self.members = members
        self.schedule = schedule
        self.turns = turns
        self._every_s = max(every_s, LEAD_S + OVERLAP_S)
        self._draw = draw

    def admit(self, hello: Hello, challenge: Challenge) -> Refusal | None:
        """Whether this is a member, and if not, why. `challenge`: of its connection."""
        member = self.members.members.get(hello.name)
        if member is None or not self._is_shown(hello, member, challenge):
            return Refusal("this registrar knows no such member")  # whether the name is right is nobody's business
        return Refusal("this member was expelled") if member.expelled else None

    def _is_shown(self, hello: Hello, member: Member, challenge: Challenge) -> bool:
        if member.is_own or hello.is_signed:
            message = challenge.message(hello.name, self._fingerprint)
            both = member.is_own and hello.is_signed
            return both and verify_signature(member.kept, message, hello.token)
        return is_token(hello.token, member.kept)

    def handle_timer(self, now: float) -> bool:
        """Roll if it is time. Whether members have to be told something; it has to be kept before that."""
        if now < self.wake_at(now):
            return False
        self.turns = self.members.turns
        self.schedule = self.schedule.rolled(self._draw(), now)
        return True

    def wake_at(self, now: float) -> float:
        """When it rolls next, as far as is known now."""
        over = max((epoch.closes_at for epoch in self.schedule.epochs[:-1]), default=-math.inf)
        free = max(over, self.schedule.newest.seals_at)
        due = now if self.turns < self.members.turns else self.schedule.newest.seals_at + self._every_s
        return max(free, due)

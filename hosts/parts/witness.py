"""Whether what switches say of members agrees with what these say themselves (docs/security.md).

Feedback that was merged is vouched for by the last switch alone. Each member says now and then the same, end to end, to
who hears them: MTCP's children to their parent, RLA's receivers to the sender. A switch that says more than that of
somebody, or less than all have, for longer than packets can overtake each other, is passed by from then on: nobody may
merge their feedback any more. Until a member has said itself that it has a packet, that is kept, whatever switches say.
All this is ours.
"""

from collections.abc import Iterable, Sequence
from math import inf
from typing import Final, NamedTuple

from hosts.endpoint import Address

SETTLED_S: Final = 0.5
"""What came so long ago is no longer overtaken by what came later."""
PERSISTENT_S: Final = 0.5
"""A contradiction for so long is no accident."""
FACTOR: Final = 4
"""Windows change; by more than this within `SETTLED_S`, twice running, they do not."""


class Said(NamedTuple):
    """Of one or several members: packets that they have, and windows, which are 0 where a protocol has none."""

    cumulative: int
    sack: int
    end: int | None
    """Place in the stream up to which they take data; None: it is not known."""
    min_cwnd: int = 0
    max_twnd: int = 0

    def has_more_than(self, other: "Said") -> bool:
        """Whether there is a packet that the other lacks."""
        behind = other.cumulative - self.cumulative
        if behind < 0:
            return True
        mine = self.sack >> behind - 1 if behind else self.sack << 1  # bit 0: the packet that the other lacks
        return bool(mine & 1 or mine >> 1 & ~other.sack)


class _Settling:
    """The newest that was said `SETTLED_S` ago or before."""

    __slots__ = ("_at", "_newer", "said")

    def __init__(self) -> None:
        self.said: Said | None = None
        self._newer: Said | None = None
        self._at = 0.0

    def settle(self, now: float) -> None:
        if self._newer is not None and now >= self._at + SETTLED_S:
            self.said, self._newer = self._newer, None

    def add(self, said: Said, now: float) -> None:
        self.settle(now)
        if self._newer is None:
            self._newer, self._at = said, now


class _Doubt:
    """A contradiction that may be one."""

    __slots__ = ("_since",)

    def __init__(self) -> None:
        self._since: float | None = None

    def lasts(self, contradicted: bool, now: float) -> bool:
        """Whether it does, for too long."""
        if not contradicted:
            self._since = None
            return False
        if self._since is None:
            self._since = now
        return now >= self._since + PERSISTENT_S


class _Record:
    """Of one member."""

    __slots__ = ("claims", "doubt", "heard_at", "kept", "samples")

    def __init__(self, first: int, now: float) -> None:
        self.kept = first  # it has all before this packet
        self.heard_at = now
        self.claims = _Settling()  # of switches
        self.samples = _Settling()  # its own
        self.doubt = _Doubt()


class Witness:
    """Of who hears the members. Times are seconds on its clock."""

    def __init__(self, unheard_s: float = inf) -> None:
        """Of whom switches go on to speak, and who has said nothing itself for `unheard_s`, is misquoted, too."""
        self._unheard_s = unheard_s
        self._records: dict[Address, _Record] = {}
        self._doubt = _Doubt()  # of summaries that say too little
        self._impossible = _Doubt()
        self.misquoted: list[Address] = []
        """Of whom a switch has said what they did not: it is between them and who hears them. Empty: none has."""
        self._owed: dict[Address, int] = {}  # to who is to join again, from which packet on
        self.kept: int | None = None
        """All whose feedback is, or was, merged have said themselves that they have what is before this packet; None:
        of nobody it is."""

    def joined(self, member: Address, first: int, now: float) -> None:
        """Its feedback may be merged; it gets what comes from packet `first` on."""
        self._records[member] = _Record(first, now)
        self._keep()

    def forget(self, member: Address) -> bool:
        """It has gone. Whether it is to join again, so that what it has not said itself to have is kept for it."""
        self._records.pop(member, None)
        self._keep()
        return member in self._owed

    def expect(self, members: Iterable[Address]) -> None:
        """They are to join again."""
        self._owed |= {member: self._records[member].kept for member in members}

    def returned(self, member: Address) -> None:
        """Somebody has joined, or is no longer expected to."""
        if self._owed.pop(member, None) is not None:
            self._keep()

    def has_itself(self, member: Address) -> int | None:
        """It has said itself that it has all before this packet; None: its feedback was never merged."""
        record = self._records.get(member)
        return None if record is None else record.kept

    def _keep(self) -> None:
        kept = (record.kept for record in self._records.values())
        self.kept = min((*kept, *self._owed.values()), default=None)

    def sampled(self, member: Address, said: Said, now: float) -> bool:
        """A member has said something itself. Whether a switch is found to have lied of it."""
        record = self._records[member]
        record.heard_at = now
        if said.cumulative > record.kept:
            record.kept = said.cumulative
            self._keep()
        record.samples.add(said, now)
        record.claims.settle(now)
        claim = record.claims.said
        found = record.doubt.lasts(claim is not None and _says_more(claim, said), now)
        if found:
            self.misquoted.append(member)
        return found

    def impossible(self, members: Sequence[Address], now: float) -> bool:
        """A switch has said that they have what was never sent, as no honest one does. Whether it is found to lie."""
        found = self._impossible.lasts(True, now)
        if found:
            self.misquoted += members
        return found

    def claimed(self, members: Sequence[Address], said: Said, now: float) -> bool:
        """A switch has said something of them. Whether it is found to say less than they do, or keeps back what they
        say."""
        records = [self._records[member] for member in members if member in self._records]
        samples = []
        for record in records:
            record.claims.add(said, now)
            record.samples.settle(now)
            if record.samples.said is not None:
                samples.append(record.samples.said)
        contradicted = bool(samples) and len(samples) == len(records) and _says_less(said, samples)
        is_kept_back = any(now > record.heard_at + self._unheard_s for record in records)
        found = self._doubt.lasts(contradicted, now) or is_kept_back
        if found:
            self.misquoted += members
        return found


def _says_more(claim: Said, sample: Said) -> bool:
    """Than the member that it is of says later."""
    is_beyond = claim.end is not None and sample.end is not None and claim.end > sample.end
    return claim.has_more_than(sample) or is_beyond or claim.min_cwnd > FACTOR * sample.min_cwnd


def _says_less(claim: Said, samples: Sequence[Said]) -> bool:
    """Than all that it is of have said before."""
    if claim.cumulative < min(sample.cumulative for sample in samples):
        return True
    if FACTOR * claim.min_cwnd < min(sample.min_cwnd for sample in samples):
        return True
    return claim.max_twnd > 0 and not any(sample.max_twnd for sample in samples)

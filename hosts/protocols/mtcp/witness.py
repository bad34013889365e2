"""Whether what switches say of a parent's children agrees with what these say themselves (docs/security.md).

Feedback that was merged is vouched for by the last switch alone. Each child says now and then the same to its parent,
end to end. A switch that says more than that of somebody, or less than all have, for longer than packets can overtake
each other, is passed by from then on: the children join again, and nobody may merge their feedback any more. Until a
child has said itself that it has a packet, the parent keeps that, whatever switches say. All this is ours.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from hosts.endpoint import Address
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.packets import Feedback
from hosts.protocols.mtcp.store import PacketStore

SETTLED_S: Final = 0.5
"""What came so long ago is no longer overtaken by what came later."""
PERSISTENT_S: Final = 0.5
"""A contradiction for so long is no accident."""
FACTOR: Final = 4
"""Windows change; by more than this within `SETTLED_S`, twice running, they do not."""


class Said(NamedTuple):
    """Of one or several children: packets that they have, and windows."""

    cumulative: int
    sack: int
    end: int | None
    """Place in the stream up to which they take data; None: it is not known."""
    min_cwnd: int
    max_twnd: int

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
    """Of one child."""

    __slots__ = ("claims", "doubt", "kept", "samples")

    def __init__(self, first: int) -> None:
        self.kept = first  # it has all before this packet
        self.claims = _Settling()  # of switches
        self.samples = _Settling()  # its own
        self.doubt = _Doubt()


class Witness:
    """One parent's. Times are seconds on its clock."""

    def __init__(self, store: PacketStore) -> None:
        """`store` has the packets that they speak of."""
        self._store = store
        self._records: dict[Address, _Record] = {}
        self._doubt = _Doubt()  # of summaries that say too little
        self.misquoted: list[Address] = []
        """Of whom a switch has said what they did not: it is between them and the parent. Empty: none has."""
        self._owed: dict[Address, int] = {}  # to who is to join again, from which packet on
        self.kept: int | None = None
        """All whose feedback is, or was, merged have said themselves that they have what is before this packet; None:
        of nobody it is."""

    def joined(self, child: Child) -> None:
        """Its feedback may be merged."""
        self._records[child.address] = _Record(child.first)
        self._keep()

    def forget(self, child: Child) -> None:
        """It has gone."""
        self._records.pop(child.address, None)
        self._keep()

    def expect(self, children: Sequence[Child]) -> None:
        """They are to join again."""
        self._owed |= {child.address: self._records[child.address].kept for child in children}

    def returned(self, address: Address) -> None:
        """Somebody has joined, or is no longer expected to."""
        if self._owed.pop(address, None) is not None:
            self._keep()

    def _keep(self) -> None:
        kept = (record.kept for record in self._records.values())
        self.kept = min((*kept, *self._owed.values()), default=None)

    def _said(self, cumulative: int, feedback: Feedback) -> Said:
        offset, _ = self._store.offsets(cumulative, feedback.sack)
        end = None if offset is None else offset + feedback.window
        return Said(cumulative, feedback.sack, end, feedback.min_cwnd, feedback.max_twnd)

    def sampled(self, child: Child, cumulative: int, feedback: Feedback, now: float) -> bool:
        """A child has said something itself. Whether a switch is found to have lied of it."""
        said = self._said(cumulative, feedback)
        record = self._records[child.address]
        record.kept = max(record.kept, said.cumulative)
        self._keep()
        record.samples.add(said, now)
        record.claims.settle(now)
        claim = record.claims.said
        found = record.doubt.lasts(claim is not None and _says_more(claim, said), now)
        if found:
            self.misquoted.append(child.address)
        return found

    def claimed(self, members: Sequence[Child], cumulative: int, feedback: Feedback, now: float) -> bool:
        """A switch has said something of them. Whether it is found to say less than they do."""
        said = self._said(cumulative, feedback)
        records = [self._records[member.address] for member in members if member.address in self._records]
        samples = []
        for record in records:
            record.claims.add(said, now)
            record.samples.settle(now)
            if record.samples.said is not None:
                samples.append(record.samples.said)
        contradicted = bool(samples) and len(samples) == len(records) and _says_less(said, samples)
        found = self._doubt.lasts(contradicted, now)
        if found:
            self.misquoted += [member.address for member in members]
        return found


def _says_more(claim: Said, sample: Said) -> bool:
    """Than the child that it is of says later."""
    is_beyond = claim.end is not None and sample.end is not None and claim.end > sample.end
    return claim.has_more_than(sample) or is_beyond or claim.min_cwnd > FACTOR * sample.min_cwnd


def _says_less(claim: Said, samples: Sequence[Said]) -> bool:
    """Than all that it is of have said before."""
    if claim.cumulative < min(sample.cumulative for sample in samples):
        return True
    if FACTOR * claim.min_cwnd < min(sample.min_cwnd for sample in samples):
        return True
    return claim.max_twnd > 0 and not any(sample.max_twnd for sample in samples)

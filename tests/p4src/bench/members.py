"""Receivers whose acknowledgments a switch merges, on the ports of a `Bench`."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from hosts.wire.seq import MASK
from tests.p4src.models.bitmaps import bitmap

SWITCH_PORTS = frozenset({6, 7})


@dataclass
class Member:
    """One, or a merging switch below with several; what it has is a set."""

    number: int
    port: int
    start: int
    others: frozenset[int] = frozenset()  # of a switch: whom it speaks for beside `number`
    has: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._lacks = self.start

    @property
    def cumulative(self) -> int:
        """The first packet that it lacks."""
        while self._lacks in self.has:
            self._lacks += 1
        return self._lacks

    @property
    def children(self) -> int:
        """A bitmap of whom it speaks for."""
        return bitmap(self.others | {self.number})

    def sack(self, bits: int) -> int:
        """A bitmap of what it has behind the first that it lacks."""
        first = self.cumulative + 1
        return bitmap(seq - first for seq in self.has.intersection(range(first, first + bits)))


Kind = TypeVar("Kind", bound=Member)


def make_members(kind: type[Kind], start: int) -> list[Kind]:
    """On ports of their own, two on one port, one each behind two switches."""
    alone = [kind(number, port, start) for number, port in ((0, 2), (1, 3), (2, 4), (127, 5), (4, 5))]
    return [*alone, kind(8, 6, start, frozenset({9, 10})), kind(20, 7, start, frozenset({21}))]


def lies(
    chooser: random.Random, after: int, *, sack_bits: int, child_bits: int, **more: object
) -> Mapping[str, object]:
    """A field or a few, by chance, of what nobody honest would send; `after` is the next packet's number."""
    told: dict[str, object] = {
        "cumulative": chooser.choice((chooser.randrange(1 << 32), (after + chooser.randrange(5)) & MASK)),
        "sack": chooser.getrandbits(sack_bits),
        "number": chooser.choice((0, 4, 128, 65_535)),
        "children": chooser.choice((0, 1, 0xFF, chooser.getrandbits(child_bits))),
        "merged": True,
        "merge": False,
        "session": 8,
        **more,
    }
    return {name: told[name] for name in chooser.sample(sorted(told), chooser.choice((1, 1, 2)))}

"""Multicast groups of a switch with more ports than groups for every bitmap: made as sets of members come up.

A group's ports never change while it exists: a slot whose members change is pointed to another group, and a group
that no slot points to is deleted afterwards. So no table entry ever names a group with other ports than it says, and
slots with the same members share one group.
"""

from __future__ import annotations

from collections.abc import Iterable

MAX_GROUPS = 2000  # of BMv2's 4,096 by default; a slot without one is flooded and filtered: right, only dearer

Ports = frozenset[int]


class BitmapGroups:
    """Numbers for the sets of ports that one switch needs groups for, from `first` on."""

    def __init__(self, first: int, size: int = MAX_GROUPS) -> None:
        self._first = first
        self._size = size
        self._numbers: dict[Ports, int] = {}

    def adopt(self, number: int, ports: Ports) -> None:
        """Take over a group that the switch has. A second one with the same ports is left to be deleted."""
        if number - self._first in range(self._size) and number not in self._numbers.values():
            self._numbers.setdefault(ports, number)

    def assign(self, wanted: Iterable[Ports]) -> dict[Ports, int]:
        """The number of each set of ports; sets beyond the size have none. Numbers of sets that are no longer wanted
        are free from now on, those of the others stay."""
        sets = sorted(set(wanted), key=sorted)
        kept = {ports: self._numbers[ports] for ports in sets if ports in self._numbers}
        used = set(kept.values()) | set(self._numbers.values())  # not reused at once: deletes are written last
        free = (number for number in range(self._first, self._first + self._size) if number not in used)
        for ports in sets:
            if ports not in kept:
                number = next(free, None)
                if number is None:
                    break
                kept[ports] = number
        self._numbers = kept
        return dict(kept)

"""Rates of a session that has several: a rung is for receivers whose wanted rate lies between two bounds (ours).

Each rung is a session of its own to a group of its own: destination set grouping (Cheung, Ammar and Li 1996). Rung 0
has the session's own group and no lower bound, the last one no upper bound.
"""

from typing import Final

from hosts.endpoint import Address
from hosts.parts.groups import channel_group
from hosts.protocols.arbor.options import ArborOptions
from hosts.wire.header import SESSION_MAX

ABOVE: Final = 1.05
"""A rung's rate goes so far beyond its upper bound, so that who wants more is seen to (ours)."""


class Ladder:
    """See the module. Rates in bit/s of IP packets."""

    def __init__(self, options: ArborOptions) -> None:
        self.rungs = options.rungs
        self._least_bps = options.least_rung_bps
        self._step = options.rung_step

    def bound(self, rung: int) -> float:
        """What a receiver wants at least."""
        return self._least_bps * self._step**rung if rung else 0.0

    def limit(self, rung: int, most: float) -> float:
        """What a rung's sender sends at most, where a session sends `most`; 0: no limit."""
        if rung == self.rungs - 1:
            return most
        above = ABOVE * self.bound(rung + 1)
        return min(above, most) if most else above

    def rung(self, wanted: float) -> int:
        """Of who wants so much."""
        return next((rung for rung in range(self.rungs - 1, 0, -1) if wanted >= self.bound(rung)), 0)


def rung_group(group: Address, rung: int) -> Address:
    """Where a rung's packets go. ValueError beyond the multicast addresses."""
    return group if rung == 0 else channel_group(group, rung - 1, -1)


def rung_number(number: int, rung: int) -> int:
    """Of a rung's session, where that of the first one is `number`."""
    return (number - 1 + rung) % SESSION_MAX + 1

"""Which channel sends when: the fluid model in whole packets, at a constant total rate.

A time slot has as many ticks as packets, and each tick sends one. Packet n of a channel (from 0) may go once the fluid
has reached n, and must have gone by the tick in which it reaches n + 1; the earliest deadline goes first. As the fluids
fill the ticks exactly there is such an order (a perfect matching of packets and ticks, of which the fluids are a
fractional one), and so every channel stays within one packet of its fluid. Slots differ in their channels only: the
order is computed once, on a ring of one slot's ticks.
"""

import heapq
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from hosts.protocols.webrc.waves import Waves

BASE: Final = -1
"""In place of a wave's age: the base channel."""
_MAX_ROUNDS: Final = 8
"""Times around the ring after which the order repeats itself at the latest; 2 in practice."""
_ROUNDING: Final = 1e-9
"""Packets: what volumes that should be whole numbers are off by, relative to their size, with much to spare."""


class SlotOrder(NamedTuple):
    """What each tick of every slot sends. Arrays: a fast session's slot has a million ticks."""

    ages: "array[int]"
    """Of the wave, in the slot in which the packet goes; or BASE."""
    numbers: "array[int]"
    """The packet's, from the wave's (on the base channel: the slot's) first."""


class Packet(NamedTuple):
    """One packet of the session."""

    at: float
    """Seconds from the session's first slot."""
    channel: int
    """CN."""
    slot_index: int
    """TSI (the RFC's CTSI)."""
    psn: int


@lru_cache(maxsize=16)
def slot_order(waves: Waves) -> SlotOrder:
    """What every slot's ticks send, in order."""
    ticks, waved = waves.slot_packets, waves.wave_packets
    releases, deadlines = _windows(waves)
    released: list[list[int]] = [[] for _ in range(ticks)]
    for job, release in enumerate(releases):
        released[release % ticks].append(job)
    queue: list[
        tuple[int, int, int]
    ] = []  # deadline, job, tick of its release; ticks are counted from this turn's first
    waiting: list[tuple[int, int, int]] | None = None
    for _ in range(_MAX_ROUNDS):
        ages, numbers = array("i"), array("I")
        for tick, jobs_released in enumerate(released):
            for job in jobs_released:
                heapq.heappush(queue, (tick + deadlines[job] - releases[job], job, tick))
            if queue:
                _, job, released_at = heapq.heappop(queue)
                ages.append((releases[job] + tick - released_at) // ticks if job < waved else BASE)
                numbers.append(job if job < waved else job - waved)
        queue = sorted((deadline - ticks, job, released_at - ticks) for deadline, job, released_at in queue)
        if queue == waiting:  # as it began, so that the next turn is the same
            return SlotOrder(ages, numbers)
        waiting = list(queue)
    raise AssertionError("the order does not repeat itself")


def _windows(waves: Waves) -> tuple["array[int]", "array[int]"]:
    """First and last tick of each packet of one wave, from the wave's first slot on, and then of a slot's base channel.
    Tick i ends at (i + 1) / ticks slots."""
    ticks = waves.slot_packets
    ends = [tick / ticks for tick in range(1, ticks + 1)]
    base = array("d", (waves.base_volume(end) for end in ends))
    releases, deadlines = array("i"), array("i")
    for slots, packets in ((list(waves.wave_volumes(ends)), waves.wave_packets), ([(base, 1.0)], waves.base_packets)):
        whole = packets / sum(fluid[-1] * scale for fluid, scale in slots)  # it is whole but for rounding
        slack = _ROUNDING * packets
        releases.extend(_ticks(slots, [(number + slack) / whole for number in range(packets)], bisect_right))
        deadlines.extend(_ticks(slots, [(number + 1 - slack) / whole for number in range(packets)], bisect_left))
    return releases, deadlines


def _ticks(
    slots: Sequence[tuple["array[float]", float]], volumes: Sequence[float], place: Callable[..., int]
) -> Iterator[int]:
    """The ticks, from the first slot on, in which a channel's fluid reaches these volumes, which grow; `slots`: what it
    is at the end of each of their ticks, from each one's beginning, and what to multiply that with."""
    slot = at = 0
    before = 0.0
    fluid, scale = slots[0]
    for volume in volumes:
        while volume - before > fluid[-1] * scale and slot + 1 < len(slots):
            before += fluid[-1] * scale
            slot, at = slot + 1, 0
            fluid, scale = slots[slot]
        at = place(fluid, (volume - before) / scale, at)
        yield slot * len(fluid) + at


class Schedule:
    """A session's packets, numbered from 0, one a tick."""

    def __init__(self, waves: Waves) -> None:
        self.waves = waves
        self._ages, self._numbers = slot_order(waves)
        self._gap = waves.slot_s / waves.slot_packets
        self._first_psn = waves.psns - waves.wave_packets

    def packet(self, number: int) -> Packet:
        """The packet with this number."""
        (place,) = self.places(number, 1)
        return Packet((number + 1) * self._gap, *place)

    def places(self, first: int, count: int) -> list[tuple[int, int, int]]:
        """Channel, slot index and number in the channel of packets that follow each other."""
        waves, ages, numbers = self.waves, self._ages, self._numbers
        ticks, channels, youngest = waves.slot_packets, waves.t, waves.n - 1
        found = []
        for number in range(first, first + count):
            slot, tick = divmod(number, ticks)
            age, index = ages[tick], numbers[tick]
            if age == BASE:
                found.append((channels, slot % channels, (slot * waves.base_packets + index) % waves.base_psns))
            else:
                found.append(((slot + youngest - age) % channels, slot % channels, self._first_psn + index))
        return found

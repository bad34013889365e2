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
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from hosts.protocols.webrc.waves import Waves

BASE: Final = -1
"""In place of a wave's age: the base channel."""
_MAX_ROUNDS: Final = 8
"""Times around the ring after which the order repeats itself at the latest; 2 in practice."""
_ROUNDING: Final = 1e-9
"""Packets: what volumes that should be whole numbers are off by, relative to their size, with much to spare."""


class Tick(NamedTuple):
    """What one tick of every slot sends."""

    age: int
    """Of the wave, in the slot in which the packet goes; or BASE."""
    number: int
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
def slot_order(waves: Waves) -> tuple[Tick, ...]:
    """What every slot's ticks send, in order."""
    ticks = waves.slot_packets
    jobs = _windows(waves)
    released: list[list[int]] = [[] for _ in range(ticks)]
    for job, (release, _, _) in enumerate(jobs):
        released[release % ticks].append(job)
    queue: list[
        tuple[int, int, int]
    ] = []  # deadline, job, tick of its release; ticks are counted from this turn's first
    waiting: list[tuple[int, int, int]] | None = None
    for _ in range(_MAX_ROUNDS):
        order: list[tuple[int, int]] = []  # job, and ticks from its wave's first slot
        for tick, jobs_released in enumerate(released):
            for job in jobs_released:
                release, deadline, _ = jobs[job]
                heapq.heappush(queue, (tick + deadline - release, job, tick))
            if queue:
                _, job, released_at = heapq.heappop(queue)
                order.append((job, jobs[job][0] + tick - released_at))
        queue = sorted((deadline - ticks, job, released_at - ticks) for deadline, job, released_at in queue)
        if queue == waiting:  # as it began, so that the next turn is the same
            return tuple(_tick(jobs[job][2], since // ticks) for job, since in order)
        waiting = list(queue)
    raise AssertionError("the order does not repeat itself")


def _tick(first: Tick, age: int) -> Tick:
    return first if first.age == BASE else Tick(age, first.number)


def _windows(waves: Waves) -> list[tuple[int, int, Tick]]:
    """(First tick, last tick, what) of each packet of one wave, from the wave's first slot, and of a slot's base
    channel. Tick i ends at (i + 1) / ticks slots."""
    ends = [tick / waves.slot_packets for tick in range(1, waves.slot_packets + 1)]
    reached = array("d")
    for volumes in waves.wave_volumes(ends):
        before = reached[-1] if reached else 0.0
        reached.extend([before + volume for volume in volumes])
    jobs = [(*window, Tick(0, n)) for n, window in enumerate(_packet_windows(reached, waves.wave_packets))]
    base = array("d", (waves.base_volume(end) for end in ends))
    return jobs + [(*window, Tick(BASE, n)) for n, window in enumerate(_packet_windows(base, waves.base_packets))]


def _packet_windows(reached: "array[float]", packets: int) -> Iterator[tuple[int, int]]:
    """`reached`: the fluid at the end of each tick."""
    whole = packets / reached[-1]
    fluid = array("d", (volume * whole for volume in reached))  # whole but for rounding
    slack = _ROUNDING * packets
    for number in range(packets):
        yield bisect_right(fluid, number + slack), bisect_left(fluid, number + 1 - slack)


class Schedule:
    """A session's packets, numbered from 0, one a tick."""

    def __init__(self, waves: Waves) -> None:
        self.waves = waves
        self._order = slot_order(waves)
        self._gap = waves.slot_s / waves.slot_packets
        self._first_psn = waves.psns - waves.wave_packets

    def packet(self, number: int) -> Packet:
        """The packet with this number."""
        waves = self.waves
        slot, tick = divmod(number, waves.slot_packets)
        age, index = self._order[tick]
        at = (number + 1) * self._gap
        if age == BASE:
            psn = (slot * waves.base_packets + index) % waves.base_psns
            return Packet(at, waves.t, slot % waves.t, psn)
        return Packet(at, (slot + waves.n - 1 - age) % waves.t, slot % waves.t, self._first_psn + index)

"""Which channel sends when: the fluid model in whole packets, at a constant total rate.

A time slot has as many ticks as packets, and each tick sends one. Packet n of a channel (from 0) may go once the fluid
has reached n, and must have gone by the tick in which it reaches n + 1; the earliest deadline goes first. As the fluids
fill the ticks exactly there is such an order (a perfect matching of packets and ticks, of which the fluids are a
fractional one), and so every channel stays within one packet of its fluid. Slots differ in their channels only: the
order is computed once, on a ring of one slot's ticks (engine/crates/waves/src/slots.rs).
"""

from functools import lru_cache
from typing import Final, NamedTuple

from canopy_engine import SlotOrder

from hosts.protocols.webrc.waves import Waves

_ROUNDING: Final = 1e-9
"""Packets: what volumes that should be whole numbers are off by, relative to their size, with much to spare."""


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
    base, volumes = waves.slot_volumes()
    packed = {id(fluid): fluid.tobytes() for fluid in (base, *(fluid for fluid, _ in volumes))}
    channels = []
    for slots, packets in ((volumes, waves.wave_packets), ([(base, 1.0)], waves.base_packets)):
        whole = packets / sum(fluid[-1] * scale for fluid, scale in slots)  # it is whole but for rounding
        fluids = [(packed[id(fluid)], scale) for fluid, scale in slots]
        channels.append((fluids, packets, _ROUNDING * packets, whole))
    return SlotOrder(waves.slot_packets, channels)


class Schedule:
    """A session's packets, numbered from 0, one a tick."""

    def __init__(self, waves: Waves) -> None:
        self.waves = waves
        self._places = slot_order(waves).places
        self._gap = waves.slot_s / waves.slot_packets
        base = waves.base_packets, waves.base_psns
        self._numbering = waves.t, waves.n - 1, base, waves.psns - waves.wave_packets

    def packet(self, number: int) -> Packet:
        """The packet with this number."""
        (place,) = self.places(number, 1)
        return Packet((number + 1) * self._gap, *place)

    def places(self, first: int, count: int) -> list[tuple[int, int, int]]:
        """Channel, slot index and number in the channel of packets that follow each other."""
        return self._places(first, count, *self._numbering)

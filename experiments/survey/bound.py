"""How long a cell runs, and with how many receivers: as much as a machine can afford of every network."""

from dataclasses import dataclass
from typing import Final

PACKET_BITS: Final = 8 * 1514
"""Of a full Ethernet frame."""
MOST_DELIVERIES: Final = 500_000
"""Packets that a cell's receivers get, if the session has the bottleneck for itself and fills it. So 200 cells of the
protocol that takes longest for a packet are through within half an hour of two processors (docs/survey.md)."""
WANTED_RTTS: Final = 300
WANTED_S: Final = 60.0
"""A cell goes on for the longer of the two where it may."""
LEAST_RTTS: Final = 100
LEAST_S: Final = 20.0
"""No cell is shorter than the longer of the two."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a network is run."""

    receivers: int
    duration_s: float
    is_beyond: bool
    """It has more than `MOST_DELIVERIES` though there is one receiver and the time is the least one."""


def bounded(receivers: int, rate_bps: float, rtt_s: float) -> Extent:
    """Fewer receivers first, then less time, until there are no more than `MOST_DELIVERIES`.

    `rate_bps` is the bottleneck's mean rate in the run, `rtt_s` the longest round trip."""
    duration = max(WANTED_S, WANTED_RTTS * rtt_s)
    least = max(LEAST_S, LEAST_RTTS * rtt_s)
    affordable = MOST_DELIVERIES * PACKET_BITS / rate_bps  # seconds, with one receiver
    if affordable >= duration:
        return Extent(min(receivers, int(affordable / duration)), duration, False)
    return Extent(1, max(affordable, least), affordable < least)

"""Data that overtook the answer to a receiver's join, kept until that comes.

The last one to join starts the session, and its two sockets may be read in either order.
"""

from hosts.protocols.mtcp.packets import Data, Repair

MOST = 16
"""Packets: a few initial windows (ours)."""


class Premature:
    """See the module. Times are seconds on the receiver's clock."""

    __slots__ = ("_packets",)

    def __init__(self) -> None:
        self._packets: list[tuple[Data, float]] = []

    def keep(self, packet: Data | Repair, arrived_at: float) -> bool:
        """A packet of a session that one is not a member of yet; False when it is not kept."""
        if type(packet) is not Data or len(self._packets) >= MOST:
            return False
        self._packets.append((packet, arrived_at))
        return True

    def take(self) -> list[tuple[Data, float]]:
        """One is a member now: what has come, and when."""
        packets, self._packets = self._packets, []
        return packets

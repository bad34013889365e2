"""The user's bound on a sender's rate, of IP packets."""

from math import inf
from typing import Final

from hosts.parts.realtime import LATE_S
from hosts.wire.header import IPV4_UDP_BYTES

_BITS: Final = 8


class RateLimit:
    """Times are in seconds on the sender's clock."""

    __slots__ = ("_bps", "until")

    def __init__(self, bps: float) -> None:
        """`bps`: bit/s; 0: none."""
        self._bps = bps
        self.until = -inf
        """No packet is to leave before."""

    def sent(self, udp_bytes: int, now: float) -> None:
        """A datagram with so many bytes of payload has left."""
        if self._bps > 0:
            size = udp_bytes + IPV4_UDP_BYTES
            self.until = max(self.until, now - LATE_S) + size * _BITS / self._bps

"""Feedback from one hop to the next, for switches that merge it: a counter, and a short tag under the key of the port
that a host has in common with its switch. The controller gives it to both (docs/security.md)."""

from collections.abc import Callable
from typing import Final, NamedTuple

from canopy_engine import hop_tag

from hosts.endpoint import Address
from hosts.wire.sealed import HOP, HOP_COUNTER_BITS, Hop

HOP_BYTES: Final = HOP.size
COUNTS: Final = 2**24
"""A second: with the 32 bits that seconds since 1970 have until 2106 they fill a counter."""
_MESSAGE_BYTES: Final = (76, 140, 172)
"""What the program tags: 2, 4 or 5 parts of eight words, and three words (p4src/hops/halfsiphash.p4)."""
_NOBODY: Final = HOP.pack(Hop(0, 0))


class HopKeys(NamedTuple):
    """Of a host's port, 64 bits each."""

    outward: int
    """Of what the host sends."""
    inward: int
    """Of what the switch does."""
    later_s: float = 0.0
    """By how much counters are later than the clock, which has been set back since the port was used last."""
    used: Callable[[float], None] | None = None
    """Told once a second at most how far counters are, seconds since 1970, for a later program on this port."""


class Hops:
    """One endpoint's half of its hop: feedback that leaves it, and that arrives."""

    def __init__(self, keys: HopKeys | None, wall: Callable[[], float]) -> None:
        """None: no switch near it has keys; then nothing that was merged is taken. `wall`: the time since 1970,
        seconds."""
        self._keys = keys
        self._wall = wall
        self._sent = 0
        self._heard = 0
        self._noted = 0

    def sign(self, packet: bytes, source: Address, destination: Address) -> bytes:
        """What follows a packet on the wire. Counters are times, so that they rise over all endpoints of a host, and
        when it starts again."""
        if self._keys is None:
            return _NOBODY
        time_s = self._wall() + self._keys.later_s
        self._sent = max(self._sent + 1, int(time_s * COUNTS) % 2**HOP_COUNTER_BITS)
        if self._keys.used is not None and self._sent >= self._noted + COUNTS:
            self._noted = self._sent
            self._keys.used(self._sent / COUNTS)
        message = message_of(self._sent, packet, source, destination)
        return HOP.pack(Hop(self._sent, hop_tag(self._keys.outward, message)))

    def is_right(self, packet: bytes, hop: bytes, source: Address, destination: Address) -> bool:
        """Whether the switch has vouched for a packet, which has not come before."""
        counter, tag = HOP.made_of(HOP.struct.unpack(hop))
        if self._keys is None or counter <= self._heard:
            return False
        if hop_tag(self._keys.inward, message_of(counter, packet, source, destination)) != tag:
            return False
        self._heard = counter
        return True


def message_of(counter: int, packet: bytes, source: Address, destination: Address) -> bytes:
    """What is tagged, in words of 32 bits, the counter in two: zeros follow where there are fewer."""
    ends = b"".join(map(_host, (source, destination)))
    ports = source.port.to_bytes(2, "big") + destination.port.to_bytes(2, "big")
    message = counter.to_bytes(8, "big") + ends + ports + packet
    return message.ljust(next(size for size in _MESSAGE_BYTES if size >= len(message)), b"\0")


def _host(address: Address) -> bytes:
    return bytes(map(int, address.host.split(".")))

"""The common header that every Canopy datagram starts with, in network order; and what IPv4's says of a datagram.

`type` and `flags` belong to the protocol; unused flags are sent as 0 and ignored. A P4 parser and a dissector read all
that follows by protocol and type alone, without state.
"""

from typing import Final

from hosts.wire.fields import Number
from hosts.wire.layout import Layout

VERSION: Final = 1
COMMON: Final = Layout[object](
    "header",
    None,
    Number("version", 8, "of this header", least=VERSION, most=VERSION),
    Number("protocol", 8, "what the rest belongs to"),
    Number("type", 8, "which of the protocol's packets"),
    Number("flags", 8, "each type's own; those without a meaning are sent as 0 and ignored"),
    Number("session", 32, "number of the session"),
)
HEADER: Final = COMMON.struct
HEADER_BYTES: Final = HEADER.size
SESSION_MAX: Final = 2**32 - 1

UNICAST_TTL: Final = 64
"""IPv4's time to live of unicast datagrams when they are sent (RFC 1340), so that receivers can count the hops."""

NOT_ECT: Final = 0
"""The ECN field of what a queue tells of congestion by dropping it (RFC 3168, section 5)."""
ECT_1: Final = 1
"""Of a scalable congestion control (L4S, RFC 9331)."""
ECT_0: Final = 2
"""A queue may mark it instead of dropping it."""
CE: Final = 3
"""Congestion experienced: a queue has marked it."""

IPV4_UDP_BYTES: Final = 28
"""IPv4 header without options (RFC 791) and UDP header (RFC 768)."""
ETHERNET_MTU_BYTES: Final = 1500
MAX_DATAGRAM_BYTES: Final = ETHERNET_MTU_BYTES - IPV4_UDP_BYTES
"""What fits one Ethernet frame without fragmentation."""
SEALED_VERSION: Final = 2
"""The first octet of a sealed packet (docs/security.md)."""
HEADED_VERSION: Final = 5
"""Likewise of one whose head is open, for switches to read (hosts/wire/sealed.py)."""
SEAL_BYTES: Final = 36
"""What a sealed packet is longer by."""
MAX_SEALABLE_BYTES: Final = MAX_DATAGRAM_BYTES - SEAL_BYTES
"""Of packets that are as long as can be, whatever session they are of."""


class PacketError(ValueError):
    """A datagram is not a packet of this protocol. `reason` is the name of the counter that it is dropped under."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

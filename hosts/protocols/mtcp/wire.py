"""What all of MTCP's packet formats share: the numbers in the common header, and addresses."""

import enum
from typing import Final

from hosts.endpoint import Address
from hosts.wire.fields import Host, Number
from hosts.wire.layout import Layout

NUMBER: Final = 1
"""MTCP's protocol number in the common header."""
UNLIMITED: Final = 2**32 - 1
"""All ones: a leaf's min_cwnd, the neutral element of the minimum."""


class Type(enum.IntEnum):
    """Values of the common header's type."""

    DATA = 1
    REPAIR = 2
    ACK = 3
    NACK = 4
    PROBE = 5
    PROBE_ACK = 6
    ANNOUNCE = 7
    JOIN = 8
    JOIN_ACK = 9
    FIN = 10
    FIN_ACK = 11
    ABORT = 12
    QUERY = 13
    OFFER = 14
    MOVE = 15
    REPORT = 16
    REPORT_ACK = 17
    PROGRESS = 18


ADDRESS: Final = Layout("address", Address, Host("host", "IPv4 address"), Number("port", 16, "of UDP"))
MAX_ADDRESSES: Final = 128
"""In one packet: 768 bytes (ours)."""

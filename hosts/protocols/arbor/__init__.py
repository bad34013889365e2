"""Arbor (our own): each receiver keeps the window that a TCP on its path would have; the sender goes by the least."""

from hosts.protocol import Protocol
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.packets import NUMBER, PACKETS, Type
from hosts.protocols.arbor.receiver import ArborReceiver
from hosts.protocols.arbor.sender import ArborSender

PROTOCOL = Protocol(
    "arbor",
    NUMBER,
    PACKETS,
    ArborOptions,
    ArborSender,
    ArborReceiver,
    feedback_types=frozenset({Type.REPORT, Type.JOIN, Type.LEAVE}),
    carries_realtime=True,
    carries_files=False,
)

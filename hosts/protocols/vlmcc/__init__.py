"""VLMCC: Rodriguez-Perez, Fernandez-Veiga, Herreria-Alonso, Suarez-Gonzalez and Lopez-Garcia, "A Receiver Based
Single-Layer Multicast Congestion Control Protocol for Multimedia Streaming" (2004)."""

from hosts.protocol import Protocol
from hosts.protocols.vlmcc.options import VlmccOptions
from hosts.protocols.vlmcc.packets import NUMBER, OPEN_HEADS, PACKETS, Type
from hosts.protocols.vlmcc.receiver import VlmccReceiver
from hosts.protocols.vlmcc.sender import VlmccSender

PROTOCOL = Protocol(
    "vlmcc",
    NUMBER,
    PACKETS,
    VlmccOptions,
    VlmccSender,
    VlmccReceiver,
    feedback_types=frozenset({Type.ACK, Type.REPORT, Type.CHALLENGE, Type.START_REQUEST, Type.LEAVE}),
    carries_realtime=True,
    carries_files=False,
    open_heads=OPEN_HEADS,
)

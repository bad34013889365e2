"""MTCP: Rhee, Balaguru and Rouskas, "MTCP: scalable TCP-like congestion control for reliable multicast" (2002)."""

from hosts.protocol import Protocol
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import OPEN_HEADS, PACKETS
from hosts.protocols.mtcp.receiver import MtcpReceiver
from hosts.protocols.mtcp.sender import MtcpSender
from hosts.protocols.mtcp.wire import NUMBER, Type
from hosts.wire.offers import offers

PROTOCOL = Protocol(
    "mtcp",
    NUMBER,
    (*PACKETS, *offers(NUMBER).packets),
    MtcpOptions,
    MtcpSender,
    MtcpReceiver,
    feedback_types=frozenset({Type.ACK, Type.NACK, Type.PROGRESS}),
    open_heads=OPEN_HEADS,
    tree_types=frozenset({Type.DATA, Type.REPAIR}),
)

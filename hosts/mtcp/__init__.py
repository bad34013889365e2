"""MTCP: Rhee, Balaguru and Rouskas, "MTCP: scalable TCP-like congestion control for reliable multicast" (2002)."""

from hosts.mtcp.options import MtcpOptions
from hosts.mtcp.receiver import MtcpReceiver
from hosts.mtcp.sender import MtcpSender
from hosts.mtcp.wire import NUMBER, Type
from hosts.protocols import Protocol

PROTOCOL = Protocol(
    "mtcp", NUMBER, MtcpOptions, MtcpSender, MtcpReceiver, feedback_types=frozenset({Type.ACK, Type.NACK})
)

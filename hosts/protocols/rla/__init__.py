"""RLA: Wang and Schwartz, "Achieving Bounded Fairness for Multicast and TCP Traffic in the Internet" (SIGCOMM 1998)."""

from hosts.protocol import Protocol
from hosts.protocols.rla.options import RlaOptions
from hosts.protocols.rla.packets import NUMBER, OPEN_HEADS, PACKETS, Type
from hosts.protocols.rla.receiver import RlaReceiver
from hosts.protocols.rla.sender import RlaSender
from hosts.wire.offers import offers

PROTOCOL = Protocol(
    "rla",
    NUMBER,
    (*PACKETS, *offers(NUMBER).packets),
    RlaOptions,
    RlaSender,
    RlaReceiver,
    feedback_types=frozenset({Type.ACK}),
    open_heads=OPEN_HEADS,
    tree_types=frozenset({Type.DATA}),
)

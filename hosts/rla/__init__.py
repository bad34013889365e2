"""RLA: Wang and Schwartz, "Achieving Bounded Fairness for Multicast and TCP Traffic in the Internet" (SIGCOMM 1998)."""

from hosts.protocols import Protocol
from hosts.rla.options import RlaOptions
from hosts.rla.packets import NUMBER
from hosts.rla.receiver import RlaReceiver
from hosts.rla.sender import RlaSender

PROTOCOL = Protocol("rla", NUMBER, RlaOptions, RlaSender, RlaReceiver)

"""TFMCC: Widmer and Handley, "Extending equation-based congestion control to multicast applications" (2001)."""

from hosts.protocols import Protocol
from hosts.tfmcc.options import TfmccOptions
from hosts.tfmcc.packets import NUMBER
from hosts.tfmcc.receiver import TfmccReceiver
from hosts.tfmcc.sender import TfmccSender

PROTOCOL = Protocol("tfmcc", NUMBER, TfmccOptions, TfmccSender, TfmccReceiver, carries_realtime=True)

"""TFMCC: Widmer and Handley, "Extending equation-based congestion control to multicast applications" (2001)."""

import random

from hosts.endpoint import ReceiverEndpoint, SenderEndpoint
from hosts.protocols import Protocol, Session
from hosts.tfmcc.file_receiver import TfmccFileReceiver
from hosts.tfmcc.file_sender import TfmccFileSender
from hosts.tfmcc.options import TfmccOptions
from hosts.tfmcc.packets import NUMBER
from hosts.tfmcc.receiver import TfmccReceiver
from hosts.tfmcc.sender import TfmccSender


def make_sender(session: Session, options: TfmccOptions, rng: random.Random) -> SenderEndpoint:
    """Of real-time data, or of a file."""
    return (TfmccSender if session.realtime else TfmccFileSender)(session, options, rng)


def make_receiver(session: Session, options: TfmccOptions, rng: random.Random) -> ReceiverEndpoint:
    """Of real-time data, or of a file."""
    return (TfmccReceiver if session.realtime else TfmccFileReceiver)(session, options, rng)


PROTOCOL = Protocol("tfmcc", NUMBER, TfmccOptions, make_sender, make_receiver, carries_realtime=True)

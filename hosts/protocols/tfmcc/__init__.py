"""TFMCC: Widmer and Handley, "Extending equation-based congestion control to multicast applications" (2001)."""

import random

from hosts.endpoint import ReceiverEndpoint, SenderEndpoint
from hosts.parts.fec.pieces import PIECE
from hosts.protocol import Protocol, Session
from hosts.protocols.tfmcc.blocks import BLOCKS
from hosts.protocols.tfmcc.file_receiver import TfmccFileReceiver
from hosts.protocols.tfmcc.file_sender import TfmccFileSender
from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.packets import NUMBER, PACKETS, Type
from hosts.protocols.tfmcc.receiver import TfmccReceiver
from hosts.protocols.tfmcc.sealed import OPEN_HEADS
from hosts.protocols.tfmcc.sender import TfmccSender
from hosts.wire.offers import offers


def make_sender(session: Session, options: TfmccOptions, rng: random.Random) -> SenderEndpoint:
    """Of real-time data, or of a file."""
    return (TfmccSender if session.realtime else TfmccFileSender)(session, options, rng)


def make_receiver(session: Session, options: TfmccOptions, rng: random.Random) -> ReceiverEndpoint:
    """Of real-time data, or of a file."""
    return (TfmccReceiver if session.realtime else TfmccFileReceiver)(session, options, rng)


PROTOCOL = Protocol(
    "tfmcc",
    NUMBER,
    (*PACKETS, BLOCKS, *offers(NUMBER).packets),
    TfmccOptions,
    make_sender,
    make_receiver,
    feedback_types=frozenset({Type.REPORT, Type.BLOCKS}),
    parts=(PIECE,),
    carries_realtime=True,
    open_heads=OPEN_HEADS,
)

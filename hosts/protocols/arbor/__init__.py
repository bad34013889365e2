"""Arbor (our own): each receiver keeps the window that a TCP on its path would have; the sender goes by the least."""

import random

from hosts.endpoint import ReceiverEndpoint, SenderEndpoint
from hosts.parts.fec.pieces import PIECE
from hosts.parts.fec.timed import TIMED
from hosts.protocol import Protocol, Session
from hosts.protocols.arbor.deadline_receiver import DeadlineReceiver
from hosts.protocols.arbor.deadline_sender import DeadlineSender
from hosts.protocols.arbor.file_receiver import ArborFileReceiver
from hosts.protocols.arbor.file_sender import ArborFileSender
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.packets import NUMBER, OPEN_HEADS, PACKETS, Type
from hosts.protocols.arbor.receiver import ArborReceiver
from hosts.protocols.arbor.repairs import BEGINNING
from hosts.protocols.arbor.sender import ArborSender
from hosts.protocols.arbor.simulcast_receiver import SimulcastReceiver
from hosts.protocols.arbor.simulcast_sender import SimulcastSender
from hosts.wire.offers import offers


def make_sender(session: Session, options: ArborOptions, rng: random.Random) -> SenderEndpoint:
    """Of real-time data, or of a file."""
    if options.rungs > 1:
        _check_rungs(session, options)
        return SimulcastSender(session, options, rng)
    if not session.realtime:
        return ArborFileSender(session, options, rng)
    return (DeadlineSender if options.deadline_s else ArborSender)(session, options, rng)


def make_receiver(session: Session, options: ArborOptions, rng: random.Random) -> ReceiverEndpoint:
    """Of real-time data, or of a file."""
    if options.rungs > 1:
        _check_rungs(session, options)
        return SimulcastReceiver(session, options, rng)
    if not session.realtime:
        return ArborFileReceiver(session, options, rng)
    return (DeadlineReceiver if options.deadline_s else ArborReceiver)(session, options, rng)


def _check_rungs(session: Session, options: ArborOptions) -> None:
    if not session.realtime:
        raise ValueError("parameter 'rungs' is for real-time data: a file has one rate")
    if options.deadline_s:
        raise ValueError("parameter 'deadline_s' is for real-time data of one rate: with 'rungs' nothing is repaired")


def count_groups(options: ArborOptions) -> int:
    """One for each rung."""
    return options.rungs


PROTOCOL = Protocol(
    "arbor",
    NUMBER,
    (*PACKETS, *offers(NUMBER).packets),
    ArborOptions,
    make_sender,
    make_receiver,
    feedback_types=frozenset({Type.REPORT, Type.JOIN, Type.LEAVE, Type.BLOCKS}),
    parts=(PIECE, BEGINNING, TIMED),
    carries_realtime=True,
    count_groups=count_groups,
    open_heads=OPEN_HEADS,
)

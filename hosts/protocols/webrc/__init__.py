"""WEBRC: Luby, Goyal, Skaria and Horn, "Wave and Equation Based Rate Control Using Multicast RTT" (2002)."""

import random

from hosts.endpoint import ReceiverEndpoint, SenderEndpoint
from hosts.parts.fec.timed import TIMED
from hosts.protocol import Protocol, Session
from hosts.protocols.webrc.description import EXTENSION
from hosts.protocols.webrc.flute.objects import SCHEMES, plan
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.packets import LONG, LONG_END, NUMBER, SHORT, SHORT_END, payload_bytes, read_session
from hosts.protocols.webrc.sender import WebrcSender
from hosts.protocols.webrc.together import TogetherReceiver


def make_sender(session: Session, options: WebrcOptions, rng: random.Random) -> SenderEndpoint:
    """Of real-time data, or of a file."""
    return WebrcSender(session, options, rng)


def make_receiver(session: Session, options: WebrcOptions, rng: random.Random) -> ReceiverEndpoint:
    """Of real-time data, or of a file."""
    return TogetherReceiver(session, options, rng)


def count_groups(options: WebrcOptions) -> int:
    """One for each channel."""
    return options.waves().t + 1


def check_size(options: WebrcOptions, size: int) -> None:
    """ValueError: it needs more blocks, or larger ones, than the code has."""
    plan(SCHEMES[options.fec], size, payload_bytes(options.packet_bytes, is_long=options.waves().is_long))


PROTOCOL = Protocol(
    "webrc",
    NUMBER,
    (SHORT, LONG, SHORT_END, LONG_END),
    WebrcOptions,
    make_sender,
    make_receiver,
    feedback_types=frozenset(),
    parts=(EXTENSION, TIMED),
    carries_realtime=True,
    admits_late=True,
    takes_files=True,
    knows_receivers=False,
    read_session=read_session,
    count_groups=count_groups,
    check_size=check_size,
)

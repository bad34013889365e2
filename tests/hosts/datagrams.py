"""One datagram of every type of every protocol with the common header."""

from collections.abc import Callable
from typing import Any

from hosts import protocols
from hosts.parts.fec.pieces import BlockStatus
from hosts.protocols.arbor import packets as arbor
from hosts.protocols.mtcp import packets as mtcp
from hosts.protocols.mtcp.progress import decode_progress
from hosts.protocols.mtcp.wire import NUMBER, Type
from hosts.protocols.rla import packets as rla
from hosts.protocols.tfmcc import blocks
from hosts.protocols.tfmcc import packets as tfmcc
from hosts.protocols.vlmcc import packets as vlmcc
from hosts.wire.checks import read_header
from hosts.wire.farewell import Leave, MemberFin
from hosts.wire.offers import Ask, Held, Offer, offers
from hosts.wire.reason import Reason
from tests.hosts.protocols.mtcp.test_packets import examples


def rla_examples() -> list[bytes]:
    return [
        rla.encode_data(rla.Data(7, True, False, 3, 40, 4, 5, b"payload")),
        rla.encode_ack(rla.Ack(7, False, True, False, 3, 1000, 4, 5, 0b101, 0b1011)),
        rla.encode_announce(7, 1000),
        rla.encode_join(7, True, 1000),
        rla.encode_join_ack(rla.JoinAck(7, True, Reason.NONE, 3, 12, 12000)),
        rla.encode_fin(7, False, True, Reason.NONE),
        rla.encode_fin(7, True, True, Reason.NONE),
        rla.encode_abort(7, Reason.SLOWEST),
    ]


def tfmcc_examples() -> list[bytes]:
    return [
        tfmcc.encode_data(tfmcc.Data(7, 1, 5, 3, 0x123, 0x456, 0x789, 0x55, 9, 10, 11, 12, 13, 14, b"abc")),
        tfmcc.encode_report(tfmcc.Report(7, 0x12, 9, 3, 0x123, 0x55, 77, 0x321, 13, 14, 15)),
        tfmcc.encode_announce(7, 12),
        tfmcc.encode_join(tfmcc.Join(7, 9, 10, 11, 12)),
        tfmcc.encode_join_ack(tfmcc.JoinAck(7, Reason.NONE, 9, 10, 11)),
        tfmcc.encode_fin(MemberFin(7, False, True, Reason.NONE, 9)),
        tfmcc.encode_fin(MemberFin(7, True, True, Reason.NONE, 9)),
        tfmcc.encode_abort(7, Reason.INTERRUPTED),
    ]


def vlmcc_examples() -> list[bytes]:
    return [
        vlmcc.encode_data(vlmcc.Data(7, 1, 5, 9, 1000, 20_000, 12, 13, 2, b"abc")),
        vlmcc.encode_ack(vlmcc.Ack(7, 9, 5, 12)),
        vlmcc.encode_report(vlmcc.Report(7, 9, 5, 12, 300, 7, 1)),
        vlmcc.encode_challenge(vlmcc.Challenge(7, 9, 1000, 2000, 30_000, 20_000, 5, 12)),
        vlmcc.encode_start_request(vlmcc.StartRequest(7, 9, 12)),
        vlmcc.encode_start(vlmcc.Start(7, 9, 5, 8, 1000, 2000, 20_000, 12, 13)),
        vlmcc.encode_leave(Leave(7, 9, Reason.INTERRUPTED)),
        vlmcc.encode_abort(7, Reason.TOO_SLOW),
    ]


def arbor_examples() -> list[bytes]:
    return [
        arbor.encode_data(arbor.Data(7, 1, 5, 9, 1000, 20_000, 12, 13, 2, b"abc")),
        arbor.TOLD_DATA.encode(arbor.ToldData(7, 1, 5, 9, 1000, 20_000, 12, 13, 2, b"abc", 30, 20, 10, 1514, 1, 2)),
        arbor.encode_report(arbor.Report(7, 9, 2000, 30_000, 66_666, 5, 12, True, False, True)),
        arbor.JOIN.encode(arbor.Join(7, 9, 12, 13)),
        arbor.WELCOME.encode(arbor.Welcome(7, 9, 12, 13)),
        arbor.LEAVE.encode(Leave(7, 9, Reason.INTERRUPTED)),
        arbor.encode_abort(7, Reason.INTERRUPTED),
        arbor.FIN.encode(MemberFin(7, False, True, Reason.NONE, 9)),
        arbor.FIN.encode(MemberFin(7, True, True, Reason.NONE, 9)),
        arbor.encode_blocks(arbor.Blocks(7, 9, 5, 3, ((4, 2), (6, 1)), may_suppress=True)),
    ]


def offer_examples() -> list[bytes]:
    found = []
    for name in ("mtcp", "rla", "tfmcc", "arbor"):
        packets = offers(protocols.get(name).number)
        found += [
            packets.ask.encode(Ask(7, 3, b"abc")),
            packets.offer.encode(Offer(7, 3, 9, b"abc")),
            packets.held.encode(Held(7, 2**40, False)),
            packets.held.encode(Held(7, 2**40, True)),
        ]
    return found


def parse_offer(data: bytes) -> Any:
    """As the endpoints around a protocol's read it."""
    kind, flags, session = read_header(data, data[1])
    return next(one for one in offers(data[1]).packets if kind in one.kinds).decode(data, kind, flags, session)


def parse_mtcp(data: bytes) -> Any:
    """As the endpoints read it, but for PROGRESS, of which they make FEEDBACK."""
    if data[2] == Type.PROGRESS:
        return decode_progress(data, *read_header(data, NUMBER)[1:])
    return mtcp.parse(data)


EXAMPLES: list[tuple[bytes, Callable[[bytes], Any]]] = [
    *((data, parse_mtcp) for data in examples()),
    *((data, rla.parse) for data in rla_examples()),
    *((data, tfmcc.parse) for data in tfmcc_examples()),
    (blocks.encode_status(BlockStatus(7, 9, 5, 3, ((4, 2), (6, 1)))), blocks.parse_status),
    *((data, vlmcc.parse) for data in vlmcc_examples()),
    *((data, arbor.parse) for data in arbor_examples()),
    *((data, parse_offer) for data in offer_examples()),
]
"""Each with its protocol's parser."""

"""TFMCC's packets: fixed-size fields after the common header, in network order; what RFC 4654 (2.2) asks for.

DATA is multicast by the sender, REPORT unicast to it.

For a switch: 12-bit floats are right-aligned in 16 bits, their upper 4 bits 0; they order as integers, as RTT floats do
(`rate_float.py`). Round, CLR, maximum RTT and the confirmed minima come from DATA on its way down; docs/assist.md says
which reports it may suppress.

The other packets open and close a session whose sender wants to know its receivers (a file's). A session of real-time
data has ABORT, and JOIN_ACK and JOIN when a receiver reports that the sender does not know: "is it you?", "yes".

`parse` answers with one of the tuples below or raises PacketError; nothing else can come of any input.
"""

import enum
from math import ceil
from typing import Final, NamedTuple, TypeAlias

from hosts.parts.runs import framing
from hosts.protocols.tfmcc.rate_float import NO_RATE
from hosts.wire.checks import DataReader, check_size, read_header
from hosts.wire.farewell import Abort, MemberFin, abort_encoder, abort_format, member_fin_format
from hosts.wire.fields import Flag, Number, Payload, Reserved, Size
from hosts.wire.format import Format, by_kind, decode_by_kind
from hosts.wire.header import IPV4_UDP_BYTES, MAX_DATAGRAM_BYTES, VERSION, PacketError
from hosts.wire.reason import Reason

NUMBER: Final = 2
"""TFMCC's protocol number in the common header."""


class Type(enum.IntEnum):
    """Values of the common header's type."""

    DATA = 1
    REPORT = 2
    ANNOUNCE = 3
    JOIN = 4
    JOIN_ACK = 5
    FIN = 6
    FIN_ACK = 7
    ABORT = 8
    BLOCKS = 9


FLAG_END: Final = 0x01
FLAG_SLOWSTART: Final = 0x02
FLAG_ECHO: Final = 0x04
FLAG_SUPPRESSION_LOSS: Final = 0x08
FLAG_ASSIST: Final = 0x10
FLAG_SUPPRESSED: Final = 0x20

FLAG_HAVE_RTT: Final = 0x01
FLAG_HAVE_LOSS: Final = 0x02
FLAG_LEAVE: Final = 0x04
FLAG_FROM_CLR: Final = 0x08
FLAG_FIRST_LOSS: Final = 0x10
FLAG_MAY_SUPPRESS: Final = 0x20
FLAG_ANSWER: Final = 0x40
FLAG_TWIN: Final = 0x80

NO_RECEIVER: Final = 0
LOSS_UNIT: Final = 65535
"""Codes of a loss event rate of 1."""
SHARE_UNIT: Final = 65536
"""Codes of a share of 1, which itself has none."""
PATH_UNIT_US: Final = 64
"""Microseconds of a code of `path_rtt`."""
_MAX_U32: Final = 2**32 - 1


def _rate(name: str, meaning: str, most: int = NO_RATE - 1, default: int = 0) -> Number:
    return Number(name, 16, f"{meaning}; a rate float", most=most, default=default)


def _receiver(meaning: str, least: int = NO_RECEIVER) -> Number:
    return Number("receiver", 32, meaning, least=least)


class Data(NamedTuple):
    """One packet of the stream, multicast by the sender."""

    session: int
    flags: int
    seq: int
    round: int
    rate: int
    suppression: int
    suppression_no_rtt: int
    max_rtt: int
    clr: int
    echo_receiver: int
    echo_time_us: int
    echo_held_us: int
    send_time_us: int
    offset: int
    payload: bytes
    patience: int = 0
    least_share: int = 0
    path_rtt: int = 0


DATA: Final = Format(
    NUMBER,
    Type.DATA,
    Data,
    Number("seq", 32, "counts DATA packets from 0", wraps=True),
    Number(
        "round", 16, "feedback round (2.5), from 1; the next one cancels all timers of this one", wraps=True, default=1
    ),
    _rate("rate", "sending rate now"),
    _rate("suppression", f"least rate of this round's reports with a valid RTT; {NO_RATE}: none yet", NO_RATE, NO_RATE),
    _rate("suppression_no_rtt", "the same of reports without one; neither suppresses the other", NO_RATE, NO_RATE),
    Number("max_rtt", 8, "largest RTT of the receivers; T follows from it and from `rate`; an RTT float"),
    Number("patience", 8, "so long a report silences others before the sender confirms it; an RTT float"),
    Size("length", 16, "bytes of payload", of="payload"),
    Number("clr", 32, "receiver id of the current limiting receiver; 0: none, then anybody may report"),
    Number("echo_receiver", 32, "whose report is echoed (2.4.2)"),
    Number("echo_time_us", 64, "its `time_us`"),
    Number("echo_held_us", 32, "from that report's arrival to this packet's departure", cut=True),
    Number("least_share", 16, "in 1/65536: a report passes when it is at most this share of the least one"),
    Number(
        "path_rtt",
        16,
        f"from the last switch that knows it to the sender and back, in {PATH_UNIT_US} us, rounded up; 0: none does. "
        "Set by switches",
    ),
    Number("send_time_us", 64, "sender's clock"),
    Number("offset", 64, "of the payload's first byte in the stream"),
    Payload("data", "the stream's bytes, or a file's blocks", "payload"),
    flags=(
        Flag("end", FLAG_END, "the stream ends here"),
        Flag("slowstart", FLAG_SLOWSTART, "the sender is in slowstart"),
        Flag("echo", FLAG_ECHO, "the echo fields are set"),
        Flag(
            "suppression_loss",
            FLAG_SUPPRESSION_LOSS,
            "the suppression rates are from reports with a loss; others suppress nothing for them",
        ),
        Flag("assist", FLAG_ASSIST, "switches may suppress reports"),
        Flag(
            "suppressed",
            FLAG_SUPPRESSED,
            "set on the way by a switch that does so: reports may come at once, for many of them end there",
        ),
    ),
)


class Report(NamedTuple):
    """A receiver's feedback, unicast to the sender."""

    session: int
    flags: int
    receiver: int
    round: int
    rate: int
    rtt: int
    loss_rate: int
    receive_rate: int
    echo_time_us: int
    held_us: int
    time_us: int
    far_rtt: int = 0
    stands_for: int = 0


REPORT: Final = Format(
    NUMBER,
    Type.REPORT,
    Report,
    _receiver("receiver id, random", 1),
    Number("round", 16, "of the last DATA that arrived", wraps=True, default=1),
    _rate("rate", "Eq. (1)'s, or the receive rate"),
    Number("rtt", 8, "that which `rate` was computed with; an RTT float"),
    Number("far_rtt", 8, "largest RTT of the reports that it stands for; an RTT float. Set by switches"),
    Number("loss_rate", 16, "loss event rate in 1/65535, rounded up; 0: no loss yet"),
    _rate("receive_rate", "what arrives"),
    Number("stands_for", 16, "reports that ended at a switch since one passed there. Set by switches"),
    Number(
        "echo_time_us",
        64,
        "send_time_us of the last DATA that arrived; in an answer microseconds from the switch to the sender and back",
    ),
    Number("held_us", 32, "from that packet's arrival to this report's departure", cut=True),
    Number("time_us", 64, "receiver's clock, to be echoed"),
    flags=(
        Flag("have_rtt", FLAG_HAVE_RTT, "`rtt` is measured"),
        Flag("have_loss", FLAG_HAVE_LOSS, "`rate` is Eq. (1)'s, else the receive rate"),
        Flag("leave", FLAG_LEAVE, "the receiver goes"),
        Flag("from_clr", FLAG_FROM_CLR, "sent as the CLR, without suppression"),
        Flag("first_loss", FLAG_FIRST_LOSS, "the first report of a loss by this receiver"),
        Flag("may_suppress", FLAG_MAY_SUPPRESS, "a switch may judge it; DATA has `assist`"),
        Flag("answer", FLAG_ANSWER, "a switch sends it back to its receiver, which asked for a round trip time"),
        Flag("twin", FLAG_TWIN, "said just before, too, so that a switch may judge it"),
    ),
)


class Announce(NamedTuple):
    """Multicast by a sender that waits for receivers: join me at the address this comes from."""

    session: int
    time_us: int


ANNOUNCE: Final = Format(
    NUMBER, Type.ANNOUNCE, Announce, Number("time_us", 64, "sender's clock, to come back in a JOIN")
)


class Join(NamedTuple):
    """A receiver wants to take part."""

    session: int
    receiver: int
    echo_time_us: int
    held_us: int
    time_us: int


JOIN: Final = Format(
    NUMBER,
    Type.JOIN,
    Join,
    _receiver("receiver id", 1),
    Number("echo_time_us", 64, "of the ANNOUNCE (or JOIN_ACK) that it answers"),
    Number("held_us", 32, "from that packet's arrival to this one's departure", cut=True),
    Number("time_us", 64, "receiver's clock"),
)


class JoinAck(NamedTuple):
    """The answer. It echoes the JOIN, so that the receiver measures its RTT."""

    session: int
    reason: Reason
    receiver: int
    echo_time_us: int
    time_us: int


JOIN_ACK: Final = Format(
    NUMBER,
    Type.JOIN_ACK,
    JoinAck,
    Number("reason", 8, "NONE when it is welcome", kind=Reason),
    Reserved("reserved8", 8),
    Reserved("reserved", 16),
    _receiver("whom it answers"),
    Number("echo_time_us", 64, "the JOIN's `time_us`"),
    Number("time_us", 64, "sender's clock"),
)

FIN: Final = member_fin_format(NUMBER, Type.FIN, Type.FIN_ACK)
"""A receiver's last word, or the sender's receipt for it."""

ABORT: Final = abort_format(NUMBER, Type.ABORT)

Packet: TypeAlias = Data | Report | Announce | Join | JoinAck | MemberFin | Abort
PACKETS: Final = (DATA, REPORT, ANNOUNCE, JOIN, JOIN_ACK, FIN, ABORT)
"""And BLOCKS (`blocks.py`), which is of files alone."""

# Hot paths pack and unpack with the structs themselves.
_DATA: Final = DATA.struct
_REPORT: Final = REPORT.struct
_CONTROL: Final[dict[int, Format[Packet]]] = by_kind((ANNOUNCE, JOIN, JOIN_ACK, FIN, ABORT))

DATA_BYTES: Final = _DATA.size
STREAM: Final = framing(DATA)
"""Several of them together."""
MAX_PAYLOAD_BYTES: Final = MAX_DATAGRAM_BYTES - DATA_BYTES
DEFAULT_PAYLOAD_BYTES: Final = 1400
"""With DATA's header, UDP and IPv4 1,492 bytes: it fits an MTU of 1,500."""


def packet_bytes(payload_bytes: int) -> int:
    """Eq. (1)'s s: bytes of the IP packet that carries so much payload."""
    return payload_bytes + DATA_BYTES + IPV4_UDP_BYTES


def encode_data(data: Data) -> bytes:
    """A DATA packet. `seq` is taken modulo 2^32, `round` modulo 2^16."""
    return _head(data, len(data.payload)) + data.payload


def encode_run(data: Data, size: int) -> bytes:
    """DATA packets one after the other, each with `size` bytes of the payload, which say the same otherwise."""
    return STREAM.frame(_head(data, size), data.payload, size)


def _head(data: Data, size: int) -> bytes:
    return _DATA.pack(
        VERSION,
        NUMBER,
        Type.DATA,
        data.flags,
        data.session,
        data.seq & _MAX_U32,
        data.round & 0xFFFF,
        data.rate,
        data.suppression,
        data.suppression_no_rtt,
        data.max_rtt,
        data.patience,
        size,
        data.clr,
        data.echo_receiver,
        data.echo_time_us,
        min(data.echo_held_us, _MAX_U32),
        data.least_share,
        data.path_rtt,
        data.send_time_us,
        data.offset,
    )


def encode_report(report: Report) -> bytes:
    """A REPORT. `round` is taken modulo 2^16."""
    return _REPORT.pack(
        VERSION,
        NUMBER,
        Type.REPORT,
        report.flags,
        report.session,
        report.receiver,
        report.round & 0xFFFF,
        report.rate,
        report.rtt,
        report.far_rtt,
        report.loss_rate,
        report.receive_rate,
        report.stands_for,
        report.echo_time_us,
        min(report.held_us, _MAX_U32),
        report.time_us,
    )


def encode_share(share: float) -> int:
    """A share below 1 of the least rate; not below a half, which is the least that switches reckon with."""
    return max(SHARE_UNIT // 2, min(int(share * SHARE_UNIT), SHARE_UNIT - 1))


def encode_loss_rate(p: float) -> int:
    """A loss event rate as a report carries it."""
    return min(ceil(p * LOSS_UNIT), LOSS_UNIT)


def encode_announce(session: int, time_us: int) -> bytes:
    """An ANNOUNCE."""
    return ANNOUNCE.encode(Announce(session, time_us))


encode_join: Final = JOIN.encode
"""A JOIN."""

encode_join_ack: Final = JOIN_ACK.encode
"""A JOIN_ACK; Reason.NONE admits."""

encode_fin: Final = FIN.encode
"""A FIN, or the FIN_ACK to one."""


encode_abort: Final = abort_encoder(ABORT)
"""An ABORT."""


def parse(data: bytes) -> Packet:
    """Read a datagram. Raises PacketError: truncated, oversized, version, protocol, type, value."""
    size = len(data)
    kind, flags, session = read_header(data, NUMBER)
    if kind == Type.DATA:
        return _parse_data(data)
    if kind == Type.REPORT:
        check_size(size, _REPORT.size)
        fields = _REPORT.unpack(data)
        # session, flags, receiver ... rtt, loss_rate, receive_rate, echo_time_us ... time_us; far_rtt, stands_for
        report = Report._make((session, flags, *fields[5:9], *fields[10:12], *fields[13:], fields[9], fields[12]))
        if report.rate >= NO_RATE or report.receive_rate >= NO_RATE or report.receiver == NO_RECEIVER:
            raise PacketError("value")
        return report
    return decode_by_kind(_CONTROL, data, kind, flags, session)


def _parse_data(data: bytes) -> Data:
    size = len(data)
    if size < DATA_BYTES:
        raise PacketError("truncated")
    fields = _DATA.unpack_from(data)
    check_size(size, DATA_BYTES + fields[12])
    if fields[7] >= NO_RATE or fields[8] > NO_RATE or fields[9] > NO_RATE:
        raise PacketError("value")
    # session, flags, seq ... max_rtt, clr ... echo_held_us, send_time_us, offset; patience, least_share, path_rtt
    head = (fields[4], fields[3], *fields[5:11], *fields[13:17], *fields[19:])
    return Data._make((*head, data[DATA_BYTES:], fields[11], *fields[17:19]))


parse_data: Final = DataReader(NUMBER, Type.DATA, _parse_data)
"""A DATA packet, or None for anything else, which `parse` then judges."""

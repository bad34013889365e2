"""ABORT and FIN: the octets, what comes back from them, and what is refused."""

import enum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.wire.checks import read_header
from hosts.wire.farewell import Abort, Fin, abort_format, fin_format
from hosts.wire.format import Format
from hosts.wire.header import PacketError
from hosts.wire.reason import Reason


class Type(enum.IntEnum):
    """Of a protocol."""

    ABORT = 7
    FIN = 11
    FIN_ACK = 12


octets = st.integers(0, 255)
sessions = st.integers(0, 2**32 - 1)
reasons = st.sampled_from(Reason)
ABORT = abort_format(5, Type.ABORT)
FIN = fin_format(1, Type.FIN, Type.FIN_ACK)


def test_the_octets() -> None:
    packet = ABORT.encode(Abort(0x01020304, Reason.INTERRUPTED))
    assert packet.hex() == f"01050700010203040{Reason.INTERRUPTED:x}000000"
    assert FIN.encode(Fin(2, False, True, Reason.NONE)).hex() == "01010b00" + "00000002" + "01000000"
    assert FIN.encode(Fin(2, True, False, Reason.NONE)).hex() == "01010c00" + "00000002" + "00000000"


@given(octets, sessions, reasons)
def test_an_abort_comes_back(protocol: int, session: int, reason: Reason) -> None:
    abort = abort_format(protocol, Type.ABORT)
    data = abort.encode(Abort(session, reason))
    assert abort.decode(data, *read_header(data, protocol)) == Abort(session, reason)


@given(octets, sessions, st.booleans(), st.booleans(), reasons)
def test_a_fin_comes_back(protocol: int, session: int, answer: bool, complete: bool, reason: Reason) -> None:
    fin = fin_format(protocol, Type.FIN, Type.FIN_ACK)
    data = fin.encode(Fin(session, answer, complete, reason))
    assert fin.decode(data, *read_header(data, protocol)) == Fin(session, answer, complete, reason)


@pytest.mark.parametrize("read", [ABORT, FIN])
@pytest.mark.parametrize(
    ("body", "why"), [("000000", "truncated"), ("0000000000", "oversized"), ("ffff0000", "value"), ("", "truncated")]
)
def test_what_is_wrong(read: Format[Abort] | Format[Fin], body: str, why: str) -> None:
    with pytest.raises(PacketError, match=why):
        read.decode(bytes.fromhex("0101070000000001" + body), 7, 0, 1)

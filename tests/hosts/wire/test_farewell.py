"""ABORT and FIN: the octets, what comes back from them, and what is refused."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.wire.farewell import Abort, Fin, pack_abort, pack_fin, read_abort, read_fin
from hosts.wire.header import PacketError
from hosts.wire.reason import Reason

octets = st.integers(0, 255)
sessions = st.integers(0, 2**32 - 1)
reasons = st.sampled_from(Reason)


def test_the_octets() -> None:
    assert pack_abort(5, 7, 0x01020304, Reason.INTERRUPTED).hex() == f"01050700010203040{Reason.INTERRUPTED:x}000000"
    assert pack_fin(1, 11, 2, True, Reason.NONE).hex() == "01010b00" + "00000002" + "01000000"


@given(octets, octets, sessions, reasons)
def test_an_abort_comes_back(protocol: int, kind: int, session: int, reason: Reason) -> None:
    assert read_abort(pack_abort(protocol, kind, session, reason)) == Abort(session, reason)


@given(octets, octets, sessions, st.booleans(), st.booleans(), reasons)
def test_a_fin_comes_back(protocol: int, kind: int, session: int, answer: bool, complete: bool, reason: Reason) -> None:
    assert read_fin(pack_fin(protocol, kind, session, complete, reason), answer) == Fin(
        session, answer, complete, reason
    )


@pytest.mark.parametrize("read", [read_abort, lambda data: read_fin(data, False)])
@pytest.mark.parametrize(
    ("body", "why"),
    [("000000", "truncated"), ("0000000000", "oversized"), ("ffff0000", "value"), ("", "truncated")],
)
def test_what_is_wrong(read: Callable[[bytes], object], body: str, why: str) -> None:
    with pytest.raises(PacketError, match=why):
        read(bytes.fromhex("0101070000000001" + body))

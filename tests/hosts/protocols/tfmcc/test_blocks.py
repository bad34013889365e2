import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.parts.fec.pieces import MOST_NEEDS, BlockStatus
from hosts.protocols.tfmcc.blocks import encode_status, is_blocks, parse_status
from hosts.wire.header import PacketError

NEEDS = st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**16 - 1)), max_size=MOST_NEEDS).map(tuple)


@given(*[st.integers(0, 2**32 - 1)] * 4, NEEDS)
def test_words_on_blocks_survive_the_way(
    session: int, receiver: int, seq: int, delivered: int, wanted: tuple[tuple[int, int], ...]
) -> None:
    status = BlockStatus(session, receiver, seq, delivered, wanted)
    data = encode_status(status)
    assert is_blocks(data)
    assert parse_status(data) == status
    for wrong in (data[:-1], data + b"x"):
        with pytest.raises(PacketError):
            parse_status(wrong)

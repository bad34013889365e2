import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.parts.fec.pieces import MOST_COMING, MOST_LENGTH, Piece, encode_piece, parse_piece
from hosts.wire.header import PacketError

number = st.integers(0, 2**32 - 1)


@given(number, st.integers(0, MOST_LENGTH), st.booleans(), number, st.binary(), st.integers(0, MOST_COMING))
def test_pieces_survive_the_way(block: int, length: int, last: bool, passed: int, packet: bytes, coming: int) -> None:
    piece = Piece(block, length, last, passed, packet, coming)
    assert parse_piece(encode_piece(piece)) == piece
    with pytest.raises(PacketError):
        parse_piece(encode_piece(piece)[:11])


def test_more_repairs_to_come_than_fit_are_cut() -> None:
    assert parse_piece(encode_piece(Piece(1, 2, False, 3, b"", 500))).coming == MOST_COMING

"""RaptorQ blocks: symbols at any place of the sequence, in one sub-block, and what is refused."""

from random import Random

import pytest
from canopy_engine import RaptorqDecoder, RaptorqEncoder

DATA = Random(1).randbytes(50 * 1368 - 11)


def test_repair_symbols_are_the_same_wherever_one_begins() -> None:
    encoder = RaptorqEncoder(DATA, 1368)
    first = encoder.repair(0, 40)
    assert encoder.repair(17, 3) == first[17:20]
    assert len({*first, *encoder.repair(1_000_000, 40)}) == 80


def test_any_symbols_make_the_block() -> None:
    encoder, decoder = RaptorqEncoder(DATA, 1368), RaptorqDecoder(len(DATA), 1368)
    for number, symbol in enumerate(encoder.repair(5000, 60)):
        assert decoder.solve() is None, "there is nothing new"
        assert decoder.add(50 + 5000 + number, symbol) is None, "RaptorQ waits until it is asked"
        assert decoder.is_solvable == (number >= 49)
        if (whole := decoder.solve()) is not None:
            assert whole == DATA
            assert number < 55
            assert not decoder.is_solvable
            break
    else:
        pytest.fail("the block did not become whole")


def test_large_blocks_have_one_sub_block_too() -> None:
    """Symbols are pieces of the file: RFC 6330's recommendation would cut a block of this size into two sub-blocks."""
    data = Random(2).randbytes(1368) * 8192
    decoder = RaptorqDecoder(len(data), 1368)
    assert all(decoder.add(number, data[:1368]) is None for number in range(8191))
    assert decoder.add(8191, data[:1368]) == data


@pytest.mark.parametrize(("length", "symbol"), [(0, 8), (100, 0), (100, 12), (8 * 56_403 + 1, 8)])
def test_blocks_that_there_are_not(length: int, symbol: int) -> None:
    with pytest.raises(ValueError, match=r"a block|a symbol"):
        RaptorqDecoder(length, symbol)
    with pytest.raises(ValueError, match=r"a block|a symbol"):
        RaptorqEncoder(bytes(length), symbol)


def test_symbols_that_there_are_not() -> None:
    encoder, decoder = RaptorqEncoder(DATA, 1368), RaptorqDecoder(len(DATA), 1368)
    with pytest.raises(ValueError, match="repair"):
        encoder.repair(2**24 - 50, 1)
    assert len(encoder.repair(2**24 - 51, 1)) == 1
    for number, symbol in ((2**24, bytes(1368)), (0, bytes(1367))):
        with pytest.raises(ValueError, match="not a symbol"):
            decoder.add(number, symbol)

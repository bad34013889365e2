"""A block's symbols, as a receiver of files has them."""

from random import Random

import pytest
from canopy_engine import BlockSymbols, RaptorqEncoder

SYMBOL = 16
DATA = Random(1).randbytes(20 * SYMBOL - 5)
SOURCE = [DATA[at : at + SYMBOL] for at in range(0, len(DATA), SYMBOL)]


def test_symbols_that_are_pieces_are_joined() -> None:
    symbols = BlockSymbols(SYMBOL)
    run = b"".join(b"head" + symbol for symbol in SOURCE[:19])
    assert symbols.add_run([7 << 24 | number for number in range(19)], (1 << 24) - 1, run, 4 + SYMBOL) == 19
    assert symbols.joined(len(DATA)) is None
    assert symbols.add(19, SOURCE[19])
    assert not symbols.add(19, SOURCE[19])
    assert 19 in symbols
    assert 20 not in symbols
    assert symbols.joined(len(DATA)) == DATA
    assert [symbol.rstrip(b"\0") for _, symbol in symbols.items()] == [symbol.rstrip(b"\0") for symbol in SOURCE]


def test_any_symbols_are_enough_and_records_are_as_good() -> None:
    symbols, again = BlockSymbols(SYMBOL), BlockSymbols(SYMBOL)
    for number, symbol in enumerate(RaptorqEncoder(DATA, SYMBOL).repair(0, 24)):
        symbols.add(20 + number, symbol)
    assert again.add_records(symbols.records()) == len(symbols) == 24
    assert symbols.solve(len(DATA), 1, 8) == again.solve(len(DATA), 1, 8) == DATA
    few = BlockSymbols(SYMBOL)
    few.add(0, SOURCE[0])
    assert few.solve(len(DATA), 1, 8) is None


def test_what_is_no_symbol_is_refused() -> None:
    with pytest.raises(ValueError, match="some length"):
        BlockSymbols(0)
    with pytest.raises(ValueError, match="not symbols"):
        BlockSymbols(SYMBOL).add_run([1], 1, b"short", SYMBOL - 1)
    with pytest.raises(ValueError, match="a symbol"):
        BlockSymbols(SYMBOL).solve(len(DATA), 1, 3)

from random import Random
from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.parts.fec.block import (
    MAX_SOURCE_SYMBOLS,
    REPAIRS_AT_ONCE,
    BlockDecoder,
    BlockEncoder,
    source_symbols,
    symbol_bytes,
)
from hosts.parts.fec.outgoing import BLOCK_SYMBOLS


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 20_000), st.sampled_from([8, 64, 1384]), st.floats(0, 0.8), st.integers(0, 2**32))
def test_a_block_survives_any_loss(length: int, symbol: int, loss: float, seed: int) -> None:
    rng = Random(seed)
    length = min(length, symbol * MAX_SOURCE_SYMBOLS)
    data = rng.randbytes(length)
    encoder, decoder = BlockEncoder(data, symbol), BlockDecoder(length, symbol)
    assert decoder.needed == encoder.source_symbols == source_symbols(length, symbol)
    got = 0
    while decoder.data is None:
        packet = encoder.next_packet()
        if rng.random() >= loss:
            assert decoder.add(packet)
            got += 1
        assert got <= encoder.source_symbols + 10
    assert decoder.data == data
    assert decoder.needed == 0


def test_source_symbols_are_the_data() -> None:
    data = bytes(range(256)) * 4
    encoder = BlockEncoder(data, 64)
    assert b"".join(encoder.next_packet()[4:] for _ in range(encoder.source_symbols)) == data


def test_packets_never_repeat() -> None:
    encoder = BlockEncoder(b"x" * 1000, 64)
    packets = [encoder.next_packet() for _ in range(500)]
    assert len({packet[:4] for packet in packets}) == 500
    assert encoder.sent == 500


def test_what_is_foreign_or_seen_is_refused() -> None:
    encoder, decoder = BlockEncoder(b"x" * 1000, 64), BlockDecoder(1000, 64)
    packet = encoder.next_packet()
    assert decoder.add(packet)
    assert not decoder.add(packet)
    assert not decoder.add(packet[:-1])
    assert not decoder.add(b"\x01" + packet[1:])
    assert not decoder.add(b"")


@pytest.mark.parametrize("length", [0, 64 * MAX_SOURCE_SYMBOLS + 1])
def test_blocks_that_nobody_sends_are_refused(length: int) -> None:
    with pytest.raises(ValueError, match="a block has"):
        BlockDecoder(length, 64)
    with pytest.raises(ValueError, match="a block has"):
        BlockEncoder(b"x" * length, 64)


def test_the_symbol_fits_the_packet() -> None:
    assert symbol_bytes(1400 - 12) == 1384
    with pytest.raises(ValueError, match="no symbol"):
        symbol_bytes(11)


def test_a_symbol_costs_the_same_whatever_its_number() -> None:
    """No call makes more symbols than it takes to hand out sixteen."""
    encoder = BlockEncoder(b"x" * 64 * 100, 64)
    asked = []

    class Counted:
        def repair(self, first: int, count: int) -> list[bytes]:
            asked.append((first, count))
            return [bytes(64)] * count

    encoder._encoder = Counted()  # type: ignore[assignment]
    for _ in range(1000):
        encoder.next_packet()
    assert {count for _, count in asked} == {REPAIRS_AT_ONCE}
    assert [first for first, _ in asked] == list(range(0, 900, REPAIRS_AT_ONCE))


def test_no_packet_of_a_file_holds_its_program_up() -> None:
    """Not even the first repair, for which the whole block is read, nor the last packet that makes a block whole."""
    data = Random(5).randbytes(BLOCK_SYMBOLS * 1368)
    encoder, decoder, longest = BlockEncoder(data, 1368), BlockDecoder(len(data), 1368), 0.0
    for number in range(2 * BLOCK_SYMBOLS):
        begun = thread_time()
        packet = encoder.next_packet()
        if number % 10 and decoder.data is None:
            decoder.add(packet)
        longest = max(longest, thread_time() - begun)
    assert decoder.data == data
    assert longest < 0.005

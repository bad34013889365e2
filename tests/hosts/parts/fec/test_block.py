from random import Random
from time import thread_time
from typing import Any, cast

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
            decoder.solve()
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
    """Where a thread does what the first repair takes, and the last packet that makes a block whole: not a tenth of
    what that takes."""
    data = Random(5).randbytes(BLOCK_SYMBOLS * 1368)
    encoder, decoder, longest = BlockEncoder(data, 1368), BlockDecoder(len(data), 1368), 0.0
    assert not encoder.can_repair
    encoder.prepare()
    assert encoder.can_repair
    for number in range(2 * BLOCK_SYMBOLS):
        begun = thread_time()
        packet = encoder.next_packet()
        if number % 10 and not decoder.is_solvable:
            decoder.add(packet)
        longest = max(longest, thread_time() - begun)
    assert longest < 0.0015
    work = decoder.begin()
    assert not decoder.is_solvable, "somebody is at it"
    assert not decoder.settle(), "and has not done it"
    work()
    assert decoder.data is None
    assert decoder.settle()
    assert decoder.data == data
    assert not decoder.settle()


def test_what_comes_while_a_block_is_solved_counts_when_it_takes_more() -> None:
    data = Random(5).randbytes(64 * 40)
    encoder, decoder = BlockEncoder(data, 64), BlockDecoder(len(data), 64)
    packets = [encoder.next_packet() for _ in range(90)][41:]  # of repairs only: now and then it takes one more
    decoder._decoder = cast(Any, Insatiable(decoder._decoder))
    for packet in packets[:40]:
        decoder.add(packet)
    work = decoder.begin()
    for packet in packets[40:44]:
        assert decoder.add(packet)
        assert not decoder.add(packet), "seen"
    assert decoder.needed == 0, "as far as is known"
    work()
    assert decoder.settle()
    assert decoder.data is None
    assert decoder.needed == 1
    decoder.solve()
    assert decoder.data == data


class Insatiable:
    """A decoder that finds the first time that it takes more."""

    def __init__(self, decoder: Any) -> None:
        self._decoder = decoder
        self._is_full = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._decoder, name)

    def solve(self) -> bytes | None:
        self._is_full, was_full = True, self._is_full
        return cast("bytes | None", self._decoder.solve()) if was_full else None


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 20_000), st.sampled_from([8, 64, 1384]), st.floats(0, 0.5), st.integers(0, 2**32))
def test_a_block_survives_any_loss_in_runs(length: int, symbol: int, loss: float, seed: int) -> None:
    rng = Random(seed)
    length = min(length, symbol * MAX_SOURCE_SYMBOLS)
    data, head = rng.randbytes(length), b"head"
    encoder, decoder = BlockEncoder(data, symbol), BlockDecoder(length, symbol)
    size = len(head) + 4 + symbol
    packets = []
    while encoder.sent < encoder.source_symbols:
        run = encoder.source_run(head, rng.randrange(1, 30))
        assert len(run) % size == 0
        packets += [run[at : at + size] for at in range(0, len(run), size)]
    assert [packet[4:8] for packet in packets] == [number.to_bytes(4, "big") for number in range(len(packets))]
    assert b"".join(packet[8:] for packet in packets)[:length] == data
    while packets and decoder.data is None:
        count = rng.randrange(1, 30)
        if rng.random() >= loss:
            decoder.add_run(b"".join(packets[:count]), size, len(head))
            decoder.solve()
        del packets[:count]
    while decoder.data is None:
        decoder.add(encoder.next_packet())
        decoder.solve()
        assert encoder.sent < 2 * encoder.source_symbols + 10
    assert decoder.data == data


def test_runs_that_are_none_of_the_block_are_left() -> None:
    decoder = BlockDecoder(1000, 64)
    good = BlockEncoder(b"x" * 1000, 64).source_run(b"", 3)
    decoder.add_run(good, 67, 0)
    decoder.add_run(b"\x01" + good[1:], 68, 0)
    decoder.add_run(b"\x00\xff\xff\xfe" + bytes(64) + b"\x00\xff\xff\xff" + bytes(64) + bytes(68), 68, 0)
    assert decoder.needed == decoder.source_symbols
    decoder.add_run(good, 68, 0)
    assert decoder.needed == decoder.source_symbols - 3

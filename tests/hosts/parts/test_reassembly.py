import random
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.parts.reassembly import BrokenStreamError, Reassembly
from hosts.wire.tree.checking import TreeChecker
from hosts.wire.tree.growing import GrownSource


class Piece(NamedTuple):
    seq: int
    offset: int
    payload: bytes
    end: bool


@given(
    st.lists(st.binary(min_size=1, max_size=5), min_size=1, max_size=40), st.integers(0, 2**32), st.integers(0, 1000)
)
def test_any_order_gives_the_stream(payloads: list[bytes], seed: int, first: int) -> None:
    stream: Reassembly[Piece] = Reassembly(first, 100, 1000, 64)
    packets = []
    offset = 100
    for index, payload in enumerate(payloads):
        packets.append((first + index, offset, payload, index == len(payloads) - 1))
        offset += len(payload)
    rng = random.Random(seed)
    order = packets + rng.sample(packets, len(packets) // 2)
    rng.shuffle(order)
    out = b""
    for packet in order:
        assert stream.takes(packet[0], packet[1], len(packet[2]))
        for piece in stream.add(packet[0], Piece(*packet)) or ():
            assert piece.offset == 100 + len(out)
            out += piece.data
    assert out == b"".join(payloads)
    assert stream.received_bytes == len(out)
    assert stream.ended
    assert not stream.early_packets


@given(st.integers(1, 40), st.integers(0, 2**32))
def test_runs_in_any_order_give_the_stream(count: int, seed: int) -> None:
    """What waits can be had packet by packet."""
    rng = random.Random(seed)
    payload = rng.randbytes(3 * count)
    packets = [Piece(number, 3 * number, payload[3 * number : 3 * number + 3], False) for number in range(count)]
    stream: Reassembly[Piece] = Reassembly(0, 0, 1000, 64)
    out = b""
    missing = set(range(count))
    while missing:
        first = rng.randrange(count)
        run = packets[first : first + rng.randint(1, 8)]
        whole = run[0]._replace(payload=b"".join(piece.payload for piece in run))
        assert stream.takes(first, whole.offset, len(whole.payload), len(run))
        numbers = {piece.seq for piece in run}
        found = stream.add_run(first, len(run), whole)
        assert (found is None) == (not numbers <= missing)
        if found is not None:
            missing -= numbers
            out += b"".join(piece.data for piece in found)
        early = set(range(count)) - missing - set(range(stream.received.cumulative))
        assert list(stream.early()) == [(seq, packets[seq]) for seq in sorted(early)]
        assert stream.early_packets == len(early)
    assert out == payload


def test_what_does_not_fit_is_not_taken() -> None:
    stream: Reassembly[Piece] = Reassembly(0, 0, 100, 8)
    assert stream.takes(8, 50, 50)
    assert not stream.takes(9, 50, 50), "beyond the bitmap"
    assert stream.takes(7, 50, 50, 2)
    assert not stream.takes(7, 50, 50, 3), "the last one is"
    assert not stream.takes(1, 50, 51), "beyond the buffer"
    stream.add(0, Piece(0, 0, bytes(60), False))
    assert not stream.takes(1, 40, 10), "before what was delivered"
    assert stream.takes(0, 0, 60), "a repeat"
    assert stream.advertised_window == 40
    stream.consume(60)
    assert stream.advertised_window == 100
    with pytest.raises(ValueError, match="more bytes consumed"):
        stream.consume(1)


def test_contradictions_are_found() -> None:
    stream: Reassembly[Piece] = Reassembly(0, 0, 100, 8)
    stream.add(0, Piece(0, 0, b"abc", False))
    with pytest.raises(BrokenStreamError):
        stream.add(1, Piece(0, 5, b"x", False))
    for seq in (1, 3):
        ended: Reassembly[Piece] = Reassembly(0, 0, 100, 8)
        ended.add(0, Piece(0, 0, b"abc", True))
        assert ended.ended
        with pytest.raises(BrokenStreamError):
            ended.add(seq, Piece(0, seq * 3, b"x", False))


def test_a_repeat_delivers_nothing() -> None:
    stream: Reassembly[Piece] = Reassembly(5, 0, 100, 8)
    assert stream.add(5, Piece(0, 0, b"abc", False))
    assert stream.add(5, Piece(0, 0, b"abc", False)) is None


def test_what_contradicts_the_hashes_that_came_before_is_not_right() -> None:
    content = random.Random(1).randbytes(88 * 300)

    class Content:
        at = 0

        def read(self, space: int) -> bytes:
            piece = content[self.at : self.at + space]
            self.at += len(piece)
            return piece

        def rewind(self) -> None:
            self.at = 0

    source = GrownSource(Content(), 88, 2000)
    data = source.read(1 << 20)
    while not source.exhausted:
        data += source.read(1 << 20)
    cuts = range(0, len(data), 88)
    pieces = [Piece(seq, at, data[at : at + 88], at + 88 >= len(data)) for seq, at in enumerate(cuts)]
    checker = TreeChecker()
    stream = Reassembly[Piece](0, 0, 1 << 20, 1000, checker)
    for piece in pieces[:100]:
        assert stream.is_right(piece.seq, piece)
        stream.add(piece.seq, piece)
    right = pieces[100]
    assert stream.is_right(100, right)
    assert not stream.is_right(100, right._replace(payload=bytes(88)))
    assert not stream.is_right(100, right._replace(offset=right.offset + 88))
    assert not stream.is_right(100, right._replace(end=True))
    assert not stream.is_right(101, right)
    assert stream.is_right(99, right), "a repeat is for `add` to see"
    assert stream.advertised_end == checker.open_bytes
    assert stream.advertised_end - stream.delivered >= 2000
    late = TreeChecker()
    assert Reassembly[Piece](7, 700, 1 << 20, 1000, late).is_right(7, right)
    assert late.is_off, "who comes late knows no hashes"

"""Packets as they come to a receiver: dropped, or taken, and counted."""

from collections import Counter
from typing import NamedTuple

import pytest

from hosts.endpoint import Deliver, Effect, StreamEnded
from hosts.parts.intake import Taken, take, take_run
from hosts.parts.reassembly import BrokenStreamError, Reassembly


class Piece(NamedTuple):
    seq: int
    offset: int
    payload: bytes
    end: bool = False


def stream_from(first: int) -> Reassembly[Piece]:
    """With room for 100 bytes and for 8 packets beyond the first that is missing."""
    return Reassembly(first, 0, 100, 8)


def test_what_is_new_ahead_repeated_and_last() -> None:
    stream, counters = stream_from(2**32 - 1), Counter[str]()
    first = 2**32 - 1
    assert take(stream, Piece(first, 0, b"ab"), "data", counters) == Taken(first, True, False, [Deliver(0, b"ab")])
    assert take(stream, Piece(1, 4, b"ef", True), "data", counters) == Taken(first + 2, True, True, [])
    assert take(stream, Piece(first, 0, b"ab"), "repairs", counters) == Taken(first, False, False, [])
    effects: list[Effect] = [Deliver(2, b"cd"), Deliver(4, b"ef"), StreamEnded(6)]
    assert take(stream, Piece(0, 2, b"cd"), "repairs", counters) == Taken(first + 1, True, False, effects)
    assert counters == {"data": 2, "repairs": 2, "duplicate_packets": 1}


def test_what_does_not_fit_is_dropped() -> None:
    stream, counters = stream_from(0), Counter[str]()
    assert take(stream, Piece(0, 99, b"ab"), "data", counters) is None
    assert take(stream, Piece(9, 18, b"ab"), "data", counters) is None
    assert counters == {"drop_outside_window": 2}
    assert not stream.received.has_gap


def test_a_run_is_taken_as_one() -> None:
    stream, counters = stream_from(0), Counter[str]()
    assert take(stream, Piece(3, 6, b"gh", True), "data_packets", counters) is not None
    taken = take_run(stream, Piece(0, 0, b"ab"), b"abcdef", 3, counters)
    assert taken == Taken(0, True, False, [Deliver(0, b"abcdef"), Deliver(6, b"gh"), StreamEnded(8)])
    assert counters == {"data_packets": 4}


def test_a_run_with_a_repeat_or_too_long_is_left() -> None:
    stream, counters = stream_from(0), Counter[str]()
    take(stream, Piece(0, 0, b"ab"), "data", counters)
    take(stream, Piece(2, 4, b"ef"), "data", counters)
    before = dict(counters)
    assert take_run(stream, Piece(0, 0, b"ab"), b"abcd", 2, counters) is None
    assert take_run(stream, Piece(1, 2, b"cd"), b"cdef", 2, counters) is None
    assert take_run(stream, Piece(9, 18, b"ab"), b"abcd", 2, counters) is None
    assert counters == before


def test_packets_that_contradict_each_other() -> None:
    stream, counters = stream_from(0), Counter[str]()
    take(stream, Piece(0, 0, b"ab"), "data", counters)
    with pytest.raises(BrokenStreamError):
        take(stream, Piece(1, 3, b"cd"), "data", counters)

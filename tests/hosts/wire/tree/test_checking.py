"""A stream with its hashes in it: what a receiver takes and what not."""

import hashlib
import random
from collections.abc import Iterator

import pytest

from hosts.wire.tree.checking import UNCHECKED_PACKETS, TreeChecker
from hosts.wire.tree.growing import GrownSource

SIZE = 104


class Bytes:
    """A content."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def read(self, space: int) -> bytes:
        piece = self.data[self.at : self.at + min(space, 1000)]
        self.at += len(piece)
        return piece

    def rewind(self) -> None:
        self.at = 0


def stream(length: int, window: int = 3000, seed: int = 1) -> tuple[bytes, list[bytes]]:
    """A content, and the packets of its stream."""
    content = random.Random(seed).randbytes(length)
    source = GrownSource(Bytes(content), SIZE, window)
    data = b"".join(iter(lambda: source.read(77), b""))
    assert source.exhausted
    assert len(data) == source.layout.stream_bytes
    return content, [data[at : at + SIZE] for at in range(0, len(data), SIZE)]


LENGTHS = [1, SIZE, SIZE * 9, SIZE * 11 + 1, SIZE * 500 + 7, SIZE * 4000]


@pytest.mark.parametrize("length", LENGTHS)
def test_what_was_sent_is_taken_and_the_content_comes_out(length: int) -> None:
    content, packets = stream(length)
    checker = TreeChecker()
    got = b""
    for number, packet in enumerate(packets):
        assert checker.takes(number, packet, end=number == len(packets) - 1), number
        checker.learn(packet)
        got += checker.strip(number * SIZE, packet)
    assert got == content
    assert (len(checker._hashes), len(checker._blocks)) == (0, 0), "nothing is kept"
    assert checker.open_bytes is None


def test_within_the_window_everything_can_be_checked() -> None:
    _, packets = stream(SIZE * 4000, window=3000)
    checker = TreeChecker()
    for number, packet in enumerate(packets):
        checker.learn(packet)
        bound = checker.open_bytes
        if bound is None:
            break
        assert bound - (number + 1) * SIZE >= min(3000, (UNCHECKED_PACKETS - number - 1) * SIZE)
        for later in range(max(number + 1, UNCHECKED_PACKETS), bound // SIZE):
            assert checker.takes(later, packets[later], end=False)


def test_runs() -> None:
    content, packets = stream(SIZE * 500)
    checker = TreeChecker()
    got = b""
    for at in range(0, len(packets) - 1, 10):
        run = packets[at : min(at + 10, len(packets) - 1)]
        joined = b"".join(run)
        assert checker.takes_run(at, joined, len(run))
        checker.learn(joined, len(run))
        got += checker.strip(at * SIZE, joined)
        if at > UNCHECKED_PACKETS:
            assert not checker.takes_run(at, joined[:-1] + b"?", len(run))
    assert content.startswith(got)
    assert len(got) == len(content) - SIZE


def test_runs_that_lie_across_blocks_and_tables_are_checked_wherever_they_are_wrong() -> None:
    _, packets = stream(SIZE * 500)
    rng = random.Random(3)
    checker = TreeChecker()
    at = 0
    while at < len(packets) - 1:
        count = min(rng.randrange(1, 60), len(packets) - 1 - at)
        run = packets[at : at + count]
        ahead = (checker.open_bytes or SIZE * len(packets)) // SIZE - at
        assert checker.takes_run(at, b"".join(run), count) == (count <= ahead or at + count <= UNCHECKED_PACKETS), at
        wrong_one = rng.randrange(count)
        changed = [packet if number != wrong_one else bytes(SIZE) for number, packet in enumerate(run)]
        if at + wrong_one >= UNCHECKED_PACKETS:
            assert not checker.takes_run(at, b"".join(changed), count), at
        assert not checker.takes_run(at, b"".join(packet[:-1] for packet in run), count) or checker.layout is None
        count = min(count, max(1, ahead))
        checker.learn(b"".join(packets[at : at + count]), count)
        at += count
    assert not checker.takes_run(at - 5, b"".join(packets[at - 5 :]), 6), "the end is no run's"


def test_what_was_taken_unchecked_beyond_the_end_ends_nothing() -> None:
    _, packets = stream(SIZE * 2)
    checker = TreeChecker()
    checker.learn(packets[0])
    for _ in range(3):
        checker.learn(bytes(SIZE * 10), 10)
    assert checker.is_off or not checker._blocks


def wrong(packets: list[bytes], number: int) -> Iterator[tuple[int, bytes, bool]]:
    """Packets of a stranger's, when all before `number` have been delivered."""
    true = packets[number]
    yield number, true[:-1] + bytes([true[-1] ^ 1]), False
    yield number, true, True
    yield number, true[:-1], False
    yield number + 1, true, False
    yield number + 300, true, False
    yield len(packets) + 5, true, False


def test_what_contradicts_the_hashes_is_not_taken() -> None:
    _, packets = stream(SIZE * 4000)
    checker = TreeChecker()
    for number, packet in enumerate(packets[:-1]):
        if number >= 20 and number % 7 == 0:
            assert not any(checker.takes(at, data, end=end) for at, data, end in wrong(packets, number)), number
        assert checker.takes(number, packet, end=False)
        checker.learn(packet)
    assert not checker.takes(len(packets) - 1, packets[-1], end=False), "the end is where it was said to be"


def test_a_stream_without_a_tree_goes_unchecked() -> None:
    checker = TreeChecker()
    assert checker.takes(3, b"any", end=False)
    assert not checker.takes(3, b"any", end=True), "not before it is known that there is none"
    assert checker.takes(0, b"any", end=True)
    checker.learn(b"any")
    assert checker.is_off
    assert checker.takes(99999, b"any", end=True)
    assert checker.strip(0, b"any") == b"any"


def test_a_wrong_table_before_the_root_ends_the_checking() -> None:
    _, packets = stream(SIZE * 500)
    checker = TreeChecker()
    assert checker.takes(1, bytes(SIZE), end=False), "nothing is known yet"
    checker.learn(packets[0])
    checker.learn(bytes(SIZE))
    assert checker.is_off, "and the whole file's hash says the rest"


def test_hostile_roots() -> None:
    rng = random.Random(1)
    for _ in range(300):
        packet = bytearray(stream(SIZE * 500)[1][0] if rng.random() < 0.02 else b"CTRE\1" + rng.randbytes(SIZE - 5))
        packet[8:10] = SIZE.to_bytes(2, "big")
        checker = TreeChecker()
        for _ in range(20):
            checker.learn(bytes(packet))
        assert len(checker._hashes) + sum(len(table) for _, _, table in checker._blocks) < 20 * SIZE


def test_with_its_root_told_nothing_is_taken_unchecked() -> None:
    content, packets = stream(SIZE * 500)
    checker = TreeChecker()
    checker.pin(hashlib.sha256(packets[0]).digest())
    assert not checker.takes(0, packets[1], end=False)
    assert not checker.takes(1, packets[1], end=False)
    assert not checker.takes_run(1, packets[1] + packets[2], 2)
    got = b""
    for number, packet in enumerate(packets):
        end = number == len(packets) - 1
        assert not checker.takes(number, packet[:-1] + bytes([packet[-1] ^ 1]), end=end)
        assert checker.takes(number, packet, end=end)
        checker.learn(packet)
        got += checker.strip(number * SIZE, packet)
    assert got == content


def test_a_root_that_is_none_does_not_open_what_is_told() -> None:
    checker, nonsense = TreeChecker(), bytes(SIZE)
    checker.pin(hashlib.sha256(nonsense).digest())
    checker.learn(nonsense)
    assert checker.is_off
    assert not checker.takes(1, b"anything", end=False)
    assert not checker.takes_run(1, b"anything", 2)

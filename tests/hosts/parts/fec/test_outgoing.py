import random

from hosts.parts.fec.outgoing import BLOCK_SYMBOLS, OutgoingBlocks
from hosts.parts.fec.pieces import LEAST_PAYLOAD_BYTES, parse_piece

BLOCK_BYTES = 8 * BLOCK_SYMBOLS


def full(blocks: int, most_open: int = 4) -> OutgoingBlocks:
    outgoing = OutgoingBlocks(LEAST_PAYLOAD_BYTES, most_open)
    for _ in range(blocks):
        outgoing.write(bytes(BLOCK_BYTES))
    return outgoing


def do(outgoing: OutgoingBlocks) -> int:
    """What is to be done for repairs; how much that was."""
    work = outgoing.take_work()
    for one in work:
        one.work()
    return len(work)


def test_a_block_more_is_taken_when_everybody_has_one() -> None:
    outgoing = full(4)
    assert outgoing.space == 0
    outgoing.free(1)
    assert outgoing.space == BLOCK_BYTES


def test_repairs_go_first_and_tell_how_many_follow() -> None:
    outgoing = full(2)
    for seq in range(BLOCK_SYMBOLS):
        outgoing.next_piece(seq)
    assert outgoing.passed == 1
    outgoing.need(((0, 3), (1, 5), (9, 5)), BLOCK_SYMBOLS - 1)
    assert parse_piece(outgoing.next_piece(BLOCK_SYMBOLS)).block == 1, "the first repair takes its time"
    do(outgoing)
    pieces = [parse_piece(outgoing.next_piece(BLOCK_SYMBOLS + 1 + count)) for count in range(4)]
    assert [(piece.block, piece.coming) for piece in pieces] == [(0, 2), (0, 1), (0, 0), (1, 0)]
    assert outgoing.repair_packets == 3


def test_the_neediest_is_who_counts_and_what_is_on_its_way_counts_for_everybody() -> None:
    outgoing = full(1)
    outgoing.finish()
    for seq in range(BLOCK_SYMBOLS):
        outgoing.next_piece(seq)
    last = BLOCK_SYMBOLS - 1
    outgoing.need(((0, 3),), last)
    outgoing.need(((0, 5),), last)
    outgoing.need(((0, 2),), last)
    assert do(outgoing) == 1, "once for each block"
    repairs = [parse_piece(outgoing.next_piece(last + count)) for count in range(1, 6)]
    assert {piece.block for piece in repairs} == {0}
    outgoing.need(((0, 5),), last)
    assert parse_piece(outgoing.next_piece(last + 6)).block == 1
    outgoing.need(((0, 2),), last + 5)  # it has seen those five, and lacks two still
    assert [parse_piece(outgoing.next_piece(last + count)).block for count in (7, 8)] == [0, 0]
    assert not outgoing.has_piece


def test_an_empty_stream_has_a_last_block() -> None:
    outgoing = OutgoingBlocks(LEAST_PAYLOAD_BYTES, 4)
    outgoing.finish()
    piece = parse_piece(outgoing.next_piece(0))
    assert piece.last
    assert piece.length == 0
    assert outgoing.end_of(1) == 0


def test_pieces_in_runs_are_those_that_leave_one_by_one() -> None:
    """Whatever is asked for between."""
    rng = random.Random(1)
    content = rng.randbytes(4 * BLOCK_BYTES)
    both = [OutgoingBlocks(LEAST_PAYLOAD_BYTES, 5) for _ in range(2)]
    for outgoing in both:
        for at in range(0, len(content), BLOCK_BYTES):
            outgoing.write(content[at : at + BLOCK_BYTES])
        outgoing.finish()
    one, runs = both
    seq = 0
    while one.has_piece:
        count = rng.randrange(1, 70)
        alone = [one.next_piece(seq + number) for number in range(count) if one.has_piece]
        assert runs.next_pieces(seq, count) == b"".join(alone)
        seq += len(alone)
        if rng.random() < 0.2 and one.passed:
            for outgoing in both:
                outgoing.need(((outgoing.passed - 1, 3),), seq - 1)
                do(outgoing)
    assert not runs.has_piece
    assert (one.repair_packets, one.passed) == (runs.repair_packets, runs.passed)
    assert runs.repair_packets > 3

import random
from typing import Any

import pytest

from hosts.endpoint import Deliver, Effect, StreamEnded
from hosts.parts.fec.incoming import MOST_CLAIMS, IncomingBlocks
from hosts.parts.fec.outgoing import BLOCK_SYMBOLS, OutgoingBlocks
from hosts.parts.fec.pieces import LEAST_PAYLOAD_BYTES, Piece, parse_piece

BLOCK_BYTES = 8 * BLOCK_SYMBOLS


def pieces_of(data: bytes) -> list[Piece]:
    outgoing = OutgoingBlocks(LEAST_PAYLOAD_BYTES, 10)
    for at in range(0, len(data), BLOCK_BYTES):
        outgoing.write(data[at : at + BLOCK_BYTES])
    outgoing.finish()
    found: list[Piece] = []
    while outgoing.has_piece:
        found.append(parse_piece(outgoing.next_piece(len(found))))
    return found


@pytest.fixture
def incoming() -> IncomingBlocks:
    return IncomingBlocks(LEAST_PAYLOAD_BYTES, 10)


def delivered(effects: list[Effect]) -> bytes:
    return b"".join(effect.data for effect in effects if isinstance(effect, Deliver))


def test_blocks_are_delivered_in_order_whatever_the_order_of_their_packets(incoming: IncomingBlocks) -> None:
    data = random.Random(1).randbytes(2 * BLOCK_BYTES + 100)
    pieces = pieces_of(data)
    random.Random(2).shuffle(pieces)
    effects: list[Effect] = []
    for piece in pieces:
        incoming.take(piece)
        incoming.deliver(effects)
    assert delivered(effects) == data
    assert effects[-1] == StreamEnded(len(data))
    assert incoming.needs() == []


def test_it_says_what_it_lacks_of_the_blocks_that_should_be_there(incoming: IncomingBlocks) -> None:
    pieces = pieces_of(bytes(3 * BLOCK_BYTES))
    for piece in pieces[5 : 2 * BLOCK_SYMBOLS - 7]:
        incoming.take(piece)
    assert incoming.needs() == [(0, 5)]
    incoming.take(pieces[2 * BLOCK_SYMBOLS - 1])
    assert incoming.needs() == [(0, 5), (1, 6)]


def test_a_block_is_free_when_the_application_has_consumed_it(incoming: IncomingBlocks) -> None:
    for piece in pieces_of(bytes(2 * BLOCK_BYTES)):
        incoming.take(piece)
    incoming.deliver([])
    assert incoming.free == 0
    incoming.consumed(2 * BLOCK_BYTES - 1)
    assert incoming.free == 1


def test_a_wrong_packet_costs_its_block_a_repair(incoming: IncomingBlocks) -> None:
    data = random.Random(1).randbytes(2 * BLOCK_BYTES)
    pieces = pieces_of(data)
    wrong = pieces[3]._replace(packet=pieces[3].packet[:4] + bytes(8))
    effects: list[Effect] = []
    for piece in [wrong, *pieces]:
        incoming.take(piece)
        incoming.deliver(effects)
    assert not effects
    assert incoming.wrong == 1
    assert incoming.needs() == [(0, 0xFFFF)]
    for piece in pieces[:BLOCK_SYMBOLS]:
        incoming.take(piece)
    incoming.deliver(effects)
    assert delivered(effects) == data


@pytest.mark.parametrize(
    "changes", [{"last": True}, {"length": 8}, {"length": 0, "last": True}, {"digest": b"another!"}]
)
def test_a_packet_that_contradicts_the_others_stands_alone(incoming: IncomingBlocks, changes: dict[str, Any]) -> None:
    data = random.Random(1).randbytes(2 * BLOCK_BYTES)
    pieces = pieces_of(data)
    effects: list[Effect] = []
    for number, piece in enumerate(pieces):
        if number == 0:
            incoming.take(piece._replace(**changes, packet=piece.packet[:4] + bytes(8)))
        incoming.take(piece)
        incoming.deliver(effects)
    assert delivered(effects) == data
    assert effects[-1] == StreamEnded(len(data))


def with_a_repair(data: bytes) -> tuple[list[Piece], Piece]:
    """A block's pieces, and one of RaptorQ's."""
    outgoing = OutgoingBlocks(LEAST_PAYLOAD_BYTES, 10)
    outgoing.write(data)
    pieces = [parse_piece(outgoing.next_piece(seq)) for seq in range(BLOCK_SYMBOLS)]
    outgoing.need(((0, 1),), BLOCK_SYMBOLS)
    for one in outgoing.take_work():
        one.work()
    return pieces, parse_piece(outgoing.next_piece(BLOCK_SYMBOLS))


def test_what_raptorq_makes_whole_is_work_for_a_thread(incoming: IncomingBlocks) -> None:
    data = random.Random(1).randbytes(BLOCK_BYTES)
    pieces, repair = with_a_repair(data)
    effects: list[Effect] = []
    for piece in pieces[1:]:
        incoming.take(piece)
    incoming.passed = 1
    assert incoming.needs() == [(0, 1)]
    assert incoming.take_work() == []
    incoming.take(repair)
    (one,) = incoming.take_work()
    assert incoming.needs() == [], "what is being solved is not asked for"
    incoming.settle()
    assert not incoming.deliver(effects)
    incoming.take(pieces[0])  # it is late, and changes nothing
    one.work()
    incoming.settle()
    assert incoming.deliver(effects)
    assert effects == [Deliver(0, data)]
    assert incoming.wrong == 0


def test_a_wrong_symbol_is_found_by_the_block_s_hash_after_solving(incoming: IncomingBlocks) -> None:
    data = random.Random(1).randbytes(BLOCK_BYTES)
    pieces, repair = with_a_repair(data)
    for piece in pieces[1:]:
        incoming.take(piece)
    incoming.take(repair._replace(packet=repair.packet[:4] + bytes(8)))
    for one in incoming.take_work():
        one.work()
    incoming.settle()
    assert incoming.wrong == 1
    assert not incoming.deliver([])
    for piece in pieces:
        incoming.take(piece)
    assert incoming.deliver([])


def test_what_blocks_are_said_to_be_is_bounded() -> None:
    incoming = IncomingBlocks(LEAST_PAYLOAD_BYTES, 2)
    for number in range(100):
        incoming.take(Piece(0, BLOCK_BYTES, False, 1, bytes(12), digest=number.to_bytes(8, "big")))
    assert len(incoming._decoders[0]) == MOST_CLAIMS


def test_what_is_too_far_ahead_is_not_kept() -> None:
    incoming = IncomingBlocks(LEAST_PAYLOAD_BYTES, 2)
    for block in (0, *range(2, 50)):
        incoming.take(Piece(block, BLOCK_BYTES, False, 50, bytes(12)))
    assert [block for block, _ in incoming.needs()] == [0, 1]
    with pytest.raises(ValueError, match="symbols"):
        incoming.take(Piece(1, 2**24 - 1, False, 50, bytes(12)))

"""When a file's receiver says what it has."""

import random
from itertools import pairwise

from hosts.endpoint import Address, Datagram, Effect, Send
from hosts.parts.fec.block import BlockEncoder, symbol_bytes
from hosts.parts.fec.pieces import PAYLOAD, Piece, encode_piece
from hosts.protocol import Session
from hosts.protocols.arbor.file_receiver import ArborFileReceiver
from hosts.protocols.arbor.lacking import LEAST_TURN_S, WORD_BLOCKS
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.packets import FLAG_FILE, WELCOME, Blocks, Data, Welcome, encode_data, parse
from hosts.wire.short_hash import short_hash
from hosts.wire.units import to_units

SENDER, GROUP, OWN = Address("10.0.0.1", 5000), Address("239.1.2.3", 5001), Address("10.0.0.2", 40000)
PAYLOAD_BYTES = 100
RTT = 0.002


class Member:
    """A receiver of blocks of one byte each, each 0.1 ms, which are written as they come."""

    def __init__(self, receivers: int) -> None:
        session = Session(group=GROUP, source=None, session=None, receivers=receivers, deliver=True)
        options = ArborOptions(payload_bytes=PAYLOAD_BYTES, join_spread_s=0.0)
        self.core = ArborFileReceiver(session, options, random.Random(1))
        self.receivers = receivers
        self.core.start(now=0.0)
        self.now = 1.0
        self._data(0, b"")
        self.core.handle_timer(now=self.now)
        welcome = Welcome(1, self.core.id, int(self.now * 1e6), int(self.now * 1e6))
        self.core.receive(Datagram(WELCOME.encode(welcome), SENDER, OWN), now=self.now)

    def _data(self, seq: int, payload: bytes) -> list[Effect]:
        data = Data(
            1, FLAG_FILE, seq, 0, to_units(1000), int(RTT * 1e6), int(self.now * 1e6), 0, self.receivers, payload
        )
        return list(self.core.receive(Datagram(encode_data(data), SENDER, GROUP), now=self.now))

    def block(self, number: int) -> list[Blocks]:
        """What it says when it has one more."""
        self.now += 0.0001
        packet = BlockEncoder(b"x", symbol_bytes(PAYLOAD_BYTES - PAYLOAD.size)).next_packet()
        piece = Piece(number, 1, False, number, packet, digest=short_hash(b"x"))
        effects = [*self._data(number + 1, encode_piece(piece)), *self.core.consumed(1, now=self.now)]
        words = [parse(effect.data) for effect in effects if isinstance(effect, Send)]
        return [word for word in words if isinstance(word, Blocks)]


def test_on_a_fast_link_it_speaks_before_its_turn() -> None:
    """Else a sender of 64 blocks at a time has nothing left to send."""
    member = Member(2)
    words = [word for number in range(200) for word in member.block(number)]
    assert member.now - 1 < LEAST_TURN_S / 2
    freed = [0, *(word.delivered for word in words)]
    steps = [later - before for before, later in pairwise(freed)]
    assert len(words) > 200 // WORD_BLOCKS
    assert all(WORD_BLOCKS // 2 <= step <= WORD_BLOCKS for step in steps)


def test_of_many_it_waits_for_as_long_as_all_need_to_say_a_word() -> None:
    member = Member(1000)
    assert sum(len(member.block(number)) for number in range(200)) <= 1

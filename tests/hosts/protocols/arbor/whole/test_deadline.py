"""Real-time data with a deadline: what a playout buffer lacks of them."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.endpoint import Address, Datagram, Effect, Send, SenderEndpoint
from hosts.parts.playout import PlayoutBuffer
from hosts.protocol import Session
from hosts.protocols.arbor import PROTOCOL
from hosts.protocols.arbor.deadline_receiver import KEPT, MOST_OPEN, DeadlineReceiver
from hosts.protocols.arbor.deadline_sender import DeadlineSender
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.packets import FLAG_REPAIRED, JOIN, Blocks, Data, Join, encode_blocks, encode_data, parse
from hosts.protocols.arbor.repairs import HEAD, MOST_PACKETS, of_stream, repair, symbol_size
from tests.hosts.protocols.arbor.world import PAYLOAD
from tests.hosts.star import GROUP, Greedy, Star

DEADLINE_S = 0.3
PIECE = 700
RATE_BPS = 1.5e6
END_S = 12.0
BLOCK_PACKETS = int(RATE_BPS / 8 / PIECE * DEADLINE_S / 4) + 1
"""At most."""


class Camera(Greedy):
    """An application with so many bytes a second, in pieces, whose stream ends."""

    def __init__(self, endpoint: SenderEndpoint) -> None:
        super().__init__(endpoint)
        self._next_at = 0.1
        self.written = 0

    def fed(self, effects: Sequence[Effect], now: float) -> list[Effect]:
        found = list(effects)
        while self._next_at <= now and not self.endpoint.closed:
            self._next_at += PIECE * 8 / RATE_BPS
            if self._next_at >= END_S:
                self._next_at = float("inf")
                found += self.endpoint.finish(now=now)
            elif self.endpoint.send_space >= PIECE:
                self.written += PIECE
                found += self.endpoint.write(bytes(PIECE), now=now)
        return found

    @property
    def wake_at(self) -> float | None:
        at = self.endpoint.wake_at
        return None if at is None else min(at, self._next_at)


class DeadlineWorld(Star[Any, Any]):
    """A camera, and receivers that lose packets."""

    greedy: Camera

    def __init__(self, receivers: Sequence[Mapping[str, Any]], deadline_s: float, seed: int = 1) -> None:
        super().__init__(
            PROTOCOL.make_sender,
            PROTOCOL.make_receiver,
            ArborOptions(payload_bytes=PAYLOAD, deadline_s=deadline_s),
            receivers,
            bottleneck={"rate_bps": 10e6, "delay_us": 15_000.0, "limit_packets": 60},
            seed=seed,
            deliver=True,
            feed=Camera,
        )
        self.run(END_S + 3)

    def played(self, number: int) -> tuple[PlayoutBuffer, int]:
        """What a playout buffer makes of it that waits for as long as repairs may take; and the bytes that it plays."""
        buffer = PlayoutBuffer(DEADLINE_S)
        for datagram in self.delivered[number]:
            buffer.take(datagram.arrived_at)
            buffer.add(datagram)
        buffer.take(1e9)
        return buffer, buffer.bytes


@pytest.mark.parametrize("seed", [1, 2])
def test_at_two_per_cent_of_loss_nobody_has_a_gap(seed: int) -> None:
    world = DeadlineWorld([{"loss": 0.02, "delay_us": 1000.0 * number} for number in range(8)], DEADLINE_S, seed)
    for number, receiver in enumerate(world.receivers):
        buffer, played = world.played(number)
        assert (buffer.lost, buffer.late) == (0, 0)
        first = world.delivered[number][0]
        assert first.seq <= 2  # what was lost before it was there is no gap
        assert played + first.offset == world.greedy.written == world.sender.sent_bytes
        assert receiver.counters["repaired"] > 0.01 * receiver.data_packets
        assert receiver.closed
    repairs = world.sender.counters["repair_packets"] / world.sender.counters["data_packets"]
    assert 0.02 < repairs < 0.35


def test_without_a_deadline_it_has_some() -> None:
    world = DeadlineWorld([{"loss": 0.02}], 0.0)
    assert world.played(0)[0].loss > 0.01


def test_without_losses_hardly_anything_is_repaired() -> None:
    world = DeadlineWorld([{}], DEADLINE_S)
    assert world.played(0)[0].lost == 0
    assert world.receivers[0].counters["repaired"] == 0
    assert world.sender.counters["repair_packets"] < 0.1 * world.sender.counters["data_packets"]


def test_who_comes_later_takes_what_comes_from_then_on() -> None:
    world = DeadlineWorld([{"loss": 0.02}, {"loss": 0.02, "join": 5.03}], DEADLINE_S)
    first = world.delivered[1][0].seq
    # Of the block in whose middle it came it has no repairs.
    world.delivered[1] = [one for one in world.delivered[1] if one.seq >= first + BLOCK_PACKETS]
    buffer, played = world.played(1)
    assert (buffer.lost, buffer.late) == (0, 0)
    assert 0.5 * world.greedy.written < played < 0.8 * world.greedy.written


def test_bursts_beyond_what_is_sent_unasked_are_asked_for() -> None:
    world = DeadlineWorld([{"gilbert_elliott": (0.001, 0.1, 0.0, 1.0)}], DEADLINE_S)
    (receiver,) = world.receivers
    assert receiver.gaps.lost_packets > 10
    assert receiver.counters["repaired"] > 10
    buffer, _ = world.played(0)
    assert (buffer.lost, buffer.late) == (0, 0)


numbers = st.one_of(st.integers(0, 300), st.integers(0, 2**32 - 1))
SENDER = Address("10.0.0.1", 40000)
OPTIONS = ArborOptions(payload_bytes=200, deadline_s=DEADLINE_S)
SESSION = Session(GROUP, session=7, realtime=True, deliver=True)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(numbers, st.integers(0, 140), st.integers(0, 9), st.binary(max_size=200)), max_size=60))
def test_no_payload_breaks_a_receiver_or_fills_it(heads: list[tuple[int, int, int, bytes]]) -> None:
    receiver = DeadlineReceiver(SESSION, OPTIONS, Random(1))
    receiver.start(now=0.0)
    for seq, (number, count, coming, rest) in enumerate(heads):
        payload = HEAD.pack(number, count, coming) + rest
        data = encode_data(Data(7, FLAG_REPAIRED, seq, 1, 1000, 20_000, seq, seq, 9, payload))
        receiver.receive(Datagram(data, SENDER, GROUP), now=0.01 * seq)
        receiver.handle_timer(now=0.01 * seq)
        assert len(receiver._symbols) <= KEPT
        assert len(receiver._lacking) <= KEPT
        assert len(receiver._open) <= MOST_OPEN


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(numbers, st.integers(0, 65_535), numbers, numbers), max_size=40))
def test_nobody_s_words_make_the_sender_send_much(said: list[tuple[int, int, int, int]]) -> None:
    sender = DeadlineSender(SESSION, OPTIONS, Random(1))
    sender.start(now=0.0)
    member = Address("10.0.0.9", 40000)
    sender.receive(Datagram(JOIN.encode(Join(7, 9, 1, 0)), member, SENDER), now=0.01)
    now = 0.01
    for number, packets, seq, lost in said:
        now += 0.03
        sender.write(bytes(min(sender.send_space, 400)), now=now)
        words = encode_blocks(Blocks(7, 9, seq, lost, ((number, packets),)))
        sender.receive(Datagram(words, member, SENDER), now=now)
        sender.handle_timer(now=now)
        assert 0 <= sender.loss <= 1
        assert sum(block.wanted for block in sender._owing) <= MOST_PACKETS * (DEADLINE_S / 0.03 + 2)


def test_nothing_is_asked_for_when_it_would_come_too_late() -> None:
    receiver = DeadlineReceiver(SESSION, OPTIONS, Random(1))
    receiver.start(now=0.0)
    said: list[tuple[float, object]] = []

    def hear(effects: Sequence[Effect], now: float) -> None:
        for effect in effects:
            if isinstance(effect, Send) and isinstance(words := parse(effect.data), Blocks) and words.needs:
                said.append((now, words.needs))

    size = symbol_size(OPTIONS.payload_bytes)
    for seq, payload in enumerate((of_stream(0, b"x"), repair(0, 4, 0, bytes(3) + b"\4" + bytes(size)))):
        data = encode_data(Data(7, FLAG_REPAIRED, seq, 1, 1000, 20_000, 0, 0, 1, payload))
        hear(receiver.receive(Datagram(data, SENDER, GROUP), now=0.01), 0.01)
    for step in range(2, 300):
        hear(receiver.handle_timer(now=0.01 * step), 0.01 * step)
    assert said
    assert all(now < 0.01 + DEADLINE_S and needs == ((0, 2),) for now, needs in said)

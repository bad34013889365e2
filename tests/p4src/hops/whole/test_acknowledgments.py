"""RLA's acknowledgments that neighbours vouch for: they are merged as open ones are, but not together with these, and
what passes beside news of others leaves with a tag of its own."""

import random
from dataclasses import dataclass

import pytest

from hosts.protocols.rla.packets import OPEN_HEADS, Ack, Data, Type, encode_ack, encode_data, parse
from tests.p4src.bench.feedback import GROUP, Bench
from tests.p4src.bench.packets import host_ip, join
from tests.p4src.bench.sealed import SWITCH_PORT, Sealed
from tests.p4src.bench.setup import route_source
from tests.p4src.bench.target import Target
from tests.p4src.conftest import TargetFactory


def ack(number: int, cumulative: int, **changes: object) -> Ack:
    """A receiver's, that may be merged."""
    packet = Ack(7, False, True, False, cumulative, 9000, 5, number, 1 << number, 0)
    return packet._replace(**changes)  # type: ignore[arg-type]


def hole(number: int, cumulative: int, sack: int) -> Ack:
    """A receiver's that tells of a new hole."""
    return ack(number, cumulative, merge=False, passes=True, children=0, sack=sack)


def data(seq: int) -> bytes:
    return encode_data(Data(7, False, False, seq, 40, 1, 2, b"x" * 50, True))


@dataclass
class SealedBench(Sealed):
    """A switch with keys, after data that have passed."""

    packets: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        for seq in range(self.packets):
            head = OPEN_HEADS[Type.DATA]
            assert self.data(data(seq), head) == data(seq)[: head.size]

    def all_up(self, port: int, packet: Ack) -> list[Ack]:
        return [_read(left) for left in self.all_sent(port, self.frame_of(port, encode_ack(packet)))]


def _read(packet: bytes) -> Ack:
    parsed = parse(packet)
    assert isinstance(parsed, Ack)
    return parsed


def begin(target: Target, packets: int = 10) -> SealedBench:
    """An acknowledgment of each of two receivers has passed."""
    sealed = SealedBench(target, packets=packets)
    assert sealed.all_up(2, ack(2, 1)) == [ack(2, 1)]  # alone
    (first,) = sealed.all_up(3, ack(3, 1))
    assert (first.merged, first.children, first.cumulative) == (True, 0b1100, 1)
    return sealed


def test_two_acknowledgments_become_one_that_the_switch_vouches_for(target: Target) -> None:
    sealed = begin(target)
    assert sealed.all_up(2, ack(2, 5, window=8000)) == []
    (merged,) = sealed.all_up(3, ack(3, 4, sack=0b101))
    assert (merged.merged, merged.passes, merged.echo_time_us) == (True, False, 0)
    assert (merged.cumulative, merged.window, merged.children, merged.sack) == (4, 8000, 0b1100, 0)
    assert target.drops() == {}


def test_what_passes_and_the_news_of_others_are_vouched_for_both(target: Target) -> None:
    sealed = begin(target)
    assert sealed.all_up(2, ack(2, 5)) == []
    left = sealed.all_up(3, ack(3, 4, passes=True))
    assert ack(3, 4, passes=True) in left
    (news,) = [one for one in left if one.merged]
    assert (news.cumulative, news.children) == (4, 0b1100)
    left = sealed.all_up(3, hole(3, 4, 0b111))  # the other is no longer held up
    assert hole(3, 4, 0b111) in left
    assert [(one.cumulative, one.children) for one in left if one.merged] == [(5, 0b0100)]
    assert sealed.bench.outcomes()["sample"] == 1


def test_what_a_neighbour_did_not_tag_is_dropped_whatever_was_changed(target: Target) -> None:
    """At the first switch, and it is in nobody's summary."""
    sealed = begin(target)
    drops, sent = sealed.drops_what_is_changed(2, encode_ack(ack(2, 4)))
    assert drops["hop_tag"] >= sent - 2  # nobody is at the other addresses
    assert sum(drops.values()) == sent
    sealed.all_up(2, ack(2, 2))  # where time is the machine's, its first one may be forgotten by now
    (merged,) = sealed.all_up(3, ack(3, 4))
    assert (merged.cumulative, merged.children) == (2, 0b1100)


def test_what_has_come_before_is_dropped(target: Target) -> None:
    sealed = SealedBench(target)
    first, second = (sealed.frame_of(2, encode_ack(ack(2, number))) for number in (1, 2))
    sealed.drops_what_has_come_before(first, second)


def test_only_who_is_a_switch_summarises(target: Target) -> None:
    sealed = SealedBench(target)
    forged = encode_ack(ack(2, 9, merged=True, children=(1 << 128) - 1))
    assert target.send(2, sealed.frame_of(2, forged)) == []
    below = ack(SWITCH_PORT, 9, merged=True, children=0b1100000)
    assert sealed.all_up(SWITCH_PORT, below) == [below]
    route_source(target, host_ip(2), GROUP, 2, accept=[2])
    target.send(3, join(GROUP, host_ip(2)))
    assert target.send(2, sealed.frame_of(2, encode_ack(ack(2, 1)), to=GROUP)) == []  # it goes to the sender alone
    assert target.drops() == {"forged_feedback": 2}


def test_what_nobody_vouches_for_passes_alone(target: Target) -> None:
    """The end-to-end tag is the sender's to check; but what it says is in nobody's summary."""
    sealed = SealedBench(target, without=frozenset({4}))
    for cumulative in (1, 2, 3):
        for port, frame in (
            (4, sealed.frame_of(4, encode_ack(ack(4, cumulative)))),
            (3, sealed.frame_of(3, encode_ack(ack(3, cumulative)), counter=0)),
        ):
            assert sealed.sends(port, frame, vouched=False) == encode_ack(ack(port, cumulative))
    for port in (3, 4):
        assert target.send(port, sealed.frame_of(port, encode_ack(ack(port, 9, merged=True)), counter=0)) == []
    assert target.drops() == {"forged_feedback": 2}
    assert sealed.bench.outcomes() == {}


def test_open_acknowledgments_are_not_merged_with_sealed(target: Target) -> None:
    sealed = begin(target)
    for cumulative in (5, 1, 9):
        assert sealed.bench.up(4, encode_ack(ack(4, cumulative))) == [encode_ack(ack(4, cumulative))]
    assert sealed.all_up(2, ack(2, 4)) == []
    (merged,) = sealed.all_up(3, ack(3, 4))
    assert (merged.cumulative, merged.children) == (4, 0b1100)
    assert sealed.bench.outcomes()["no_slot"] == 3


@pytest.mark.parametrize("seed", range(3))
def test_what_is_merged_is_what_it_is_without(targets: TargetFactory, seed: int) -> None:
    """The same history, open and sealed, packet by packet."""
    rng = random.Random(seed)
    history = []
    told = dict.fromkeys((2, 3, 4), 0)
    for _ in range(80):
        child = rng.choice([2, 3, 4])
        told[child] = min(told[child] + rng.randrange(3), 28)
        sack = 0b10 if told[child] < 26 and rng.random() < 0.2 else 0
        packet = ack(child, told[child], sack=sack, window=9000 + rng.randrange(3) * 1000, passes=rng.random() < 0.2)
        history.append(
            (child, hole(child, told[child], 0b11) if sack and packet.passes else packet, rng.randrange(15_000))
        )

    one, other = targets(2)
    if not one.exact_time:
        pytest.skip("what is merged depends on times")
    sealed, plain = SealedBench(one, packets=30), Bench(other)
    plain.assist(frozenset({SWITCH_PORT}))
    for seq in range(30):
        plain.down(data(seq))
    merged = absorbed = 0
    for child, packet, pause_us in history:
        left = sorted(sealed.all_up(child, packet))
        assert left == sorted(map(_read, plain.up(child, encode_ack(packet))))
        merged += any(one.merged for one in left)
        absorbed += not left
        one.advance(pause_us)
        other.advance(pause_us)
    assert absorbed > 10
    assert merged > 5

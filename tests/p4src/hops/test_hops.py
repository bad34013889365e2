"""Feedback that neighbours vouch for, on both switches: tags, counters, and that merging says what it says without."""

import random
from dataclasses import dataclass

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from hosts.protocols.mtcp.packets import FEEDBACK, FLAG_MERGED, Feedback, parse
from hosts.protocols.mtcp.wire import UNLIMITED
from hosts.wire.header import VERSION
from tests.p4src.bench.feedback import GROUP, PARENT_PORT, Bench
from tests.p4src.bench.packets import SWITCH_MAC, UDP_PORT, host_ip, host_mac, join
from tests.p4src.bench.sealed import SINCE, SWITCH_PORT, Sealed, key_out
from tests.p4src.bench.setup import route_source
from tests.p4src.bench.target import Target
from tests.p4src.conftest import TargetFactory


@dataclass
class SealedBench(Sealed):
    """Such a switch, after data that have passed."""

    packets: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        for seq in range(self.packets):
            self.bench.data(seq)

    def frame(self, port: int, packet: Feedback, counter: int | None = None, to: str | None = None) -> bytes:
        return self.frame_of(port, FEEDBACK.encode(packet), counter, to)

    def send(self, port: int, frame: bytes, *, vouched: bool = True) -> Feedback | None:
        left = self.sends(port, frame, vouched=vouched)
        if left is None:
            return None
        packet = parse(left)
        assert isinstance(packet, Feedback)
        return packet

    def feedback(self, port: int, packet: Feedback) -> Feedback | None:
        return self.send(port, self.frame(port, packet))


def ack(child: int, cumulative: int, **more: object) -> Feedback:
    mine = 1 << child
    packet = Feedback(7, False, cumulative, 0, 0, 0, UNLIMITED, 0, 10_000, 0, True, child, mine, mine)
    return packet._replace(**more)  # type: ignore[arg-type]


def test_two_acknowledgments_become_one_that_the_switch_vouches_for(target: Target) -> None:
    sealed = SealedBench(target)
    for child in (2, 3):
        assert sealed.feedback(child, ack(child, 1)) == ack(child, 1)
    assert sealed.feedback(2, ack(2, 5)) is not None
    assert sealed.feedback(2, ack(2, 6, window=20_000)) is None
    merged = sealed.feedback(3, ack(3, 4, min_cwnd=14_000, max_twnd=2_800))
    assert merged is not None
    assert merged.merged
    assert (merged.cumulative, merged.min_cwnd, merged.max_twnd, merged.window) == (4, 14_000, 2_800, 10_000)
    assert (merged.children, merged.holders, merged.number) == (0b1100, 0b1000, 3)
    assert target.drops() == {}


def test_what_a_neighbour_did_not_tag_is_dropped_whatever_was_changed(target: Target) -> None:
    sealed = SealedBench(target)
    assert sealed.feedback(2, ack(2, 1)) == ack(2, 1)
    drops, changed = sealed.drops_what_is_changed(2, FEEDBACK.encode(ack(2, 2)), step=4)
    assert drops.pop("hop_tag") == changed - sum(drops.values())
    assert sealed.feedback(2, ack(2, 2)) == ack(2, 2)


def test_what_has_come_before_is_dropped(target: Target) -> None:
    sealed = SealedBench(target)
    first, second = sealed.frame(2, ack(2, 1)), sealed.frame(2, ack(2, 2))
    assert all(isinstance(parse(left), Feedback) for left in sealed.drops_what_has_come_before(first, second))


def test_only_who_is_a_switch_summarises(target: Target) -> None:
    sealed = SealedBench(target)
    forged = ack(2, 9, merged=True, children=(1 << 128) - 1)
    assert target.send(2, sealed.frame(2, forged)) == []
    below = ack(SWITCH_PORT, 9, merged=True, children=0b1100000, holders=0b1000000)
    assert sealed.feedback(SWITCH_PORT, below) == below
    route_source(target, host_ip(2), GROUP, 2, accept=[2])
    target.send(3, join(GROUP, host_ip(2)))
    assert target.send(2, sealed.frame(2, ack(2, 1), to=GROUP)) == []  # feedback goes to a parent alone
    assert target.drops() == {"forged_feedback": 2}


def test_what_nobody_vouches_for_passes_alone(target: Target) -> None:
    """The end-to-end tag is the parent's to check; but what it says is in nobody's summary."""
    sealed = SealedBench(target, without=frozenset({4}))
    for cumulative in (1, 2, 3):
        plain = sealed.frame(4, ack(4, cumulative))
        assert sealed.send(4, plain, vouched=False) == ack(4, cumulative)
        unsigned = sealed.frame(3, ack(3, cumulative), counter=0)
        assert sealed.send(3, unsigned, vouched=False) == ack(3, cumulative)
    for port in (3, 4):
        assert target.send(port, sealed.frame(port, ack(port, 9, merged=True), counter=0)) == []
    assert target.drops() == {"forged_feedback": 2}
    assert sealed.bench.outcomes() == {}


def test_open_feedback_is_not_merged_with_sealed(target: Target) -> None:
    sealed = SealedBench(target)
    for child in (2, 3):
        assert sealed.feedback(child, ack(child, 1)) is not None
    for cumulative in (5, 1, 9):
        assert sealed.bench.feedback(4, ack(4, cumulative)) == ack(4, cumulative)
    sealed.feedback(2, ack(2, 4))
    merged = sealed.feedback(3, ack(3, 4))
    assert merged is not None
    assert (merged.cumulative, merged.children) == (4, 0b1100)
    assert sealed.bench.outcomes()["no_slot"] == 3


@pytest.mark.parametrize("seed", range(3))
def test_what_is_merged_is_what_it_is_without(targets: TargetFactory, seed: int) -> None:
    """The same history, open and sealed, packet by packet."""
    rng = random.Random(seed)
    history = []
    told = dict.fromkeys((2, 3, 4), 0)
    for _ in range(60):
        child = rng.choice([2, 3, 4])
        told[child] = min(told[child] + rng.randrange(3), 28)
        lacking = told[child] < 26 and rng.random() < 0.2
        more = {"nack": lacking, "sack": 0b10 if lacking else 0}
        more |= {"min_cwnd": rng.choice([14_000, UNLIMITED]), "window": 10_000 + rng.randrange(3) * 1000}
        history.append((child, ack(child, told[child], **more), rng.randrange(15_000)))

    def left(begin: Bench | SealedBench) -> list[Feedback | None]:
        found = []
        for child, packet, pause_us in history:
            found.append(begin.feedback(child, packet))
            begin.target.advance(pause_us)
        return found

    one, other = targets(2)
    if not one.exact_time:
        pytest.skip("what is merged depends on times")
    bench = Bench(other)
    bench.assist(frozenset({SWITCH_PORT}))
    for seq in range(30):
        bench.data(seq)
    plain = left(bench)
    assert left(SealedBench(one, packets=30)) == plain
    assert sum(packet is None for packet in plain) > 10
    assert sum(packet is not None and packet.merged for packet in plain) > 3


def test_a_switch_that_starts_again_counts_on(target: Target) -> None:
    sealed = SealedBench(target)
    assert sealed.feedback(2, ack(2, 1)) is not None
    sealed.sent = 2 * SINCE
    target.modify("hop_out", {"port": PARENT_PORT}, "set_hop_out", {"key": key_out(PARENT_PORT), "since": 2 * SINCE})
    assert sealed.feedback(2, ack(2, 2)) is not None
    target.modify("hop_out", {"port": PARENT_PORT}, "set_hop_out", {"key": key_out(PARENT_PORT), "since": SINCE})
    assert sealed.feedback(2, ack(2, 3)) is not None


def test_an_open_packet_is_none_that_is_sealed(target: Target) -> None:
    """Its first byte says which of the two it is; one without a tag, or with too much behind it, is not taken apart."""
    sealed = SealedBench(target)
    whole = Ether(sealed.frame(2, ack(2, 1)))
    payload = bytes(whole[UDP].payload)
    for wrong in (payload[:-1], payload + b"x", payload[: FEEDBACK.size], bytes([VERSION]) + payload[1:]):
        ip = IP(src=host_ip(2), dst=host_ip(PARENT_PORT), ttl=8)
        frame = Ether(src=host_mac(2), dst=SWITCH_MAC) / ip / UDP(sport=UDP_PORT, dport=UDP_PORT) / wrong
        ((out, left),) = target.send(2, bytes(frame))
        assert (out, bytes(Ether(left)[UDP].payload)[: len(wrong)]) == (PARENT_PORT, wrong)
    assert sealed.bench.outcomes() == {}
    assert FLAG_MERGED == 1

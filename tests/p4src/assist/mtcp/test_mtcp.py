"""Single rules of merging MTCP feedback that the comparison with the model does not reach, on both switches."""

import struct
import zlib
from ipaddress import IPv4Address

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from hosts.protocols.mtcp.packets import FEEDBACK, Feedback
from hosts.protocols.mtcp.wire import UNLIMITED
from tests.p4src.bench.feedback import PARENT_PORT, Bench
from tests.p4src.bench.packets import SWITCH_MAC, UDP_PORT, host_ip, host_mac
from tests.p4src.bench.program import number
from tests.p4src.bench.target import Target


def ack(child: int, cumulative: int, *, session: int = 7, **more: object) -> Feedback:
    """A leaf's ACK, without a time."""
    mine = 1 << child
    packet = Feedback(session, False, cumulative, 0, 0, 0, UNLIMITED, 0, 10_000, 0, True, child, mine, mine)
    return packet._replace(**more)  # type: ignore[arg-type]


def begin(bench: Bench, packets: int = 10) -> None:
    """Merging on, data passed, and one acknowledgment of each of two children."""
    bench.assist(frozenset({6}))
    for seq in range(packets):
        bench.data(seq)
    for child in (2, 3):
        assert bench.feedback(child, ack(child, 1)) == ack(child, 1)


def frame(port: int, packet: Feedback, checksum: int | None = None) -> bytes:
    """Feedback as it is on the wire, with its UDP checksum or another."""
    udp = UDP(sport=UDP_PORT, dport=UDP_PORT, chksum=checksum) / FEEDBACK.encode(packet)
    ip = IP(src=host_ip(port), dst=host_ip(PARENT_PORT), ttl=8)
    return bytes(Ether(src=host_mac(port), dst=SWITCH_MAC) / ip / udp)


def test_two_acknowledgments_become_one(target: Target) -> None:
    bench = Bench(target)
    begin(bench)
    assert bench.feedback(2, ack(2, 5)) is not None  # the first summary
    assert bench.feedback(2, ack(2, 6, window=20_000)) is None  # nothing new, however long it takes
    merged = bench.feedback(3, ack(3, 4, min_cwnd=14_000, max_twnd=2_800))
    assert merged is not None
    assert merged.merged
    assert not merged.nack
    assert (merged.cumulative, merged.min_cwnd, merged.max_twnd, merged.window) == (4, 14_000, 2_800, 10_000)
    assert (merged.children, merged.holders, merged.number) == (0b1100, 0b1000, 3)


def test_a_switch_below_that_speaks_through_one_child_and_another_answers_no_repairs(target: Target) -> None:
    """Their last repairs differ; only what the switch marks answers one, and passes when it says more than the rest."""
    bench = Bench(target)
    begin(bench)
    below = {"merged": True, "children": 0b11 << 8, "holders": 0b11 << 8}
    one, other = ack(8, 1, **below), ack(9, 1, **below, repair_echo_us=77)
    assert bench.feedback(6, one) == one  # the first of the port
    assert bench.feedback(2, ack(2, 1)) is not None  # the first summary
    assert bench.feedback(6, other._replace(cumulative=3)) is None
    assert bench.feedback(6, one._replace(cumulative=4)) is None
    answer = other._replace(cumulative=5, repaired=True)
    assert bench.feedback(6, answer) == answer


def test_nothing_is_touched_until_the_controller_says_so(target: Target) -> None:
    bench = Bench(target)
    bench.data(9)
    for cumulative in (1, 2, 3):
        for child in (2, 3):
            assert bench.feedback(child, ack(child, cumulative)) == ack(child, cumulative)
    assert bench.outcomes() == {}


def test_nothing_is_touched_that_does_not_ask_for_it(target: Target) -> None:
    bench = Bench(target)
    begin(bench)
    for child in (2, 3):
        plain = ack(child, 5)._replace(merge=False)
        assert bench.feedback(child, plain) == plain


def test_without_data_feedback_passes(target: Target) -> None:
    bench = Bench(target)
    bench.assist()
    for cumulative in (1, 2, 3):
        for child in (2, 3):
            assert bench.feedback(child, ack(child, cumulative)) == ack(child, cumulative)
    assert bench.outcomes() == {"out_of_range": 6}


def test_a_summary_from_a_host_is_dropped(target: Target) -> None:
    bench = Bench(target)
    begin(bench)
    forged = ack(2, 9, merged=True, children=(1 << 128) - 1)
    assert bench.feedback(2, forged) is None
    assert bench.feedback(6, ack(6, 9, merged=True, children=0b1100000, holders=0b1000000)) is not None
    assert target.drops() == {"forged_feedback": 1}


def test_two_parents_whose_slots_fall_together(target: Target) -> None:
    """The second passes unmerged, and the first stays merged."""
    bench = Bench(target)
    begin(bench)

    def slot(session: int) -> int:
        key = struct.pack("!I", session) + IPv4Address(host_ip(PARENT_PORT)).packed
        return zlib.crc32(key) % number("MTCP_SLOTS")

    other = next(
        session
        for session in range(8, 100_000)
        if slot(session) == slot(7) and session % number("FEEDBACK_SESSIONS") != 7
    )
    bench.data(9, session=other)
    for cumulative in (1, 2, 3):
        for child in (4, 5):
            packet = ack(child, cumulative, session=other)
            assert bench.feedback(child, packet) == packet
    assert bench.outcomes()["no_slot"] == 6
    assert bench.feedback(2, ack(2, 3)) is not None
    assert bench.feedback(2, ack(2, 4)) is None


@pytest.mark.parametrize("checksum", [0, 0xFFFF])
def test_checksums_that_say_nothing(target: Target, checksum: int) -> None:
    bench = Bench(target)
    begin(bench)
    assert len(target.send(2, frame(2, ack(2, 5), checksum))) == 1


def test_a_damaged_packet_is_dropped(target: Target) -> None:
    """Otherwise the damage would get a right checksum."""
    bench = Bench(target)
    begin(bench)
    damaged = bytearray(frame(2, ack(2, 5)))
    damaged[14 + 28 + 40] ^= 1
    assert target.send(2, bytes(damaged)) == []
    assert target.drops() == {"udp_checksum": 1}


def test_a_restart_costs_a_packet_a_child(target: Target) -> None:
    bench = Bench(target)
    begin(bench)
    target.reset()
    bench = Bench(target)
    bench.assist()
    assert bench.feedback(2, ack(2, 5)) == ack(2, 5)  # no data has passed yet
    bench.data(10)
    for child in (2, 3):
        assert bench.feedback(child, ack(child, 6)) == ack(child, 6)
    merged = bench.feedback(2, ack(2, 7))
    assert merged is not None
    assert merged.children == 0b1100
    assert bench.feedback(2, ack(2, 8)) is None


RTT_US = 20_000


def nack(child: int, *missing: int, above: int = 9) -> Feedback:
    """A leaf's NACK: it lacks these, the first of them before all others, and has the rest up to `above`."""
    has = set(range(missing[0] + 1, above + 1)) - set(missing)
    sack = sum(1 << seq - missing[0] - 1 for seq in has)
    return ack(child, missing[0], nack=True, sack=sack)


def begin_asking(bench: Bench) -> None:
    """As `begin`, with three children whose round trip time is known."""
    begin(bench)
    assert bench.feedback(4, ack(4, 1)) == ack(4, 1)
    for child in (2, 3, 4):
        bench.probe(child, RTT_US)


def test_a_packet_is_asked_for_once_and_repaired_for_all_who_asked(target: Target) -> None:
    bench = Bench(target)
    begin_asking(bench)
    assert bench.feedback(2, nack(2, 3)) == nack(2, 3)
    merged = bench.feedback(3, nack(3, 3))
    assert merged is None or not merged.nack
    assert bench.repair(2, 3, 100) == [2, 3]
    assert bench.repair(2, 3, 200) == [2], "they have it, or are about to"


def test_who_asks_for_more_or_after_the_repair_asks_anew(target: Target) -> None:
    bench = Bench(target)
    begin_asking(bench)
    assert bench.feedback(2, nack(2, 3)) == nack(2, 3)
    assert bench.feedback(3, nack(3, 3, 5)) == nack(3, 3, 5)._replace(repeats=2), "only 5 is news"
    assert bench.repair(2, 3, 100) == [2, 3]
    assert bench.feedback(4, nack(4, 3)) == nack(4, 3)
    assert bench.repair(4, 3, 200) == [4]
    assert bench.repair(4, 5, 300) == [3, 4]


def test_a_copy_that_was_lost_is_asked_for_again(embedded: Target) -> None:
    bench = Bench(embedded)
    begin_asking(bench)
    assert bench.feedback(2, nack(2, 3)) == nack(2, 3)
    bench.feedback(3, nack(3, 3))
    assert bench.repair(2, 3, 100) == [2, 3]
    embedded.advance(RTT_US // 2)
    merged = bench.feedback(3, nack(3, 3))
    assert merged is None or not merged.nack, "it may be on its way"
    embedded.advance(2 * RTT_US)
    assert bench.feedback(3, nack(3, 3)) == nack(3, 3)
    assert bench.repair(3, 3, 200) == [3]


def test_a_nack_that_its_parent_does_not_heed_keeps_nobody_back_for_long(embedded: Target) -> None:
    bench = Bench(embedded)
    begin_asking(bench)
    passed = 0
    for _ in range(10):  # a port that asks first each time
        bench.feedback(2, nack(2, 3))
        answer = bench.feedback(3, nack(3, 3))
        passed += answer is not None and answer.nack
        embedded.advance(RTT_US // 2)
    assert passed >= 3


def test_a_repair_that_is_not_marked_goes_to_its_child_alone(target: Target) -> None:
    bench = Bench(target)
    begin_asking(bench)
    bench.feedback(2, nack(2, 3))
    bench.feedback(3, nack(3, 3))
    assert bench.repair(2, 3, 100, merge=False) == [2]
    assert bench.repair(2, 3, 100, parent=host_ip(5)) == [2], "another parent's"


def test_the_answer_to_a_copy_is_merged_and_that_to_a_repair_passes(target: Target) -> None:
    bench = Bench(target)
    begin_asking(bench)
    assert bench.feedback(2, nack(2, 3)) == nack(2, 3)
    bench.feedback(3, nack(3, 3))
    assert bench.repair(2, 3, 100) == [2, 3]
    answer = ack(2, 10, repair_echo_us=100)
    assert bench.feedback(2, answer) == answer
    copied = bench.feedback(3, ack(3, 10, repair_echo_us=100))
    assert copied is None or copied.merged


def test_a_switch_below_asks_for_one_of_its_children(target: Target) -> None:
    bench = Bench(target)
    begin_asking(bench)
    below = {"merged": True, "children": 0b11 << 8, "holders": 0b11 << 8}
    assert bench.feedback(6, ack(8, 1, **below)) is not None
    bench.probe(6, RTT_US)
    assert bench.feedback(2, nack(2, 3)) == nack(2, 3)
    assert bench.feedback(6, nack(9, 3)) is None
    assert bench.repair(2, 3, 100) == [2, 6]


def test_after_a_restart_repairs_go_to_their_children_alone(target: Target) -> None:
    bench = Bench(target)
    begin_asking(bench)
    bench.feedback(2, nack(2, 3))
    bench.feedback(3, nack(3, 3))
    target.reset()
    bench = Bench(target)
    bench.assist()
    assert bench.repair(2, 3, 100) == [2]

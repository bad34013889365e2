"""What a receiver tells its parent, and when."""

import pytest

from hosts.endpoint import Datagram, Send
from hosts.protocols.mtcp.feedback import MOST_TOGETHER
from hosts.protocols.mtcp.packets import SACK_BITS, encode_data
from hosts.protocols.mtcp.tree_packets import encode_announce, encode_probe, encode_probe_ack
from hosts.protocols.mtcp.wire import UNLIMITED
from hosts.wire.header import CE
from tests.hosts.protocols.mtcp.bench import GROUP, SENDER, Bench, delivered, feedback, join_ack


def test_every_fourth_packet_is_acknowledged_at_once() -> None:
    bench = Bench()
    for seq in range(3):
        assert feedback(bench.data(seq)) == []
    bench.now += 0.003
    (ack,) = feedback(bench.data(3))
    assert (ack.nack, ack.cumulative, ack.sack, ack.window) == (False, 4, 0, (1 << 24) - 40)
    assert (ack.min_cwnd, ack.max_twnd) == (UNLIMITED, 0)
    # The first three took less time than the fourth, and the third is the latest of them.
    assert (ack.echo_time_us, ack.held_us) == (1_000_002, 3000)


@pytest.mark.parametrize(("cwnd", "packets"), [(1, 1), (2, 1), (4, 2), (7, 3), (8, 4), (60, 4), (0, 4)])
def test_a_small_window_is_acknowledged_in_smaller_parts(cwnd: int, packets: int) -> None:
    bench = Bench()
    for seq in range(packets):
        answer = feedback(bench.get(encode_data(7, False, seq, 1, seq, b"x", cwnd), to=GROUP))
        assert len(answer) == (seq == packets - 1)


@pytest.mark.parametrize(("cwnd", "packets"), [(7, 3), (8, 8), (12, 12), (16, 16), (100, 16), (0, 16)])
def test_no_more_than_the_window_is_waited_for(cwnd: int, packets: int) -> None:
    bench = Bench(ack_every=16)
    for seq in range(packets):
        answer = feedback(bench.get(encode_data(7, False, seq, 1, seq, b"x", cwnd), to=GROUP))
        assert len(answer) == (seq == packets - 1)


@pytest.mark.parametrize(("cwnd", "packets"), [(127, 4), (128, 8), (1000, 32), (60_000, MOST_TOGETHER)])
def test_a_window_is_acknowledged_a_bounded_number_of_times(cwnd: int, packets: int) -> None:
    """However large it is: sixteen to 32 times; where that would be more than a bitmap shows, as often as it does.
    By the paper's rules every fourth packet of any window is acknowledged.
    """
    for rules, expected in (("adaptive", packets), ("paper", 4)):
        bench = Bench(rules=rules)
        answers = [
            len(feedback(bench.get(encode_data(7, False, seq, 1, seq, b"x", cwnd), to=GROUP)))
            for seq in range(2 * expected)
        ]
        assert [seq + 1 for seq, count in enumerate(answers) if count] == [expected, 2 * expected]


def test_what_is_merged_is_acknowledged_at_the_same_packets_by_all() -> None:
    bench = Bench(member=False)
    bench.get(encode_announce(7, 1400), to=GROUP)
    bench.get(join_ack(merge=True))
    answers = [len(feedback(bench.data(seq))) for seq in range(8)]
    assert answers == [0, 0, 0, 1, 0, 0, 0, 1]
    bench.data(8)
    assert len(feedback(bench.wake())) == 1  # the delay is over
    assert [len(feedback(bench.data(seq))) for seq in range(9, 16)] == [0, 0, 1, 0, 0, 0, 1]


def test_a_single_packet_waits_for_the_delay() -> None:
    bench = Bench(ack_delay_s=0.02)
    bench.data(0)
    assert bench.core.wake_at == pytest.approx(100.02)
    (ack,) = feedback(bench.wake())
    assert ack.cumulative == 1
    assert abs(ack.held_us - 20_000) <= 2
    assert bench.core.wake_at == pytest.approx(100.02 + 0.5)


def test_an_acknowledgment_counts_what_it_was_held_from_the_arrival() -> None:
    bench = Bench(ack_every=1)
    effects = bench.core.receive(Datagram(bench.packet(0), SENDER, GROUP, bench.now - 0.25), now=bench.now)
    (ack,) = feedback(list(effects))
    assert ack.held_us == 250_000


def test_a_gap_is_reported_at_once() -> None:
    bench = Bench(ack_every=100)
    bench.data(0)
    (nack,) = feedback(bench.data(3))
    assert (nack.nack, nack.cumulative, nack.sack) == (True, 1, 0b10)
    assert feedback(bench.data(4)) == []  # no news: the ordinary delay
    (nack,) = feedback(bench.data(6))
    assert (nack.nack, nack.cumulative, nack.sack) == (True, 1, 0b10110)


def test_a_repair_is_acknowledged_at_once_and_delivers_what_waited() -> None:
    bench = Bench(ack_every=100)
    bench.data(0)
    bench.data(2)
    effects = bench.repair(1)
    assert delivered(effects) == b"\x01" * 10 + b"\x02" * 10
    (ack,) = feedback(effects)
    assert (ack.nack, ack.cumulative, ack.sack, ack.repair_echo_us) == (False, 3, 0, 555)
    assert ack.echo_time_us == 1_000_002  # of the last DATA


def _twelfth() -> Bench:
    """Its parent's twelfth child. Packets come every 10 ms."""
    bench = Bench(member=False)
    bench.get(encode_announce(7, 1400), to=GROUP)
    bench.get(join_ack(number=11))
    for seq in range(40):
        bench.now += 0.01
        bench.data(seq)
    return bench


def test_children_report_a_gap_in_turn() -> None:
    bench = _twelfth()
    bench.data(40)
    bench.data(41)
    assert feedback(bench.data(43)) == []
    began = bench.now
    (nack,) = feedback(bench.wake())
    assert (nack.nack, nack.cumulative, nack.sack) == (True, 42, 0b1)
    assert 0.005 < bench.now - began < 0.015


def test_a_repair_to_all_is_answered_by_those_who_lacked_it() -> None:
    bench = Bench(ack_every=100)
    bench.data(0)
    bench.data(2)
    (ack,) = feedback(bench.repair(1, to=GROUP))
    assert (ack.nack, ack.cumulative, ack.repair_echo_us) == (False, 3, 555)
    assert feedback(bench.repair(2, to=GROUP)) == []
    assert feedback(bench.wake())[0].cumulative == 3  # maybe it was not known


def test_marks_are_told_once_and_not_merged() -> None:
    bench = Bench(member=False)
    bench.get(encode_announce(7, 1400), to=GROUP)
    bench.get(join_ack(merge=True))
    for seq in range(3):
        bench.data(seq)
    (ack,) = feedback(list(bench.core.receive(Datagram(bench.packet(3), SENDER, GROUP, ecn=CE), now=bench.now)))
    assert (ack.marked, ack.merge, ack.cumulative) == (True, False, 4)
    for seq in range(4, 7):
        bench.data(seq)
    (ack,) = feedback(bench.data(7))
    assert (ack.marked, ack.merge) == (False, True)


def test_of_more_than_the_bitmap_holds_the_last_is_told() -> None:
    bench = Bench(ack_every=100)
    bench.data(0)
    for seq in range(2, 1000):
        bench.data(seq)
    (ack,) = feedback(bench.wake())
    assert (ack.cumulative, ack.shifted, ack.queue_us) == (1, True, 1000 - 2 - SACK_BITS)
    assert ack.sack == (1 << SACK_BITS) - 1
    bench.data(1001)
    (ack,) = feedback(bench.repair(1))
    assert (ack.cumulative, ack.shifted, ack.sack) == (1000, False, 0b1)


def test_of_many_a_repair_is_told() -> None:
    bench = Bench(ack_every=10_000)
    bench.data(0)
    for seq in range(2, 1000):
        if seq != 300:
            bench.data(seq)
    (ack,) = feedback(bench.repair(300))
    assert (ack.shifted, ack.queue_us, ack.sack) == (True, 298, (1 << SACK_BITS) - 1)


def test_window_updates_in_silence() -> None:
    """First after 500 ms, then each a second later than the one before; data start it anew (3.9)."""
    bench = Bench(silence_s=100)
    times = []
    for _ in range(4):
        assert len(feedback(bench.wake())) == 1
        times.append(bench.now - 100.0)
    assert times == [pytest.approx(t) for t in (0.5, 2.0, 4.5, 8.0)]
    for seq in range(4):
        bench.data(seq)
    assert bench.core.wake_at == pytest.approx(bench.now + 0.5)


def test_probes_are_answered_at_once() -> None:
    bench = Bench()
    (answer,) = bench.get(encode_probe(7, 42))
    assert answer == Send(encode_probe_ack(7, 42, 0), SENDER)


def test_a_repair_of_what_had_arrived_is_told_until_one_was_needed() -> None:
    """And the time of a repair once: a later answer would make the round trip longer than it is."""
    bench = Bench()
    bench.data(0)
    (ack,) = feedback(bench.repair(0))
    assert (ack.needless, ack.repair_echo_us) == (True, 555)
    bench.data(2)
    (ack,) = feedback(bench.wake())
    assert (ack.needless, ack.repair_echo_us) == (True, 0)
    (ack,) = feedback(bench.repair(1))
    assert (ack.needless, ack.repair_echo_us) == (False, 555)


def test_by_the_papers_rules_it_is_not_told() -> None:
    bench = Bench(rules="paper")
    bench.data(0)
    (ack,) = feedback(bench.repair(0))
    assert not ack.needless
    (ack,) = feedback(bench.wake())
    assert ack.repair_echo_us == 555


def test_what_was_said_is_said_again_after_a_round_trip_and_ever_rarer() -> None:
    """Windows of ten packets that come every 10 ms. By the paper's rules first after half a second."""
    for rules, expected in (("adaptive", [0.1, 0.2, 0.4, 0.5, 1.5]), ("paper", [0.5, 1.5, 2.5])):
        bench = Bench(rules=rules)
        for seq in range(40):
            bench.now += 0.01
            answer = feedback(bench.get(encode_data(7, False, seq, 1, seq, b"x", 10), to=GROUP))
        assert answer, "the last one was acknowledged at once"
        waits = []
        for _ in expected:
            before = bench.now
            assert len(feedback(bench.wake())) == 1
            waits.append(bench.now - before)
        assert waits == pytest.approx(expected, rel=0.05)

"""The sender alone: its start and its end, windows, and what it ignores."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.endpoint import Address, Effect, PeerFinished, PeerJoined, Send, SendRun, SessionEnded, SessionStarted
from hosts.protocol import Session
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import SACK_BITS, Data, encode_data, encode_feedback
from hosts.protocols.mtcp.sender import MANY_CHILDREN, MtcpSender
from hosts.protocols.mtcp.tree_packets import Announce, JoinAck, Probe, encode_abort, encode_fin, encode_probe_ack
from hosts.protocols.mtcp.wire import UNLIMITED
from hosts.wire.farewell import ABORT_COPIES, Abort, Fin
from hosts.wire.reason import Reason
from tests.hosts.protocols.mtcp.sender_bench import GROUP, ONE, STRANGER, TWO, SenderBench, data, join, packets, sending
from tests.hosts.protocols.mtcp.test_packets import examples

# --- the start


def test_it_announces_itself_until_enough_have_joined() -> None:
    bench = SenderBench(2)
    assert packets(bench.started, GROUP) == [Announce(7, 1400)]
    assert packets(bench.wake(), GROUP) == [Announce(7, 1400)]
    effects = bench.get(join(5000))
    assert packets(effects, ONE)[0] == JoinAck(7, False, Reason.NONE, 0, 0, 0, 0, ONE)
    assert isinstance(packets(effects, ONE)[1], Probe)
    assert PeerJoined(ONE) in effects
    assert bench.core.state == "waiting"
    effects = bench.get(join(5000), TWO)
    assert SessionStarted() in effects
    assert bench.core.state == "sending"


def test_it_starts_without_those_that_are_not_waited_for() -> None:
    bench = SenderBench(2)
    assert list(bench.core.start_now(now=bench.now)) == []
    assert bench.core.state == "waiting"
    bench.get(join(5000))
    assert SessionStarted() in bench.core.start_now(now=bench.now)
    assert bench.core.state == "sending"
    assert list(bench.core.start_now(now=bench.now)) == []


def test_a_random_session_id_from_the_seed() -> None:
    numbers = {MtcpSender(Session(GROUP), MtcpOptions(), random.Random(seed)).number for seed in (1, 1, 2)}
    assert len(numbers) == 2
    assert all(0 < number < 2**32 for number in numbers)


def test_many_children_make_it_patient() -> None:
    bench = SenderBench(MANY_CHILDREN, patience_s=0.004)
    patience = []
    for number in range(MANY_CHILDREN):
        bench.get(join(1 << 20), Address(f"10.0.1.{number}", 4001))
        patience.append(bench.core.patience_s)
    assert patience == [0.0] * (MANY_CHILDREN - 1) + [0.004]


# --- windows


def test_nothing_leaves_before_the_start() -> None:
    bench = SenderBench(1)
    assert bench.write(10_000) == []
    assert data(bench.get(join(1 << 20))) == [0]


def test_it_sends_the_current_window_and_is_clocked_by_acknowledgments() -> None:
    bench = sending()
    assert data(bench.write(50_000)) == [0]  # cwnd is one packet
    assert bench.core.limit == "cwnd"
    bench.now += 0.01
    assert data(bench.ack(1)) == [1, 2]
    bench.core.agent.congestion.window.cwnd = 5.0
    bench.now += 0.01
    assert data(bench.ack(1)) == [3, 4, 5]


@pytest.mark.parametrize(("rules", "at_once"), [("adaptive", 1), ("paper", 50)])
def test_what_a_window_allows_leaves_in_pieces(rules: str, at_once: int) -> None:
    """Of a window of 50 packets and 100 ms: 1.25 windows a round trip, so one packet each 1.6 ms."""
    bench = sending(rules=rules)
    assert data(bench.write(1_000_000)) == [0]
    echo = int(bench.now * 1e6)
    for cumulative in (1, 2):  # the first round trip, and one that was measured
        bench.now += 0.1
        bench.get(encode_feedback(7, False, cumulative, echo, 0, 0, UNLIMITED, 0, 1 << 20, 0))
        echo = int(bench.now * 1e6)
    window = bench.core.agent.congestion.window
    window.cwnd = window.ssthresh = 50.0
    bench.now += 1.0
    sent = [len(data(bench.ack(bench.core.agent.end)))]
    while bench.core.limit == "pacing":
        assert bench.core.is_precise
        bench.wake()
        sent.append(bench.core.agent.end - bench.core.agent.base - sum(sent))
    assert sum(sent) in (50, 51)  # by the paper, the window has grown by the packet
    assert max(sent) <= 2 * at_once + 1
    assert (rules == "paper") == (len(sent) == 1)


def test_a_large_window_leaves_in_turns() -> None:
    """Where whoever runs it takes runs: the rest is due at once, and whoever has come meanwhile is heard before."""
    bench = sending(rules="paper")
    bench.core.run_bytes = 15_000  # ten packets
    bench.core.agent.congestion.window.cwnd = 300.0
    turns = []
    effects = bench.write(400 * 1400)
    while runs := [effect for effect in effects if isinstance(effect, SendRun)]:
        turns.append(sum(run.packets for run in runs))
        if turns[-1] == 80:
            assert bench.write(1400) == []
            assert bench.core.wake_at == bench.now
        effects = bench.wake()
    assert turns == [80, 80, 80, 60]


def test_a_subtree_s_smaller_window_counts() -> None:
    bench = sending()
    bench.core.agent.congestion.window.cwnd = 10.0
    bench.core.agent.congestion.window.ssthresh = 10.0
    assert data(bench.write(50_000)) == list(range(10))
    assert data(bench.ack(10, min_cwnd=3 * 1400)) == [10, 11, 12]
    assert not bench.core.agent.congestion.used


def test_it_sends_no_more_than_is_advertised() -> None:
    bench = SenderBench(1)
    bench.get(join(3000))
    bench.core.agent.congestion.window.cwnd = 10.0
    assert data(bench.write(50_000)) == [0, 1]
    assert bench.core.limit == "advertised_window"
    assert data(bench.ack(2, window=0)) == []
    assert data(bench.ack(2, window=1400)) == [2]


def test_it_never_outruns_the_bitmap() -> None:
    bench = sending(rules="paper")
    bench.core.agent.congestion.window.cwnd = 1e6
    sent = data(bench.write(1_000_000))
    assert len(sent) == SACK_BITS
    assert bench.core.limit == "sack"


def test_partial_packets_wait_for_more_or_the_end() -> None:
    bench = sending()
    assert data(bench.write(1000)) == []
    assert bench.core.limit == "application"
    (packet,) = packets(list(bench.core.finish(now=bench.now)), GROUP)
    assert isinstance(packet, Data)
    assert (packet.end, len(packet.payload)) == (True, 1000)


def test_an_end_that_comes_after_the_data_is_a_packet_of_its_own() -> None:
    bench = sending()
    bench.write(1400)
    bench.ack(1)
    (packet,) = packets(list(bench.core.finish(now=bench.now)), GROUP)
    assert isinstance(packet, Data)
    assert (packet.end, packet.payload, packet.offset) == (True, b"", 1400)


def test_the_send_buffer_is_bounded() -> None:
    bench = sending(buffer_bytes=10_000)
    assert bench.core.send_space == 10_000
    bench.write(10_000)
    assert bench.core.send_space == 1400  # one packet has left
    with pytest.raises(ValueError, match="send_space"):
        bench.write(1401)
    bench.core.finish(now=bench.now)
    assert bench.core.send_space == 0


# --- the end


def finished(bench: SenderBench) -> None:
    bench.write(100)
    bench.core.finish(now=bench.now)


def gone(bench: SenderBench) -> list[Effect]:
    """What is left once it has said that it goes."""
    for _ in range(ABORT_COPIES):
        bench.wake()
    return bench.wake()


def test_it_ends_when_all_have_confirmed() -> None:
    bench = sending()
    finished(bench)
    effects = bench.get(encode_fin(7, False, True, Reason.NONE))
    assert packets(effects, ONE) == [Fin(7, True, True, Reason.NONE)]
    assert PeerFinished(ONE, True) in effects
    assert bench.core.state == "closing"
    said = [effect for _ in range(ABORT_COPIES) for effect in bench.wake()]
    assert packets(said, GROUP) == [Abort(7, Reason.NONE)] * ABORT_COPIES
    again = bench.get(encode_fin(7, False, True, Reason.NONE))
    assert packets(again, ONE) == [Fin(7, True, True, Reason.NONE)]
    assert not [effect for effect in again if isinstance(effect, PeerFinished)]
    assert bench.wake() == [SessionEnded(True, "")]
    assert bench.core.closed
    assert bench.core.wake_at is None


def test_a_failed_receiver_makes_the_session_fail() -> None:
    bench = sending()
    finished(bench)
    bench.get(encode_fin(7, False, False, Reason.WRONG_HASH))
    (end,) = gone(bench)
    assert end == SessionEnded(False, f"{ONE}: what arrived has the wrong hash")


def test_nobody_is_complete_before_the_end_was_sent() -> None:
    bench = sending()
    bench.write(100_000)
    effects = bench.get(encode_fin(7, False, True, Reason.NONE))
    assert PeerFinished(ONE, False, "the stream contradicts itself") in effects


def test_who_says_twice_that_it_has_all_is_believed_though_nobody_told_of_it() -> None:
    """It ended below a parent that passes nothing on and did not answer it."""
    bench = sending()
    fin = encode_fin(7, False, True, Reason.NONE)
    bench.get(fin, TWO)
    bench.now += 1
    assert bench.get(fin, TWO) == [], "nobody has all before the end was sent"
    finished(bench)
    assert bench.get(fin, STRANGER) == [], "once is not enough"
    assert bench.get(encode_fin(7, False, False, Reason.WRONG_HASH), STRANGER) == []
    effects = bench.get(fin, TWO)
    assert packets(effects, TWO) == [Fin(7, True, True, Reason.NONE)]
    assert [effect for effect in effects if not isinstance(effect, Send)] == [PeerJoined(TWO), PeerFinished(TWO, True)]
    assert bench.core.state == "sending", "and the others are waited for"


def test_closing_tells_everybody() -> None:
    bench = SenderBench(2)
    bench.get(join(5000))
    effects = list(bench.core.close(now=bench.now, reason="stop"))
    assert packets(effects, ONE) == [Abort(7, Reason.INTERRUPTED)]
    assert packets(effects, GROUP) == [Abort(7, Reason.INTERRUPTED)] * 3
    assert effects[-1] == SessionEnded(False, "stop")
    assert bench.core.close(now=bench.now, reason="again") == ()


# --- what it ignores


@pytest.mark.parametrize(
    ("packet", "source", "counter"),
    [
        (b"\x01", ONE, "drop_truncated"),
        (encode_probe_ack(7, 1, 0) + b"x", ONE, "drop_oversized"),
        (encode_probe_ack(8, 1, 0), ONE, "drop_other_session"),
        (encode_fin(7, False, True, Reason.NONE), STRANGER, "drop_stranger"),
        (encode_abort(7, Reason.INTERRUPTED), STRANGER, "drop_stranger"),
        (encode_feedback(7, False, 9, 0, 0, 0, 0, 0, 0, 0), ONE, "drop_ack_of_unsent"),
        (encode_probe_ack(7, 2**60, 0), ONE, "drop_probe_ack_time"),
        (encode_data(7, False, 0, 1, 0, b"x"), ONE, "drop_unexpected"),
    ],
)
def test_dropped_and_counted(packet: bytes, source: Address, counter: str) -> None:
    bench = sending()
    assert bench.get(packet, source) == []
    assert bench.core.counters[counter] == 1
    assert len(bench.core.agent.children) == 1


@given(
    st.lists(
        st.tuples(
            st.one_of(st.binary(max_size=150), st.sampled_from(examples())),
            st.lists(st.tuples(st.integers(0, 119), st.integers(0, 255)), max_size=4),
            st.sampled_from([ONE, TWO, STRANGER]),
            st.floats(0, 3),
        ),
        max_size=40,
    )
)
def test_nothing_makes_it_raise(steps: list[tuple[bytes, list[tuple[int, int]], Address, float]]) -> None:
    """Any bytes, from receivers or not, at any time."""
    bench = SenderBench(2)
    bench.get(join(1 << 20), ONE)
    bench.get(join(1 << 20), TWO)
    bench.write(100_000)
    for raw, changes, source, pause in steps:
        changed = bytearray(raw)
        for position, value in changes:
            if changed:
                changed[position % len(changed)] = value
        bench.get(bytes(changed), source)
        bench.now += pause
        wake_at = bench.core.wake_at
        if wake_at is not None and wake_at <= bench.now:
            bench.core.handle_timer(now=bench.now)
        bench.core.sample(now=bench.now)

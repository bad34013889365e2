"""The sender alone: admission, windows, and what it ignores."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.endpoint import (
    Address,
    Datagram,
    Effect,
    PeerFinished,
    PeerJoined,
    PeerRefused,
    Send,
    SendRun,
    SessionEnded,
    SessionStarted,
)
from hosts.parts.silence import PROVEN_TIMES, SILENT_S, START_BYTES
from hosts.protocol import Session
from hosts.protocols.mtcp.control import (
    Announce,
    Entry,
    Join,
    JoinAck,
    Probe,
    State,
    encode_abort,
    encode_fin,
    encode_join,
    encode_probe_ack,
    encode_report,
)
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import SACK_BITS, Data, Packet, encode_data, encode_feedback, parse
from hosts.protocols.mtcp.sender import MANY_CHILDREN, MtcpSender
from hosts.protocols.mtcp.wire import UNLIMITED
from hosts.wire.farewell import ABORT_COPIES, Abort, Fin
from hosts.wire.reason import Reason
from tests.hosts.protocols.mtcp.test_packets import examples

GROUP = Address("232.1.1.1", 5000)
ME = Address("10.0.0.1", 4000)
ONE = Address("10.0.0.2", 4001)
TWO = Address("10.0.0.3", 4001)
STRANGER = Address("10.0.0.9", 4001)


def join(window: int) -> bytes:
    """A leaf's."""
    return encode_join(Join(7, False, False, False, True, 0, window, 0))


class Bench:
    """A sender and a hand on its clock."""

    def __init__(self, receivers: int = 1, **options: float | str) -> None:
        self.now = 100.0
        self.core = MtcpSender(
            Session(GROUP, None, 7, receivers, 10.0),
            MtcpOptions(**options),  # type: ignore[arg-type]
            random.Random(1),
        )
        self.started = list(self.core.start(now=self.now))

    def get(self, data: bytes, source: Address = ONE) -> list[Effect]:
        return list(self.core.receive(Datagram(data, source, ME), now=self.now))

    def ack(
        self, cumulative: int, *, window: int = 1 << 20, source: Address = ONE, min_cwnd: int = UNLIMITED
    ) -> list[Effect]:
        return self.get(encode_feedback(7, False, cumulative, 0, 0, 0, min_cwnd, 0, window, 0), source)

    def write(self, size: int) -> list[Effect]:
        return list(self.core.write(bytes(size), now=self.now))

    def wake(self) -> list[Effect]:
        assert self.core.wake_at is not None
        self.now = max(self.now, self.core.wake_at)
        return list(self.core.handle_timer(now=self.now))


def packets(effects: list[Effect], to: Address | None = None) -> list[Packet]:
    return [
        parse(effect.data)
        for effect in effects
        if isinstance(effect, Send) and (to is None or effect.destination == to)
    ]


def data(effects: list[Effect]) -> list[int]:
    """Sequence numbers of the DATA packets."""
    return [packet.seq for packet in packets(effects, GROUP) if isinstance(packet, Data)]


# --- admission


def test_it_announces_itself_until_enough_have_joined() -> None:
    bench = Bench(2)
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
    bench = Bench(2)
    assert list(bench.core.start_now(now=bench.now)) == []
    assert bench.core.state == "waiting"
    bench.get(join(5000))
    assert SessionStarted() in bench.core.start_now(now=bench.now)
    assert bench.core.state == "sending"
    assert list(bench.core.start_now(now=bench.now)) == []


def test_who_lost_its_parent_is_taken_without_room_before_it_is_given_up() -> None:
    """Everybody else may have discarded what it lacks; the sender keeps it for the orphan, and has the last word."""
    below = Address("10.0.0.4", 4001)
    bench = Bench(3, fan_out=2)
    bench.get(join(5000))
    bench.get(join(5000), TWO)
    bench.get(encode_report(7, 1, [Entry(below, ONE, 1, State.ACTIVE, Reason.NONE, False, False)]))
    bench.write(1400)
    bench.get(encode_abort(7, Reason.INTERRUPTED))
    bench.get(join(5000), STRANGER)
    assert set(bench.core.agent.children) == {TWO, STRANGER}

    def try_again(epoch: int) -> Reason:
        answer = packets(bench.get(encode_join(Join(7, False, False, True, True, epoch, 5000, 0)), below), below)[0]
        assert isinstance(answer, JoinAck)
        return answer.reason

    assert try_again(2) is Reason.FULL
    bench.now += 0.6 * 2 * bench.core.options.parent_timeout_s
    assert try_again(3) is Reason.NONE
    assert below in bench.core.agent.children


def test_a_repeated_join_is_answered_again() -> None:
    bench = Bench(1)
    bench.get(join(5000))
    effects = bench.get(join(5000))
    assert packets(effects) == [JoinAck(7, False, Reason.NONE, 0, 0, 0, 0, ONE)]
    assert len(bench.core.agent.children) == 1


def test_latecomers_are_refused_once_somebody_has_shown_that_it_is_there() -> None:
    bench = Bench(1)
    bench.get(join(5000))
    bench.write(PROVEN_TIMES * 1400)
    for number in range(PROVEN_TIMES):
        assert bench.core.agent.store.first_offset == 0
        bench.ack(number + 1)
        bench.now += SILENT_S
    effects = bench.get(join(5000), TWO)
    assert packets(effects, TWO) == [JoinAck(7, False, Reason.STARTED, 0, child=TWO)]
    assert PeerRefused(TWO, "the session has already started") in effects


def test_nobody_has_the_start_thrown_away_by_an_acknowledgment_but_much_is_not_kept() -> None:
    bench = Bench(1)
    bench.get(join(5000))
    bench.write(2 * 1400)
    bench.ack(2)
    assert JoinAck(7, False, Reason.NONE, 0, 1, child=TWO) in packets(bench.get(join(5000), TWO), TWO)
    store = bench.core.agent.store
    while store.first_offset == 0:
        bench.write(1400)
        assert bench.core.agent.end_offset <= START_BYTES + 2 * 1400
        bench.ack(store.end)
        bench.ack(store.end, source=TWO)


def test_who_left_does_not_come_back() -> None:
    bench = Bench(2)
    bench.get(join(5000))
    bench.get(encode_abort(7, Reason.INTERRUPTED))
    assert packets(bench.get(join(5000))) == [JoinAck(7, False, Reason.STARTED, 0, child=ONE)]


def test_a_random_session_id_from_the_seed() -> None:
    numbers = {MtcpSender(Session(GROUP), MtcpOptions(), random.Random(seed)).number for seed in (1, 1, 2)}
    assert len(numbers) == 2
    assert all(0 < number < 2**32 for number in numbers)


# --- windows


def sending(**options: float | str) -> Bench:
    bench = Bench(1, **options)
    bench.get(join(1 << 20))
    return bench


def test_nothing_leaves_before_the_start() -> None:
    bench = Bench(1)
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
    bench = Bench(1)
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


def finished(bench: Bench) -> None:
    bench.write(100)
    bench.core.finish(now=bench.now)


def gone(bench: Bench) -> list[Effect]:
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
    bench = Bench(2)
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
    bench = Bench(2)
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


def test_many_children_make_it_patient() -> None:
    bench = Bench(MANY_CHILDREN, patience_s=0.004)
    patience = []
    for number in range(MANY_CHILDREN):
        bench.get(join(1 << 20), Address(f"10.0.1.{number}", 4001))
        patience.append(bench.core.patience_s)
    assert patience == [0.0] * (MANY_CHILDREN - 1) + [0.004]


@pytest.mark.parametrize("count", [2, 3, 10, 100])
def test_children_that_joined_together_are_probed_in_turn(count: int) -> None:
    """All at once, every two seconds, they would be a burst as long as there are children. A repair's answer, which
    measures the round trip time too, changes nothing."""
    bench = Bench(count, fan_out=count)
    children = [Address("10.0.0.2", 4000 + index) for index in range(count)]
    for child in children:
        bench.get(join(1 << 20), child)
    probed: dict[Address, list[float]] = {child: [] for child in children}
    while bench.now < 120:
        for effect in bench.wake():
            if isinstance(effect, Send) and isinstance(probe := parse(effect.data), Probe):
                probed[effect.destination].append(bench.now)
                bench.now += 1e-5
                bench.get(encode_probe_ack(7, probe.time_us, 0), effect.destination)
                for record in bench.core.agent.children.values():
                    record.rtt.add(0.01)
    for times in probed.values():
        # At once and then in its place, but for the hundred answers' own time.
        assert all(2 - 0.01 < later - sooner < 2 + 0.01 for sooner, later in pairwise(times[2:]))
        assert 0.99 < times[2] - times[1] < 2.01
    steady = sorted(at for times in probed.values() for at in times[3:])
    gaps = [later - sooner for sooner, later in pairwise(steady)]
    assert min(gaps) > 0.25 / count

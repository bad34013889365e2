"""The receiver alone: when it answers, what it says, and what it ignores."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.endpoint import (
    Address,
    Datagram,
    Deliver,
    Effect,
    JoinGroup,
    LeaveGroup,
    Send,
    SessionEnded,
    SessionStarted,
    StreamEnded,
)
from hosts.farewell import Fin
from hosts.mtcp.control import (
    Join,
    JoinAck,
    encode_abort,
    encode_announce,
    encode_fin,
    encode_join_ack,
    encode_probe,
    encode_probe_ack,
)
from hosts.mtcp.ending import FIN_TRIES
from hosts.mtcp.options import MtcpOptions
from hosts.mtcp.packets import Feedback, encode_data, encode_repair, parse
from hosts.mtcp.receiver import PREMATURE_PACKETS, MtcpReceiver
from hosts.mtcp.wire import UNLIMITED
from hosts.protocols import Session
from hosts.reason import Reason
from tests.hosts.mtcp.test_packets import examples

GROUP = Address("232.1.1.1", 5000)
SENDER = Address("10.0.0.1", 4000)
ME = Address("10.0.0.2", 4001)
STRANGER = Address("10.0.0.9", 4000)


def join_ack(reason: Reason = Reason.NONE, *, merge: bool = False) -> bytes:
    """The sender's answer to the first join."""
    return encode_join_ack(JoinAck(7, merge, reason, 1, child=ME))


class Bench:
    """A receiver and a hand on its clock."""

    def __init__(self, *, member: bool = True, source: str | None = SENDER.host, **options: float) -> None:
        self.now = 100.0
        parameters: dict[str, Any] = {"parent": "sender", **options}
        self.core = MtcpReceiver(Session(GROUP, source), MtcpOptions(**parameters), random.Random(1))
        self.started = self.core.start(now=self.now)
        if member:
            self.get(encode_announce(7, 1400), to=GROUP)
            self.get(join_ack(Reason.NONE))

    def get(self, data: bytes, *, source: Address = SENDER, to: Address = ME) -> list[Effect]:
        return list(self.core.receive(Datagram(data, source, to), now=self.now))

    def data(self, seq: int, *, end: bool = False, size: int = 10) -> list[Effect]:
        return self.get(self.packet(seq, end=end, size=size), to=GROUP)

    def repair(self, seq: int) -> list[Effect]:
        return self.get(encode_repair(self.packet(seq), 555))

    @staticmethod
    def packet(seq: int, *, end: bool = False, size: int = 10) -> bytes:
        return encode_data(7, end, seq, 1_000_000 + seq, seq * size, bytes([seq % 256]) * size)

    def wake(self) -> list[Effect]:
        assert self.core.wake_at is not None
        self.now = self.core.wake_at
        return list(self.core.handle_timer(now=self.now))


def feedback(effects: list[Effect]) -> list[Feedback]:
    sent = [parse(effect.data) for effect in effects if isinstance(effect, Send)]
    return [packet for packet in sent if isinstance(packet, Feedback)]


def delivered(effects: list[Effect]) -> bytes:
    return b"".join(effect.data for effect in effects if isinstance(effect, Deliver))


# --- joining


def test_it_joins_when_it_hears_the_sender() -> None:
    bench = Bench(member=False)
    assert bench.started == (JoinGroup(GROUP, SENDER.host),)
    assert bench.core.wake_at is None
    (join,) = bench.get(encode_announce(7, 1400), to=GROUP)
    assert isinstance(join, Send)
    assert join.destination == SENDER
    assert parse(join.data) == Join(7, False, True, False, True, 1, 1 << 20, 0)
    (again,) = bench.wake()
    assert again == join
    bench.get(join_ack(Reason.NONE))
    assert bench.core.state == "member"


def test_it_listens_to_the_source_it_was_told() -> None:
    bench = Bench(member=False)
    assert bench.get(encode_announce(7, 1400), source=STRANGER, to=GROUP) == []
    assert bench.core.counters["drop_stranger"] == 1
    assert bench.core.state == "listening"


def test_a_refusal_ends_it() -> None:
    bench = Bench(member=False)
    bench.get(encode_announce(7, 1400), to=GROUP)
    effects = bench.get(join_ack(Reason.STARTED))
    assert effects == [
        LeaveGroup(GROUP, SENDER.host),
        SessionEnded(False, "refused: the session has already started"),
    ]
    assert bench.core.closed


def test_data_that_overtake_the_admission_are_kept() -> None:
    bench = Bench(member=False)
    bench.get(encode_announce(7, 1400), to=GROUP)
    assert bench.data(0) == []
    for seq in (1, 2, 3):
        assert bench.data(seq) == []
    effects = bench.get(join_ack(Reason.NONE))
    assert effects[0] == SessionStarted(SENDER)
    assert delivered(effects) == b"".join(bytes([seq]) * 10 for seq in range(4))
    assert [ack.cumulative for ack in feedback(effects)] == [4]


def test_few_data_are_kept_before_the_admission() -> None:
    bench = Bench(member=False)
    bench.get(encode_announce(7, 1400), to=GROUP)
    for seq in range(PREMATURE_PACKETS + 5):
        bench.data(seq)
    assert bench.core.counters["drop_not_member"] == 5


# --- acknowledging


def test_every_fourth_packet_is_acknowledged_at_once() -> None:
    bench = Bench()
    for seq in range(3):
        assert feedback(bench.data(seq)) == []
    bench.now += 0.003
    (ack,) = feedback(bench.data(3))
    assert (ack.nack, ack.cumulative, ack.sack, ack.window) == (False, 4, 0, (1 << 20) - 40)
    assert (ack.min_cwnd, ack.max_twnd) == (UNLIMITED, 0)
    # The first three took less time than the fourth, and the third is the latest of them.
    assert (ack.echo_time_us, ack.held_us) == (1_000_002, 3000)


@pytest.mark.parametrize(("cwnd", "packets"), [(1, 1), (2, 1), (4, 2), (7, 3), (8, 4), (100, 4), (0, 4)])
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


def test_what_is_merged_is_acknowledged_at_the_same_packets_by_all() -> None:
    bench = Bench(member=False)
    bench.get(encode_announce(7, 1400), to=GROUP)
    bench.get(join_ack(merge=True))
    answers = [len(feedback(bench.data(seq))) for seq in range(8)]
    assert answers == [0, 0, 0, 1, 0, 0, 0, 1]
    bench.data(8)
    assert len(feedback(bench.wake())) == 1  # the delay is over
    assert [len(feedback(bench.data(seq))) for seq in range(9, 16)] == [0, 0, 1, 0, 0, 0, 1]


def test_a_leaf_is_patient_and_an_agent_is_not() -> None:
    assert Bench(patience_s=0.004).core.patience_s == 0.004
    assert Bench(patience_s=0.004, agent=True).core.patience_s == 0


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


# --- the buffer


def test_the_advertised_window_is_what_is_free() -> None:
    bench = Bench(buffer_bytes=8000, payload_bytes=1000, ack_every=1)
    (ack,) = feedback(bench.data(0, size=1000))
    assert ack.window == 7000
    (ack,) = feedback(bench.data(2, size=1000))  # held behind the gap, inside the window
    assert (ack.cumulative, ack.window) == (1, 7000)
    assert bench.core.consumed(600, now=bench.now) == ()
    (ack,) = feedback(bench.data(3, size=1000))
    assert ack.window == 7600


def test_beyond_the_window_nothing_is_taken() -> None:
    bench = Bench(buffer_bytes=8000, payload_bytes=1000)
    assert bench.data(8, size=1000) == []
    assert bench.core.counters["drop_outside_window"] == 1
    assert len(feedback(bench.data(7, size=1000))) == 1


def test_a_window_that_opens_is_announced() -> None:
    bench = Bench(buffer_bytes=4000, payload_bytes=1000, ack_every=1)
    for seq in range(4):
        (ack,) = feedback(bench.data(seq, size=1000))
    assert ack.window == 0
    assert feedback(list(bench.core.consumed(1000, now=bench.now))) == []  # a silly window
    (update,) = feedback(list(bench.core.consumed(1000, now=bench.now)))
    assert (update.cumulative, update.window) == (4, 2000)
    with pytest.raises(ValueError, match="consumed"):
        bench.core.consumed(5000, now=bench.now)


# --- the end


def test_the_end_and_its_confirmation() -> None:
    bench = Bench()
    bench.data(0)
    effects = bench.data(1, end=True)
    assert StreamEnded(20) in effects
    assert len(feedback(effects)) == 1
    (fin,) = bench.core.confirm(complete=True, now=bench.now)
    assert isinstance(fin, Send)
    assert parse(fin.data) == Fin(7, False, True, Reason.NONE)
    assert bench.wake() == [fin]
    assert bench.get(encode_fin(7, True, True, Reason.NONE)) == [
        LeaveGroup(GROUP, SENDER.host),
        SessionEnded(True, ""),
    ]


def test_without_a_receipt_it_still_ends() -> None:
    bench = Bench()
    bench.data(0, end=True)
    bench.core.confirm(complete=True, now=bench.now)
    for _ in range(FIN_TRIES - 1):
        assert len(bench.wake()) == 1
    assert SessionEnded(True, "") in bench.wake()


def test_an_abort_after_the_confirmation_takes_nothing_away() -> None:
    bench = Bench()
    bench.data(0, end=True)
    bench.core.confirm(complete=True, now=bench.now)
    assert SessionEnded(True, "") in bench.get(encode_abort(7, Reason.INTERRUPTED))


def test_a_verdict_before_the_end() -> None:
    bench = Bench()
    bench.data(0)
    (fin,) = bench.core.confirm(complete=False, now=bench.now, reason=Reason.CANNOT_WRITE)
    assert isinstance(fin, Send)
    assert parse(fin.data) == Fin(7, False, False, Reason.CANNOT_WRITE)
    assert bench.data(1) == []
    assert SessionEnded(False, "the file cannot be written") in bench.get(
        encode_fin(7, True, False, Reason.CANNOT_WRITE)
    )


def test_a_stream_that_contradicts_itself() -> None:
    for broken in (
        encode_data(7, False, 1, 1, 11, b"x"),  # a byte is missing between the offsets
        encode_data(7, False, 1, 1, 9, b"x"),  # or there twice
    ):
        bench = Bench()
        bench.data(0)
        effects = bench.get(broken, to=GROUP)
        assert delivered(effects) == b""
    bench = Bench()
    bench.data(0, end=True)
    (fin,) = [effect for effect in bench.data(1) if isinstance(effect, Send)]
    assert parse(fin.data) == Fin(7, False, False, Reason.BROKEN_STREAM)


# --- what it ignores


@pytest.mark.parametrize(
    ("data", "source", "counter"),
    [
        (Bench.packet(0)[:20], SENDER, "drop_truncated"),
        (Bench.packet(0) + b"x", SENDER, "drop_oversized"),
        (b"", SENDER, "drop_truncated"),
        (bytes(100), SENDER, "drop_version"),
        (Bench.packet(0), STRANGER, "drop_stranger"),
        (encode_abort(7, Reason.FULL), STRANGER, "drop_stranger"),
        (encode_data(8, False, 0, 1, 0, b"x"), SENDER, "drop_other_session"),
        (encode_data(7, False, 600, 1, 0, b"x"), SENDER, "drop_outside_window"),
        (encode_data(7, False, 1, 1, 2**63, b"x"), SENDER, "drop_outside_window"),
        (encode_fin(7, True, True, Reason.NONE), SENDER, "drop_unexpected"),
    ],
)
def test_dropped_and_counted(data: bytes, source: Address, counter: str) -> None:
    bench = Bench()
    assert bench.get(data, source=source) == []
    assert bench.core.counters[counter] == 1
    assert delivered(bench.data(0)) == bytes(10)


@given(
    st.lists(
        st.tuples(
            st.one_of(st.binary(max_size=150), st.sampled_from(examples())),
            st.lists(st.tuples(st.integers(0, 119), st.integers(0, 255)), max_size=4),
            st.sampled_from([SENDER, STRANGER]),
            st.floats(0, 3),
        ),
        max_size=40,
    )
)
def test_nothing_makes_it_raise(steps: list[tuple[bytes, list[tuple[int, int]], Address, float]]) -> None:
    """Any bytes, from the sender or not, at any time."""
    bench = Bench()
    for data, changes, source, pause in steps:
        changed = bytearray(data)
        for position, value in changes:
            if changed:
                changed[position % len(changed)] = value
        bench.get(bytes(changed), source=source)
        bench.now += pause
        if bench.core.wake_at is not None and bench.core.wake_at <= bench.now:
            bench.core.handle_timer(now=bench.now)
        bench.core.sample(now=bench.now)


def test_who_takes_it_for_a_child_by_mistake_is_told() -> None:
    """A join that came late: the one that was asked first believes it is the parent."""
    bench = Bench()
    bench.data(0)
    for mistaken in (encode_probe(7, 42), encode_repair(bench.packet(0), 555)):
        assert bench.get(mistaken, source=STRANGER) == [Send(encode_abort(7, Reason.MOVED), STRANGER)]
    assert bench.get(encode_abort(7, Reason.SILENT), source=STRANGER) == []
    assert bench.core.state == "member"

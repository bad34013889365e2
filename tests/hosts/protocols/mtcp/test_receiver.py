"""The receiver alone: how it joins, what it holds, how it ends, and what it ignores."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.endpoint import Address, JoinGroup, LeaveGroup, Send, SessionEnded, SessionStarted, StreamBegan, StreamEnded
from hosts.protocols.mtcp.packets import REACH, encode_data, encode_repair, parse
from hosts.protocols.mtcp.premature import MOST
from hosts.protocols.mtcp.standing import FIN_TRIES
from hosts.protocols.mtcp.tree_packets import Join, encode_abort, encode_announce, encode_fin, encode_probe
from hosts.wire.farewell import Fin
from hosts.wire.reason import Reason
from tests.hosts.protocols.mtcp.bench import GROUP, SENDER, STRANGER, Bench, delivered, feedback, join_ack
from tests.hosts.protocols.mtcp.test_packets import examples

# --- joining


def test_it_joins_when_it_hears_the_sender() -> None:
    bench = Bench(member=False)
    assert bench.started == (JoinGroup(GROUP, SENDER.host),)
    assert bench.core.wake_at is None
    (join,) = bench.get(encode_announce(7, 1400), to=GROUP)
    assert isinstance(join, Send)
    assert join.destination == SENDER
    assert parse(join.data) == Join(7, False, True, False, True, 1, 1 << 24, 0)
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
    assert effects == [LeaveGroup(GROUP, SENDER.host), SessionEnded(False, "refused: the session has already started")]
    assert bench.core.closed


def test_data_that_overtake_the_admission_are_kept() -> None:
    bench = Bench(member=False)
    bench.get(encode_announce(7, 1400), to=GROUP)
    assert bench.data(0) == [StreamBegan(10)]
    for seq in (1, 2, 3):
        assert bench.data(seq) == []
    effects = bench.get(join_ack(Reason.NONE))
    assert effects[0] == SessionStarted(SENDER)
    assert delivered(effects) == b"".join(bytes([seq]) * 10 for seq in range(4))
    assert [ack.cumulative for ack in feedback(effects)] == [4]


def test_few_data_are_kept_before_the_admission() -> None:
    bench = Bench(member=False)
    bench.get(encode_announce(7, 1400), to=GROUP)
    for seq in range(MOST + 5):
        bench.data(seq)
    assert bench.core.counters["drop_not_member"] == 5


def test_a_leaf_is_patient_and_an_agent_is_not() -> None:
    assert Bench(patience_s=0.004).core.patience_s == 0.004
    assert Bench(patience_s=0.004, agent=True).core.patience_s == 0


# --- the buffer


def test_the_advertised_window_is_what_is_free() -> None:
    bench = Bench(buffer_bytes=8000, payload_bytes=1000, ack_every=1)
    (ack,) = feedback(bench.data(0, size=1000))
    assert ack.window == 7000
    (ack,) = feedback(bench.data(2, size=1000))  # held behind the gap, inside the window
    assert (ack.cumulative, ack.window) == (1, 7000)
    assert not bench.core.consumed(600, now=bench.now)
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
    assert bench.get(encode_fin(7, True, True, Reason.NONE)) == [LeaveGroup(GROUP, SENDER.host), SessionEnded(True, "")]


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


def test_who_has_said_that_it_will_not_have_the_stream_needs_no_more_than_the_receipt() -> None:
    bench = Bench()
    bench.data(0)
    bench.core.confirm(complete=False, now=bench.now, reason=Reason.CANNOT_WRITE)
    assert SessionEnded(False, "the file cannot be written") in bench.get(encode_abort(7, Reason.NONE))


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
        (encode_data(7, False, REACH + 100, 1, 0, b"x"), SENDER, "drop_outside_window"),
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

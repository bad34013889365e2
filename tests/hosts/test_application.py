"""The application's end of a stream: reading as it comes or slowly, the end, and files that fail."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from hosts import protocols
from hosts.application import Application, Sink, stream_bytes, with_hashes
from hosts.endpoint import Compute, Datagram, Deliver, Effect, Event, JoinGroup, Send, StreamEnded
from hosts.programs.file_source import FileSource
from hosts.protocol import Session
from hosts.wire.manifest import FileError
from hosts.wire.reason import Reason
from tests.hosts.recorder import GROUP, PEER, FullSink, ListSink, Recorder

WINDOW = Send(b"window", PEER)
DONE = Send(b"done", PEER)


def received(data: bytes) -> Datagram:
    return Datagram(data, PEER, GROUP)


def test_what_is_for_the_network_comes_back_in_order() -> None:
    recorder = Recorder()
    application = Application(recorder, sink=ListSink())
    one, join, two = Send(b"1", PEER), JoinGroup(GROUP, None), Send(b"2", PEER)
    assert application.carry_out([one, Deliver(0, b"ab"), join, Deliver(2, b"c"), two], 0.0) == [one, join, two, WINDOW]
    assert recorder.consumed_bytes == [3]


def test_the_end_is_confirmed_when_the_sink_has_finished() -> None:
    recorder, sink = Recorder(), ListSink()
    events: list[Event] = []
    application = Application(recorder, sink=sink, on_event=events.append)
    assert application.carry_out([StreamEnded(0)], 0.0) == [DONE]
    assert sink.is_finished
    assert events == [StreamEnded(0)]
    assert recorder.confirmed == [(True, Reason.NONE)]


@pytest.mark.parametrize(
    ("problem", "verdict"),
    [(None, (True, Reason.NONE)), (FileError("bad", Reason.WRONG_HASH), (False, Reason.WRONG_HASH))],
)
def test_a_sink_that_finishes_elsewhere(problem: FileError | None, verdict: tuple[bool, Reason]) -> None:
    recorder, sink = Recorder(), ListSink()
    begun: list[Sink] = []
    application = Application(recorder, sink=sink, finish=begun.append)
    assert application.carry_out([StreamEnded(0)], 0.0) == []
    assert begun == [sink]
    assert recorder.confirmed == []
    assert application.finished(problem, 1.0) == [DONE]
    assert recorder.confirmed == [verdict]
    assert application.error is problem


def test_after_a_failure_nothing_more_is_written() -> None:
    recorder = Recorder()
    application = Application(recorder, sink=FullSink())
    application.carry_out([Deliver(0, b"ab")], 0.0)
    application.carry_out([Deliver(2, b"cd"), StreamEnded(4)], 0.0)
    assert recorder.confirmed == [(False, Reason.CANNOT_WRITE)]
    assert recorder.consumed_bytes == [2, 2]


def test_a_slow_application_reads_at_its_rate() -> None:
    """80 bit/s: ten bytes a second. What waits is neither written nor given back."""
    recorder, sink = Recorder(), ListSink()
    application = Application(recorder, sink=sink, read_rate_bps=80)
    application.carry_out([Deliver(0, bytes(10)), Deliver(10, bytes(20)), StreamEnded(30)], 5.0)
    assert recorder.consumed_bytes == []
    assert application.read_at == 6.0
    assert application.read(5.9) == []
    assert application.read(6.0) == [WINDOW]
    assert (recorder.consumed_bytes, len(sink.data)) == ([10], 10)
    assert application.read_at == 8.0
    # One that was late has not lost its time, and the end is seen when all was read.
    assert application.read(9.0) == [WINDOW, DONE]
    assert (recorder.consumed_bytes, len(sink.data), sink.is_finished) == ([10, 20], 30, True)
    assert application.read_at is None


def test_a_slow_application_that_waited_begins_anew() -> None:
    application = Application(Recorder(), sink=ListSink(), read_rate_bps=80)
    application.carry_out([Deliver(0, bytes(10))], 0.0)
    application.read(1.0)
    application.carry_out([Deliver(10, bytes(10))], 100.0)
    assert application.read_at == 101.0


@pytest.mark.parametrize("checked", [None, (32, 1 << 20), (1400, 1 << 20)])
@pytest.mark.parametrize("size", [1, 2_000_000])
def test_the_length_of_a_stream_is_known_before_it_is_read(
    tmp_path: Path, size: int, checked: tuple[int, int] | None
) -> None:
    (tmp_path / "file").write_bytes(bytes(size))
    source = FileSource(tmp_path / "file")
    expected = stream_bytes(source.total_bytes, checked)
    stream = with_hashes(source, checked)
    assert sum(len(piece) for piece in iter(lambda: stream.read(1 << 16), b"")) == expected


def test_what_takes_its_time_is_done_here_or_elsewhere() -> None:
    """The endpoint is told once it has been done, and what it answers then is carried out."""
    done: list[str] = []
    work = Compute(lambda: done.append("work"))
    here = Application(Computing())
    assert here.carry_out([work], 0.0) == [DONE]
    assert done == ["work"]
    elsewhere: list[Compute] = []
    application = Application(Computing(), compute=elsewhere.append)
    assert application.carry_out([work], 0.0) == []
    assert done == ["work"]
    elsewhere[0].work()
    assert application.computed(0.0) == [DONE]
    application.carry_out(application.endpoint.close(now=0.0, reason=""), 0.0)
    assert application.computed(0.0) == [], "it came too late"


class Computing(Recorder):
    def computed(self, *, now: float) -> Sequence[Effect]:
        return (DONE,)


def test_a_sender_is_fed_in_turns() -> None:
    source = Bytes(bytes(100_000))
    sender = protocols.get("tfmcc").sender(Session(GROUP), random.Random(1), {"payload_bytes": 1400})
    application = Application(sender, source=source)
    application.carry_out(sender.start(now=0.0), 0.0)
    for left in (90_000, 80_000):
        application.feed(0.0, 10_000)
        assert application.is_hungry
        assert len(source.left) == left
    application.feed(0.0)
    assert not application.is_hungry
    assert source.exhausted


class Bytes:
    """A source that gives 5,000 at a time."""

    def __init__(self, data: bytes) -> None:
        self.left = data

    def read(self, space: int) -> bytes:
        piece, self.left = self.left[: min(space, 5000)], self.left[min(space, 5000) :]
        return piece

    @property
    def exhausted(self) -> bool:
        return not self.left


def test_hashing_may_be_stopped(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(5 << 20))
    source = FileSource(tmp_path / "file")
    asked = iter([True, True, False])
    with pytest.raises(FileError, match="stopped"):
        with_hashes(source, (1400, 1 << 20), lambda: next(asked))

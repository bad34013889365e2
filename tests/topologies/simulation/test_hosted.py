"""Endpoints on hosts whose clocks are wrong."""

from collections.abc import Sequence

import pytest

from hosts.endpoint import (
    Address,
    Datagram,
    Deliver,
    Effect,
    Event,
    JoinGroup,
    ReceiverEndpoint,
    Send,
    SessionEnded,
    StreamEnded,
)
from hosts.files import FileError
from hosts.reason import Reason
from topologies.scenario.network import HostClock
from topologies.simulation.hosted import HostedEndpoint

GROUP = Address("232.1.0.1", 5001)
PEER = Address("10.0.0.1", 40000)
CLOCK = HostClock.model_validate({"offset": "100 s", "drift_ppm": 1000})


class Recorder(ReceiverEndpoint):
    """Notes its calls; delivers what it receives; ends the stream with an empty datagram."""

    def __init__(self) -> None:
        self.counters = {}
        self.calls: list[tuple[str, float]] = []
        self.consumed_bytes: list[int] = []
        self.confirmed: list[tuple[bool, Reason]] = []
        self._closed = False

    @property
    def session_id(self) -> int | None:
        return 1

    def start(self, *, now: float) -> Sequence[Effect]:
        self.calls.append(("start", now))
        return (JoinGroup(GROUP, None),)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        self.calls.append(("receive", now))
        if not datagram.data:
            return (StreamEnded(0),)
        half = len(datagram.data) // 2
        return (Deliver(0, datagram.data[:half]), Deliver(half, datagram.data[half:]))

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        self.calls.append(("timer", now))
        return ()

    @property
    def wake_at(self) -> float | None:
        return 200.0

    def close(self, *, now: float, reason: str) -> Sequence[Effect]:
        self._closed = True
        return (Send(b"bye", PEER), SessionEnded(False, reason))

    @property
    def closed(self) -> bool:
        return self._closed

    def consumed(self, count: int, *, now: float) -> Sequence[Effect]:
        self.consumed_bytes.append(count)
        return (Send(b"window", PEER),)

    def confirm(self, *, complete: bool, now: float, reason: Reason = Reason.NONE) -> Sequence[Effect]:
        self.confirmed.append((complete, reason))
        return (Send(b"done", PEER),)


class FullSink:
    """Has no room."""

    def write(self, data: bytes) -> None:
        raise FileError("full", Reason.CANNOT_WRITE)

    def finish(self) -> None:
        raise AssertionError


def host(
    clock: HostClock = CLOCK, sink: FullSink | None = None
) -> tuple[HostedEndpoint, Recorder, list[tuple[Event, float]]]:
    events: list[tuple[Event, float]] = []
    recorder = Recorder()
    hosted = HostedEndpoint(recorder, clock, on_event=lambda event, now: events.append((event, now)), sink=sink)
    return hosted, recorder, events


def test_the_endpoint_sees_its_hosts_clock() -> None:
    hosted, recorder, _ = host()
    assert hosted.start(now=0.0) == [JoinGroup(GROUP, None)]
    hosted.handle_timer(now=10.0)
    assert recorder.calls == [("start", 100.0), ("timer", pytest.approx(110.01))]
    assert hosted.wake_at == pytest.approx(100 / 1.001)
    assert hosted.local(hosted.wake_at or 0.0) == pytest.approx(200.0)


def test_events_have_the_networks_time() -> None:
    hosted, recorder, events = host()
    assert hosted.receive(Datagram(b"", PEER, GROUP), now=3.0) == [Send(b"done", PEER)]
    assert events == [(StreamEnded(0), 3.0)]
    assert recorder.confirmed == [(True, Reason.NONE)]


def test_what_one_datagram_delivers_is_consumed_at_once() -> None:
    hosted, recorder, _ = host()
    assert hosted.receive(Datagram(b"abcd", PEER, GROUP), now=1.0) == [Send(b"window", PEER)]
    assert recorder.consumed_bytes == [4]


def test_a_sink_that_fails_is_told_to_the_sender() -> None:
    hosted, recorder, _ = host(sink=FullSink())
    hosted.receive(Datagram(b"abcd", PEER, GROUP), now=1.0)
    assert recorder.confirmed == [(False, Reason.CANNOT_WRITE)]
    assert str(hosted.application.error) == "full"


def test_after_the_end_nothing_is_heard() -> None:
    hosted, recorder, events = host()
    assert hosted.close("enough")(now=2.0) == [Send(b"bye", PEER)]
    assert events == [(SessionEnded(False, "enough"), 2.0)]
    assert hosted.close("again")(now=3.0) == ()
    assert hosted.receive(Datagram(b"abcd", PEER, GROUP), now=3.0) == ()
    assert hosted.wake_at is None
    assert recorder.calls == []

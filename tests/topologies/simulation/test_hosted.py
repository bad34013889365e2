"""Endpoints on hosts whose clocks are wrong."""

import pytest

from hosts.endpoint import Datagram, Event, JoinGroup, Send, SessionEnded, StreamEnded
from hosts.reason import Reason
from tests.hosts.recorder import GROUP, PEER, FullSink, ListSink, Recorder
from topologies.scenario.network import HostClock
from topologies.simulation.hosted import HostedEndpoint

CLOCK = HostClock.model_validate({"offset": "100 s", "drift_ppm": 1000})


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


def test_a_slow_application_reads_on_its_hosts_clock() -> None:
    recorder = Recorder()
    sink = ListSink()
    hosted = HostedEndpoint(recorder, CLOCK, on_event=lambda event, now: None, sink=sink, read_rate_bps=8.0)
    hosted.receive(Datagram(b"abcd", PEER, GROUP), now=1.0)
    assert hosted.wake_at == pytest.approx(1.0 + 2 / 1.001)
    assert hosted.handle_timer(now=3.0) == [Send(b"window", PEER)]
    assert sink.data == b"ab"

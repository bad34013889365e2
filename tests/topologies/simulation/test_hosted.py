"""Endpoints on hosts whose clocks are wrong, and that leave late."""

import pytest

from hosts.endpoint import Address, Datagram, Event, JoinGroup, LeaveGroup, Send, SessionEnded, StreamEnded
from hosts.wire.reason import Reason
from tests.hosts.recorder import GROUP, PEER, FullSink, ListSink, Recorder
from topologies.scenario.network import FeedbackTime, HostClock
from topologies.simulation.hosted import Conditions, FeedbackServer, HostedEndpoint, LateLeaves

CLOCK = HostClock.model_validate({"offset": "100 s", "drift_ppm": 1000})


def host(
    clock: HostClock = CLOCK, sink: FullSink | None = None
) -> tuple[HostedEndpoint, Recorder, list[tuple[Event, float]]]:
    events: list[tuple[Event, float]] = []
    recorder = Recorder()
    hosted = HostedEndpoint(
        recorder, Conditions(clock), on_event=lambda event, now: events.append((event, now)), sink=sink
    )
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
    hosted = HostedEndpoint(recorder, Conditions(CLOCK, read_rate_bps=8.0), on_event=lambda event, now: None, sink=sink)
    hosted.receive(Datagram(b"abcd", PEER, GROUP), now=1.0)
    assert hosted.wake_at == pytest.approx(1.0 + 2 / 1.001)
    assert hosted.handle_timer(now=3.0) == [Send(b"window", PEER)]
    assert sink.data == b"ab"


def test_feedback_waits_for_the_processor_and_other_packets_do_not() -> None:
    """A second each, two at a time; the kernel's arrival times are kept, on the host's clock."""
    server = FeedbackServer(FeedbackTime.model_validate({"time": "1 s", "queue": 2}))
    recorder = Recorder()
    conditions = Conditions(
        HostClock.model_validate({"offset": "100 s"}), server=server, is_feedback=lambda data: data == b"fb"
    )
    hosted = HostedEndpoint(recorder, conditions, on_event=lambda event, now: None)
    for at in (1.0, 1.5, 1.75):
        assert hosted.receive(Datagram(b"fb", PEER, GROUP), now=at) == ()
    assert recorder.datagrams == []
    assert server.dropped == 1
    hosted.receive(Datagram(b"other", PEER, GROUP), now=1.8)
    assert [datagram.data for datagram in recorder.datagrams] == [b"other"]
    assert hosted.wake_at == 2.0
    hosted.handle_timer(now=2.0)
    assert hosted.wake_at == 3.0
    hosted.handle_timer(now=3.0)
    assert [datagram.arrived_at for datagram in recorder.datagrams[1:]] == [101.0, 101.5]
    assert hosted.served == 2


def test_endpoints_of_a_host_share_its_processor() -> None:
    server = FeedbackServer(FeedbackTime.model_validate({"time": "1 s", "queue": 2}))
    conditions = Conditions(server=server, is_feedback=lambda data: True)
    one, other = (HostedEndpoint(Recorder(), conditions, on_event=lambda event, now: None) for _ in range(2))
    for hosted in (one, other, one):
        hosted.receive(Datagram(b"fb", PEER, GROUP), now=0.0)
    assert (one.wake_at, other.wake_at, server.dropped) == (1.0, 2.0, 1)
    one.close("enough")(now=0.5)
    assert one.wake_at == 1.0
    one.handle_timer(now=1.0)
    other.forget()
    assert [server.admit(1.0), server.admit(1.0)] == [3.0, 4.0]


FIRST, SECOND = Address("232.6.0.1", 5000), Address("232.6.0.2", 5000)
SOURCE = "10.0.0.1"


def test_leaves_wait_and_all_else_passes() -> None:
    late = LateLeaves(2.0)
    packet = Send(b"x", FIRST)
    assert late.hold([packet, LeaveGroup(FIRST, SOURCE), JoinGroup(SECOND, SOURCE)], 1.0) == [
        packet,
        JoinGroup(SECOND, SOURCE),
    ]
    assert late.hold([LeaveGroup(SECOND, SOURCE)], 1.5) == []
    assert late.next_at == 3.0
    assert late.take_due(2.9) == []
    assert late.take_due(3.0) == [LeaveGroup(FIRST, SOURCE)]
    assert late.take_due(9.0) == [LeaveGroup(SECOND, SOURCE)]
    assert late.next_at is None


def test_what_is_joined_again_was_never_left() -> None:
    late = LateLeaves(2.0)
    late.hold([LeaveGroup(FIRST, SOURCE)], 1.0)
    assert late.hold([JoinGroup(FIRST, SOURCE)], 2.0) == []
    assert late.take_due(9.0) == []
    assert late.hold([JoinGroup(FIRST, None)], 9.0) == [JoinGroup(FIRST, None)]


class Leaver(Recorder):
    """Leaves a group when it is closed."""

    def close(self, *, now: float, reason: str) -> list[object]:  # type: ignore[override]
        return [LeaveGroup(FIRST, SOURCE), *super().close(now=now, reason=reason)]


def test_an_endpoint_that_has_ended_still_leaves() -> None:
    hosted = HostedEndpoint(Leaver(), Conditions(leave_latency_s=2.0), on_event=lambda event, now: None)
    assert LeaveGroup(FIRST, SOURCE) not in hosted.close("enough")(now=5.0)
    assert hosted.wake_at == 7.0
    assert hosted.handle_timer(now=7.0) == [LeaveGroup(FIRST, SOURCE)]
    assert hosted.wake_at is None

"""Leaves that take effect late."""

from hosts.endpoint import Address, JoinGroup, LeaveGroup, Send
from tests.hosts.recorder import Recorder
from topologies.simulation.hosted import Conditions, HostedEndpoint
from topologies.simulation.leaving import LateLeaves

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

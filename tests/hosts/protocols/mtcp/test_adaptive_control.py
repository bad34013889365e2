"""What the default rules make of losses and marks that no long queue explains."""

import pytest

from hosts.endpoint import Address
from hosts.parts.adaptive import AdaptiveWindow
from hosts.protocols.mtcp.adaptive_control import AdaptiveControl
from hosts.protocols.mtcp.children import Child
from hosts.protocols.mtcp.options import MtcpOptions

WINDOW = 8
RTT_S = 0.02


class Parent:
    """Its window, which one child answers; no packet waits."""

    def __init__(self) -> None:
        options = MtcpOptions()
        self.control = AdaptiveControl(options, 0, own_clock=True)
        self.child = Child(0, Address("10.0.0.1", 1), options, 0.0, first=0, first_offset=0, buffer_bytes=1 << 20)
        self.seq = 0
        self.control.window.continue_from(WINDOW)

    def run(self, rounds: int, *, lost_every: int = 0) -> None:
        """Round trips, in each of so many of which a packet is lost."""
        for number in range(rounds):
            self.seq += WINDOW
            if lost_every and number % lost_every == 0:
                self.control.lost(self.child, self.seq - 1, self.seq, [self.child])
            self.control.acknowledged(WINDOW, RTT_S, self.seq * RTT_S / WINDOW)

    @property
    def is_beside_others(self) -> bool:
        window = self.control.window
        assert isinstance(window, AdaptiveWindow)
        return window.beside_others


def test_losses_that_links_do_not_have_tell_of_others_and_few_do_not() -> None:
    """Behind a queue of few packets no wait shows the TCP that fills it."""
    parent = Parent()
    parent.run(300, lost_every=25)
    assert not parent.is_beside_others
    parent.run(120, lost_every=3)
    assert parent.is_beside_others


def test_a_mark_tells_of_others() -> None:
    parent = Parent()
    parent.control.marked(parent.child, 1, WINDOW, [parent.child])
    parent.run(1)
    assert parent.is_beside_others


def test_the_first_slow_start_causes_losses_and_marks_of_its_own() -> None:
    parent = Parent()
    parent.control.renew()
    parent.run(3)
    parent.control.marked(parent.child, parent.seq, parent.seq + 1, [parent.child])
    assert not parent.control.window.slow_start
    parent.run(1)
    assert not parent.is_beside_others


@pytest.mark.parametrize(("by_runs", "enough"), [(False, 2), (True, 8)])
def test_a_pause_of_the_processor_is_no_queue_where_runs_leave(by_runs: bool, enough: int) -> None:
    """It delays all that is read together. Growth that doubles goes on until as many measurements say that packets wait
    as a pause does not reach."""
    parent = Parent()
    parent.control.by_runs = by_runs
    window = parent.control.window
    assert isinstance(window, AdaptiveWindow)
    for number in range(12):
        parent.child.add_rtd(RTT_S, 0.0, number * RTT_S)
        waiting_s = parent.child.take_waiting()
        parent.control.round_trip_ended(waiting_s, 1e4, RTT_S, True, [parent.child], number * RTT_S)
    for count in range(1, 9):
        assert window.heeds_waits == (count <= enough)
        parent.child.add_rtd(RTT_S + 0.005, 0.0, 1.0)
        parent.control.measured(parent.child)
    assert not window.heeds_waits

"""Which receivers are waited for no longer."""

import pytest

from hosts.endpoint import Address
from hosts.parts.silence import SILENT_S
from hosts.protocols.rla.branch import Branch
from hosts.protocols.rla.inflight import InFlight
from hosts.protocols.rla.silence import is_silent, usual_silence_s


@pytest.mark.parametrize(("listened", "silent"), [(2, True), (1, False)])
def test_who_answers_no_data_that_others_have(listened: int, silent: bool) -> None:
    """Of a round trip of 0.5 s: after three of them, and what its answer may be kept back for."""
    branch = Branch(0, Address("10.0.0.1", 1), 0, 0.2, 10.0)
    branch.rtt.add(0.5)
    for at in (7.0, 8.0, 9.0):
        branch.presence.told(at)
    inflight = InFlight()
    inflight.listened.add_child(0)
    inflight.append(b"x", False, 20.0)
    assert not is_silent(branch, inflight, listened, 0, 21.9, 0.5)
    assert is_silent(branch, inflight, listened, 0, 22.1, 0.5) == silent


def test_the_round_trip_of_one_that_has_shown_nothing_is_not_believed() -> None:
    branch = Branch(0, Address("10.0.0.1", 1), 0, 0.2, 10.0)
    branch.rtt.add(50.0)
    assert branch.believed_rtt_s == SILENT_S
    inflight = InFlight()
    inflight.listened.add_child(0)
    inflight.append(b"x", False, 20.0)
    assert not is_silent(branch, inflight, 2, 0, 20.9, 0.0)
    assert is_silent(branch, inflight, 2, 0, 21.1, 0.0)
    for at in (7.0, 8.0, 9.0):
        branch.presence.told(at)
    assert branch.believed_rtt_s == 50.0


def test_the_usual_silence_is_that_of_the_one_from_which_answers_come_rarest() -> None:
    """Mean and four deviations of the times between its answers; three round trips or a second at most. Who is set
    aside tells nothing."""
    branches = [Branch(number, Address("10.0.0.1", 1 + number), 0, 0.2, 10.0) for number in range(3)]
    for branch, interval in zip(branches, (0.1, 0.2, 0.4), strict=True):
        branch.rtt.add(0.05)
        for step in range(200):
            branch.told(step * interval)
    inflight = InFlight()
    assert usual_silence_s(branches, inflight) == pytest.approx(0.4, rel=0.01)
    inflight.set_aside.add(2)
    assert usual_silence_s(branches, inflight) == pytest.approx(0.2, rel=0.01)
    branches[1].told(1000.0)
    assert usual_silence_s(branches, inflight) == 1.0
    assert usual_silence_s([], inflight) == 0.0

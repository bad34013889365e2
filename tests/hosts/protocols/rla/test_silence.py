"""Which receivers are waited for no longer."""

import pytest

from hosts.endpoint import Address
from hosts.protocols.rla.branch import Branch
from hosts.protocols.rla.inflight import InFlight
from hosts.protocols.rla.silence import is_silent


@pytest.mark.parametrize(("listened", "silent"), [(2, True), (1, False)])
def test_who_answers_no_data_that_others_have(listened: int, silent: bool) -> None:
    """Of a round trip of 0.5 s: after three of them, and what its answer may be kept back for."""
    branch = Branch(0, Address("10.0.0.1", 1), 0, 0.2, 10.0)
    branch.rtt.add(0.5)
    inflight = InFlight()
    inflight.listened.add_child(0)
    inflight.append(b"x", False, 20.0)
    assert not is_silent(branch, inflight, listened, 0, 21.9, 0.5)
    assert is_silent(branch, inflight, listened, 0, 22.1, 0.5) == silent

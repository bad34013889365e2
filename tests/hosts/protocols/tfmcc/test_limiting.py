"""The previous CLR (Appendix C)."""

from hosts.endpoint import Address
from hosts.protocols.tfmcc.echoes import Echo
from hosts.protocols.tfmcc.limiting import Limiting, PreviousClr


def _limiting(receiver: int, rate: float) -> Limiting:
    return Limiting(receiver, Address("10.0.0.1", 1), rate, 0.1, True, 0.01, rate, 0.0, Echo(receiver, 0, 0.0, True))


def test_the_previous_clr_is_known_for_a_while() -> None:
    previous = PreviousClr()
    assert previous.below(1e9, 0.0) is None
    previous.keep(_limiting(1, 100.0), 5.0)
    assert previous.below(99.0, 1.0) is None
    found = previous.below(101.0, 1.0)
    assert found is not None
    assert found.receiver == 1
    assert previous.below(101.0, 6.0) is None
    previous.forget(2)
    assert previous.below(101.0, 1.0) is not None
    previous.forget(1)
    assert previous.below(101.0, 1.0) is None

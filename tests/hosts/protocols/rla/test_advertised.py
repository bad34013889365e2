"""Up to where all receivers' buffers take the stream."""

from hosts.endpoint import Address
from hosts.protocols.rla.advertised import Advertised
from hosts.protocols.rla.branch import Branch
from hosts.protocols.rla.inflight import InFlight


def test_the_least_of_those_who_are_listened_to() -> None:
    branches = {
        Address("10.0.0.1", number): Branch(number, Address("10.0.0.1", number), 0, 0.2, 0.0) for number in (1, 2, 3)
    }
    one, two, three = branches.values()
    inflight = InFlight()
    advertised = Advertised(branches, inflight)
    for branch, end in ((one, 1000), (two, 3000), (three, 2000)):
        branch.opens(end, 0.0)
    assert advertised.takes(1000)
    assert not advertised.takes(1001)
    one.opens(4000, 1.0)
    one.opens(500, 2.0)  # an older word
    assert advertised.takes(2000)
    assert not advertised.takes(2001)
    inflight.set_aside.add(three.number)
    advertised.forget()
    assert advertised.takes(3000)
    assert not advertised.takes(3001)

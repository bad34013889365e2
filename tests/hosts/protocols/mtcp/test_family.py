"""The children of a sender or agent: who is given up, and what strangers are told."""

from collections import Counter
from itertools import pairwise

from hosts.endpoint import Address
from hosts.protocols.mtcp.agent import Agent
from hosts.protocols.mtcp.family import Family, spread
from hosts.protocols.mtcp.options import MtcpOptions
from hosts.protocols.mtcp.packets import Feedback
from hosts.protocols.mtcp.roster import Roster
from hosts.protocols.mtcp.wire import UNLIMITED
from hosts.wire.reason import Reason
from tests.hosts.protocols.mtcp.parent import ONE, TWO, multicast, report


class Root:
    """A node that admits everybody."""

    address: Address | None = Address("10.0.0.9", 9)
    lineage: tuple[Address, ...] = ()
    kept_offset = 0
    refusal = Reason.NONE

    def sender_clock_us(self, at: float) -> int:
        return int(at * 1e6)

    def sender_silence_s(self, now: float) -> float:
        return 0.0


def make_family(options: MtcpOptions) -> Family:
    agent = Agent(options, Counter(), first=0, own_clock=True)
    return Family(7, options, Counter(), Root(), agent, Roster())


def hopeless(family: Family, now: float, *, blocked: bool = False) -> list[tuple[Address, Reason]]:
    return [(child.address, reason) for child, reason in family._hopeless(now, blocked)]


def test_who_is_hopeless() -> None:
    family = make_family(MtcpOptions(drop_after_s=10))
    agent = family.agent
    one = agent.add_child(ONE, 10**6, now=0.0)
    agent.add_child(TWO, 10**6, now=0.0)
    assert hopeless(family, 9.9) == []
    report(agent, one, 0, now=9.0)
    assert hopeless(family, 10.0) == [(TWO, Reason.SILENT)]
    agent.remove_child(TWO, 10.0)
    report(agent, one, 0, now=49.0)
    assert hopeless(family, 49.0) == []  # it was idle: only now there is something to make progress with
    multicast(agent, 50, now=50)
    report(agent, one, 0, now=50.1)
    assert hopeless(family, 58.9) == []
    report(agent, one, 0, now=60.0)
    assert hopeless(family, 60.1) == [(ONE, Reason.STALLED)]


def test_a_closed_window_is_a_stall_when_it_blocks_the_sender() -> None:
    family = make_family(MtcpOptions(drop_after_s=10))
    agent = family.agent
    one = agent.add_child(ONE, 1000, now=0.0)
    agent.add_child(TWO, 5000, now=0.0)
    multicast(agent, 1, now=1)
    for child in list(agent.children.values()):
        agent.feedback(child, Feedback(7, False, 1, 0, 0, 0, UNLIMITED, 0, 0 if child is one else 4000, 0), 1.1)
    for now in (5.0, 10.0, 15.0):
        for child in list(agent.children.values()):
            agent.feedback(child, Feedback(7, False, 1, 0, 0, 0, UNLIMITED, 0, 0 if child is one else 4000, 0), now)
        if now < 15:
            assert hopeless(family, now, blocked=True) == []
    assert hopeless(family, 15.0, blocked=True) == [(ONE, Reason.STALLED)]
    assert hopeless(family, 15.0, blocked=False) == []


def test_places_are_spread_evenly() -> None:
    assert [spread(number) for number in range(8)] == [0, 1 / 2, 1 / 4, 3 / 4, 1 / 8, 5 / 8, 3 / 8, 7 / 8]
    for count in (3, 16, 100):
        places = sorted(spread(number) for number in range(count))
        assert places[-1] < 1
        assert min(later - sooner for sooner, later in pairwise(places)) >= 1 / (2 * count)

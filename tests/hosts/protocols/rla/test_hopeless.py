"""Which receivers RLA's sender gives up, and why."""

import random
from collections import Counter

import pytest

from hosts.endpoint import Address
from hosts.parts.silence import UNPROVEN_S
from hosts.protocols.rla.flow import Flow
from hosts.protocols.rla.hopeless import hopeless
from hosts.protocols.rla.options import RlaOptions
from hosts.protocols.rla.packets import Ack
from hosts.wire.reason import Reason

GROUP = Address("239.1.1.1", 5000)
ONE, TWO = Address("10.0.0.1", 4000), Address("10.0.0.2", 4000)
PATIENCE_S = 10.0
WINDOW = 100_000


@pytest.fixture
def flow() -> Flow:
    made = Flow(7, GROUP, RlaOptions(drop_after_s=PATIENCE_S), random.Random(1), Counter())
    made.start(0.0)
    for address in (ONE, TWO):
        made.add(address, WINDOW, 0.0)
    for _ in range(5):
        made.send(bytes(100), False, 0.0)
    return made


def say(flow: Flow, address: Address, cumulative: int, now: float, window: int = WINDOW) -> None:
    ack = Ack(7, False, False, False, cumulative, window, int(now * 1e6), 0, 0, 0)
    flow.acknowledge(flow.branches[address], ack, now, None)


def found(flow: Flow, now: float, *, end_sent: bool = False, through: bool = False) -> list[tuple[Address, Reason]]:
    said = hopeless(flow, now, limit="window", end_sent=end_sent, others_are_through=through)
    return [(branch.address, reason) for branch, reason, _ in said]


def test_who_says_nothing_has_less_time_when_the_others_are_through(flow: Flow) -> None:
    assert found(flow, UNPROVEN_S + 0.1) == []
    assert found(flow, UNPROVEN_S + 0.1, through=True) == [(ONE, Reason.UNPROVEN), (TWO, Reason.UNPROVEN)]
    assert found(flow, PATIENCE_S + 0.1) == [(ONE, Reason.UNPROVEN), (TWO, Reason.UNPROVEN)]


def test_nor_has_who_says_the_same_again_and_again(flow: Flow) -> None:
    say(flow, ONE, 1, 1.0)
    say(flow, TWO, 5, 1.0)
    for now in range(2, 8):
        say(flow, ONE, 1, now)
        say(flow, TWO, 5, now)
    assert found(flow, 7.1) == []
    assert found(flow, 7.1, through=True) == [(ONE, Reason.UNPROVEN)], "the other has all"


def test_who_has_all_must_say_so_in_the_end(flow: Flow) -> None:
    for now in range(1, 31):
        say(flow, ONE, 5, now, WINDOW)
        say(flow, TWO, 5, now, WINDOW + 100 * now)
        assert found(flow, now) == [], "there may be more to come"
    for now in range(31, 42):
        say(flow, ONE, 5, now, WINDOW)
        say(flow, TWO, 5, now, WINDOW + 100 * now)
    assert found(flow, 41.0, end_sent=True) == [(ONE, Reason.STALLED)], "the other hands over what it has"

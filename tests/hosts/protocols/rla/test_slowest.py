"""Who signals congestion much more often than all others, for long."""

import pytest

from hosts.endpoint import Address
from hosts.protocols.rla.branch import Branch
from hosts.protocols.rla.options import RlaOptions
from hosts.protocols.rla.slowest import much_slower
from hosts.protocols.rla.troubled import TroubledReceivers

OPTIONS = RlaOptions(drop_slowest=4.0, drop_slowest_after_s=5.0)


@pytest.fixture
def branches() -> list[Branch]:
    return [Branch(number, Address("10.0.0.2", 4000 + number), 0, 0.2, 0.0) for number in range(2)]


def signalled(*intervals: float) -> TroubledReceivers:
    troubled = TroubledReceivers(20.0, 0.125)
    for number, interval in enumerate(intervals):
        troubled.add(number, 0.0)
        for times in range(1, int(20 / interval) + 1):
            troubled.signal(number, times * interval)
    return troubled


def test_who_signals_so_much_more_often_for_so_long_is_one(branches: list[Branch]) -> None:
    troubled = signalled(1.0, 10.0)
    assert not much_slower(branches[0], branches, troubled, OPTIONS, 20.0)
    assert not much_slower(branches[1], branches, troubled, OPTIONS, 20.0)
    for at in (21.0, 22.0, 23.0, 24.0, 25.0):  # as before
        troubled.signal(0, at)
    troubled.signal(1, 25.0)
    assert much_slower(branches[0], branches, troubled, OPTIONS, 25.0)


def test_who_does_not_any_more_is_none(branches: list[Branch]) -> None:
    assert not much_slower(branches[0], branches, signalled(1.0, 10.0), OPTIONS, 20.0)
    assert branches[0].slow_since == 20.0
    assert not much_slower(branches[0], branches, signalled(5.0, 10.0), OPTIONS, 20.0)
    assert branches[0].slow_since is None


def test_there_must_be_others_and_a_bound(branches: list[Branch]) -> None:
    troubled = signalled(1.0, 10.0)
    assert not much_slower(branches[0], branches[:1], troubled, OPTIONS, 20.0)
    assert not much_slower(branches[0], branches, troubled, RlaOptions(), 20.0)

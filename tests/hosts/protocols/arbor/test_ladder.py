"""Rungs' bounds, groups and numbers."""

import pytest

from hosts.endpoint import Address
from hosts.protocols.arbor.ladder import ABOVE, Ladder, rung_group, rung_number
from hosts.protocols.arbor.options import ArborOptions
from hosts.wire.header import SESSION_MAX

LADDER = Ladder(ArborOptions(rungs=4, least_rung_bps=1e6, rung_step=2.0))


def test_a_rung_is_for_who_wants_what_lies_between_its_bounds() -> None:
    assert [LADDER.rung(wanted) for wanted in (0, 1.9e6, 2e6, 3.9e6, 4e6, 8e6, 1e9)] == [0, 0, 1, 1, 2, 3, 3]
    assert [LADDER.bound(rung) for rung in range(4)] == [0, 2e6, 4e6, 8e6]


def test_a_rung_sends_a_little_more_than_the_next_one_s_bound() -> None:
    assert LADDER.limit(1, 0.0) == pytest.approx(ABOVE * 4e6)
    assert LADDER.limit(1, 3e6) == 3e6
    assert LADDER.limit(3, 0.0) == 0
    assert LADDER.limit(3, 9e6) == 9e6


def test_groups_and_numbers_follow_each_other() -> None:
    group = Address("239.1.2.255", 5000)
    assert [rung_group(group, rung).host for rung in range(3)] == ["239.1.2.255", "239.1.3.0", "239.1.3.1"]
    assert rung_number(7, 2) == 9
    assert rung_number(SESSION_MAX, 1) == 1
    with pytest.raises(ValueError, match="room"):
        rung_group(Address("239.255.255.255", 5000), 1)

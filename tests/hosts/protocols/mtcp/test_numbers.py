"""The numbers of a parent's children."""

from itertools import pairwise

from hosts.protocols.mtcp.numbers import Numbers, spread
from hosts.protocols.mtcp.packets import MERGE_CHILDREN


def test_who_comes_after_one_has_gone_has_another_number_first() -> None:
    numbers = Numbers()
    assert [numbers.take() for _ in range(3)] == [0, 1, 2]
    numbers.give_back(1)
    assert [numbers.take() for _ in range(MERGE_CHILDREN - 3)] == list(range(3, MERGE_CHILDREN))
    assert numbers.take() == 1


def test_beyond_what_switches_merge_no_number_comes_twice() -> None:
    numbers = Numbers()
    taken = [numbers.take() for _ in range(MERGE_CHILDREN + 2)]
    assert taken == list(range(MERGE_CHILDREN + 2))
    numbers.give_back(MERGE_CHILDREN)
    assert numbers.take() == MERGE_CHILDREN + 2


def test_places_are_spread_evenly() -> None:
    assert [spread(number) for number in range(8)] == [0, 1 / 2, 1 / 4, 3 / 4, 1 / 8, 5 / 8, 3 / 8, 7 / 8]
    for count in (3, 16, 100):
        places = sorted(spread(number) for number in range(count))
        assert places[-1] < 1
        assert min(later - sooner for sooner, later in pairwise(places)) >= 1 / (2 * count)

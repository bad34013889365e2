"""The children of a sender or agent: when each is probed."""

from itertools import pairwise

from hosts.protocols.mtcp.family import spread


def test_places_are_spread_evenly() -> None:
    assert [spread(number) for number in range(8)] == [0, 1 / 2, 1 / 4, 3 / 4, 1 / 8, 5 / 8, 3 / 8, 7 / 8]
    for count in (3, 16, 100):
        places = sorted(spread(number) for number in range(count))
        assert places[-1] < 1
        assert min(later - sooner for sooner, later in pairwise(places)) >= 1 / (2 * count)

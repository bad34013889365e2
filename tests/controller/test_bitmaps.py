from __future__ import annotations

import random

from controller.bitmaps import BitmapGroups


def ports(*numbers: int) -> frozenset[int]:
    return frozenset(numbers)


def test_equal_sets_share_a_group_and_keep_it() -> None:
    groups = BitmapGroups(4097)
    first = groups.assign([ports(1, 2), ports(3), ports(1, 2)])
    assert sorted(first.values()) == [4097, 4098]
    assert groups.assign([ports(3)]) == {ports(3): first[ports(3)]}


def test_a_number_is_not_given_to_another_set_in_the_same_round() -> None:
    groups = BitmapGroups(1, size=2)
    assert groups.assign([ports(1)]) == {ports(1): 1}
    assert groups.assign([ports(2)]) == {ports(2): 2}
    assert groups.assign([ports(3)]) == {ports(3): 1}


def test_more_sets_than_groups_leaves_some_without() -> None:
    groups = BitmapGroups(1, size=2)
    assert len(groups.assign([ports(1), ports(2), ports(3)])) == 2


def test_adoption() -> None:
    groups = BitmapGroups(10, size=5)
    groups.adopt(12, ports(1))
    groups.adopt(13, ports(1))
    groups.adopt(9, ports(2))
    groups.adopt(15, ports(3))
    assert groups.assign([ports(1), ports(2)]) == {ports(1): 12, ports(2): 10}


def test_a_groups_ports_never_change_from_one_round_to_the_next() -> None:
    rng = random.Random(1)
    groups = BitmapGroups(1, size=40)
    before: dict[int, frozenset[int]] = {}
    for _ in range(300):
        wanted = [frozenset(rng.sample(range(1, 17), k=rng.randint(1, 4))) for _ in range(10)]
        after = {number: group for group, number in groups.assign(wanted).items()}
        assert len(after) == len(set(wanted))
        assert all(after.get(number, group) == group for number, group in before.items())
        before = after

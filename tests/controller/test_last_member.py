from __future__ import annotations

from ipaddress import IPv4Address

from controller.groups import GroupKey
from controller.last_member import LastMembers
from controller.network import Timing

KEY = GroupKey(IPv4Address("10.0.0.1"), IPv4Address("232.1.0.1"))
HERE, THERE = ("s1", 1), ("s1", 2)


def test_queries_as_robustness_says_then_the_leave() -> None:
    leaves = LastMembers(Timing(robustness=3, last_member_s=0.5))
    leaves.left(KEY, HERE, 10.0)
    assert leaves.due(10.0) == ([(KEY, HERE)], [])
    assert leaves.due(10.4) == ([], [])
    assert leaves.due(10.5) == ([(KEY, HERE)], [])
    assert leaves.due(11.0) == ([(KEY, HERE)], [])
    assert leaves.due(11.4) == ([], [])
    assert leaves.due(11.5) == ([], [(KEY, HERE)])
    assert leaves.due(100.0) == ([], [])


def test_ports_and_repeated_leaves() -> None:
    leaves = LastMembers(Timing(robustness=1, last_member_s=1.0))
    leaves.left(KEY, HERE, 0.0)
    leaves.left(KEY, THERE, 0.5)
    assert leaves.due(0.6) == ([(KEY, HERE), (KEY, THERE)], [])
    leaves.left(KEY, HERE, 0.7)  # begins anew
    assert leaves.due(1.6) == ([(KEY, HERE)], [(KEY, THERE)])
    assert leaves.due(2.6) == ([], [(KEY, HERE)])

from __future__ import annotations

from ipaddress import IPv4Address

from controller.groups import GroupKey
from controller.members import MemberTable

KEY = GroupKey(IPv4Address("10.0.0.1"), IPv4Address("232.1.1.1"))
ANY = GroupKey(None, IPv4Address("239.1.1.1"))


def test_members_come_stay_and_go() -> None:
    members = MemberTable(lifetime_s=60.0)
    assert members.seen(KEY, ("s1", 3), 0.0)
    assert not members.seen(KEY, ("s1", 3), 30.0)
    assert members.seen(KEY, ("s2", 1), 40.0)
    assert members.ports(KEY) == {("s1", 3), ("s2", 1)}
    assert members.ports(ANY) == frozenset()
    assert [(m.switch, m.port) for m in members.expire(90.0)] == [("s1", 3)]
    assert members.gone(KEY, ("s2", 1))
    assert not members.gone(KEY, ("s2", 1))
    assert len(members) == 0


def test_members_are_listed_in_order_with_their_ages() -> None:
    members = MemberTable(lifetime_s=60.0)
    members.seen(KEY, ("s2", 1), 1.0)
    members.seen(KEY, ("s1", 2), 2.0)
    members.seen(ANY, ("s1", 1), 3.0)
    assert [m.to_json(5.0) for m in members] == [
        {"source": None, "group": "239.1.1.1", "switch": "s1", "port": 1, "age_s": 2.0, "last_seen_s": 2.0},
        {"source": "10.0.0.1", "group": "232.1.1.1", "switch": "s1", "port": 2, "age_s": 3.0, "last_seen_s": 3.0},
        {"source": "10.0.0.1", "group": "232.1.1.1", "switch": "s2", "port": 1, "age_s": 4.0, "last_seen_s": 4.0},
    ]
    members.drop_group(KEY)
    assert len(members) == 1

"""Members are soft state, and bounded."""

from hosts.endpoint import Address
from hosts.parts.members import FORGOTTEN_AFTER, MOST, Members

A, B = Address("10.0.1.1", 1), Address("10.0.1.2", 1)


def test_members_are_soft_state() -> None:
    members = Members(10.0)
    assert members.hear(1, A, 0.0)
    assert members.hear(2, B, 5.0)
    assert not members.hear(2, A, 5.0)  # in another's name
    assert members.knows(2, B)
    assert not members.knows(2, A)
    assert members.hear(1, A, 20.0)
    members.expire(5.0 + FORGOTTEN_AFTER * 10.0)
    assert len(members) == 2
    members.expire(5.1 + FORGOTTEN_AFTER * 10.0)
    assert members.knows(1, A)
    assert not members.knows(2, B)
    members.remove(1)
    members.remove(1)
    assert len(members) == 0


def test_members_are_bounded() -> None:
    members = Members(1e6)
    for receiver in range(MOST):
        assert members.hear(receiver + 1, A, 0.0)
    assert not members.hear(MOST + 1, A, 0.0)
    assert members.hear(1, A, 0.0)

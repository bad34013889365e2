"""Packets that are far ahead."""

from hosts.parts.jump import MOST_AHEAD, Jump


def test_one_alone_is_not_taken_and_two_are() -> None:
    jump = Jump()
    assert not jump.is_confirmed(1000)
    assert not jump.is_confirmed(1000), "the same once more says nothing"
    assert jump.is_confirmed(1001)
    assert not jump.is_confirmed(1001 + MOST_AHEAD + 1)
    assert jump.is_confirmed(1000 + MOST_AHEAD), "or the one before it"
    assert not Jump().is_confirmed(3)


def test_a_beginning_is_doubtful_until_a_second_packet_is_near_it() -> None:
    assert Jump.is_base_doubtful(0, 300, 1)
    assert not Jump.is_base_doubtful(0, 300, 2)
    assert not Jump.is_base_doubtful(0, MOST_AHEAD, 1)
    assert not Jump.is_base_doubtful(301, 300, 1)

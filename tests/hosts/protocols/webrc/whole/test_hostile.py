"""What strangers may send to a receiver that listens."""

from hosts.endpoint import Address
from hosts.parts.doubt import GRACE_S, SILENCE_S
from hosts.protocols.webrc.packets import encode_close
from tests.hosts.protocols.webrc.memory import GROUP, SENDER
from tests.hosts.protocols.webrc.test_receiver import Hand, T

STRANGER = Address("10.9.9.9", 1)


def test_the_end_of_another_session_does_not_end_one_that_is_waited_for() -> None:
    hand = Hand()
    for source in (SENDER, STRANGER):
        assert hand.bytes(encode_close(7, 0, T, 0, is_long=False), GROUP, source) == []
    assert hand.endpoint.state == "listening"
    hand.packet(T, 0)
    assert hand.endpoint.state == "member"
    assert hand.bytes(encode_close(7, 0, T, 0, is_long=False), GROUP, STRANGER) == []


def test_an_end_is_one_when_nothing_comes_after_it() -> None:
    hand = Hand()
    hand.packet(T, 0)
    hand.bytes(encode_close(7, 0, T, 0, is_long=False), GROUP)
    hand.now += GRACE_S + 0.1
    hand.packet(T, 0)
    hand.epoch(SILENCE_S)
    assert not hand.endpoint.closed, "a stranger's"
    hand.bytes(encode_close(7, 0, T, 0, is_long=False), GROUP)
    assert hand.epoch(SILENCE_S) != []
    assert hand.endpoint.closed

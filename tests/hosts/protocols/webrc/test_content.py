"""What a receiver's application gets of its session, and how that ends."""

from random import Random

import pytest

from hosts.endpoint import Effect, LeaveGroup, SessionEnded, StreamBegan, StreamEnded
from hosts.protocols.webrc.content import ContentReceiver
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.packets import Alc
from hosts.protocols.webrc.receiver import WebrcReceiver
from hosts.wire.header import PacketError
from hosts.wire.manifest import FileError
from hosts.wire.reason import Reason
from tests.hosts.protocols.webrc.memory import FAST, GROUP, SENDER, session

PACKET = Alc(7, 0, 1, 1, symbol=bytes(8))


def receiver(*, realtime: bool = False) -> ContentReceiver:
    """A member of a session."""
    endpoint = WebrcReceiver(session(realtime=realtime, deliver=False), WebrcOptions(**FAST), Random(1))
    endpoint.start(now=0.0)
    endpoint.state = "member"
    return endpoint


def test_the_first_data_are_told_once() -> None:
    endpoint = receiver()
    assert endpoint._hand_over(PACKET, list) == [StreamBegan(8)]
    assert endpoint._hand_over(PACKET, list) == []


@pytest.mark.parametrize("error", [PacketError("symbol"), FileError("no room")])
def test_what_cannot_be_used_is_counted_and_what_cannot_be_written_ends_the_session(error: Exception) -> None:
    endpoint = receiver()

    def take() -> list[Effect]:
        raise error

    effects = endpoint._hand_over(PACKET, take)
    if isinstance(error, PacketError):
        assert (effects, endpoint.counters["drop_symbol"], endpoint.closed) == ([], 1, False)
    else:
        assert effects == [LeaveGroup(GROUP, SENDER.host), SessionEnded(False, "no room")]


def test_nothing_is_handed_over_once_all_has_come() -> None:
    endpoint = receiver()
    assert endpoint._whole() == [LeaveGroup(GROUP, SENDER.host), StreamEnded(0)]
    assert endpoint._hand_over(PACKET, lambda: pytest.fail("handed over")) == []
    assert endpoint.confirm(complete=True, now=1.0) == [SessionEnded(True, "")]
    assert endpoint.confirm(complete=True, now=1.0) == endpoint.close(now=1.0, reason="late") == ()


def test_the_sender_s_end_is_the_stream_s_and_too_early_for_a_file_of_which_nothing_is_known() -> None:
    assert receiver(realtime=True)._over()[0] == StreamEnded(0)
    ended = receiver()._over()[-1]
    assert isinstance(ended, SessionEnded)
    assert not ended.complete
    assert "the sender ended the session" in ended.reason
    told_once = receiver()
    told_once._delivery.download.refused[7] = "a: File exists"
    assert told_once._over()[-1] == SessionEnded(False, "the sender ended the session; a: File exists")
    assert told_once._end(False, "a: File exists")[-1] == SessionEnded(False, "a: File exists")


def test_a_file_that_is_not_as_it_should_be_says_why() -> None:
    assert receiver().confirm(complete=False, now=1.0, reason=Reason.CANNOT_WRITE)[-1] == SessionEnded(
        False, Reason.CANNOT_WRITE.text
    )

"""What a stream's sender says of receivers that go and come."""

from hosts.programs.audience import GONE, Audience

HEARD = {"limiting": {"receiver": "10.0.0.5"}}
NOBODY = {"state": "sending", "limiting": None, "feedback_delay_s": 3.0}


def test_it_is_said_once_that_the_last_one_is_gone_and_that_one_has_come_again() -> None:
    audience = Audience()
    assert [audience.look(NOBODY, float(now)) for now in range(20)] == [None] * 20
    assert audience.is_there is None
    said = [audience.look(HEARD if now < 30 or now >= 50 else NOBODY, float(now)) for now in range(20, 60)]
    assert {now: words for now, words in enumerate(said, 20) if words} == {
        35: GONE,
        50: "10.0.0.5 receives the stream again",
    }
    assert [audience.look(NOBODY | {"state": "closing"}, float(now)) for now in range(60, 90)] == [None] * 30


def test_of_a_protocol_that_knows_no_receivers_nothing_is_said() -> None:
    audience = Audience()
    assert [audience.look({"state": "sending"}, float(now)) for now in range(20)] == [None] * 20
    assert audience.is_there is None

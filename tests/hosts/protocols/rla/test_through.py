"""What receivers that are through make of a session."""

from hosts.endpoint import Address, SessionEnded
from hosts.parts.silence import nobody_text
from hosts.protocols.rla.branch import Branch, Ended
from hosts.protocols.rla.through import Through
from hosts.wire.reason import Reason

ONE, TWO = Address("10.0.0.1", 4000), Address("10.0.0.2", 4000)


def ended(address: Address, state: str, reason: Reason = Reason.NONE) -> Ended:
    text = "" if reason is Reason.NONE else reason.text
    return Ended(state, text, Branch(0, address, 0, 0.2, 0.0), reason)


def test_who_may_not_have_been_there_may_come() -> None:
    through = Through({ONE: ended(ONE, "lost", Reason.UNPROVEN)})
    assert through.may_come(ONE)
    assert through.may_come(TWO)
    assert through.is_nobody
    through[TWO] = ended(TWO, "lost", Reason.SILENT)
    assert not through.may_come(TWO)
    assert not through.is_nobody


def test_who_may_not_have_been_there_fails_a_session_only_when_somebody_is_missing() -> None:
    through = Through({ONE: ended(ONE, "lost", Reason.UNPROVEN), TWO: ended(TWO, "complete")})
    assert through.is_somebody_whole
    assert through.end(1) == SessionEnded(True, f"{ONE}: {Reason.UNPROVEN.text}")
    assert not through.end(2).complete


def test_who_was_there_is_named() -> None:
    through = Through()
    assert nobody_text("no receiver is left", through.failed_text) == "no receiver is left"
    through[ONE] = ended(ONE, "left", Reason.INTERRUPTED)
    left = nobody_text("no receiver is left", through.failed_text)
    assert left == f"no receiver is left ({ONE}: {Reason.INTERRUPTED.text})"
    assert not through.end(0).complete

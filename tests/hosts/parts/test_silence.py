"""For how long silence is borne."""

from hosts.parts.silence import (
    PROVEN_TIMES,
    SILENT_ROUNDS,
    SILENT_S,
    START_BYTES,
    Presence,
    behind_text,
    is_success,
    kept_from,
    patience_s,
)
from hosts.wire.reason import Reason


def test_three_round_trips_and_a_second() -> None:
    assert patience_s(0.0) == patience_s(0.1) == SILENT_S
    assert patience_s(0.5) == SILENT_ROUNDS * 0.5


def test_sooner_but_not_before_three_round_trips() -> None:
    assert patience_s(0.01, 0.4) == 0.4
    assert patience_s(0.2, 0.4) == SILENT_ROUNDS * 0.2
    assert patience_s(0.01, 4.0) == SILENT_S


def test_how_far_it_was_behind() -> None:
    assert behind_text(64 << 20) == "silent, and 64 MiB behind"
    assert behind_text(500_000) == "silent, and 0.477 MiB behind"


def test_who_acknowledged_nothing_counts_when_somebody_is_missing() -> None:
    assert is_success([], whole=1, wanted=3)  # who has not come at all is for the program to say
    assert is_success([Reason.UNPROVEN, Reason.UNPROVEN], whole=2, wanted=2)
    assert not is_success([Reason.UNPROVEN], whole=1, wanted=2)
    assert not is_success([Reason.UNPROVEN, Reason.SILENT], whole=2, wanted=2)


def test_the_beginning_is_kept_until_somebody_is_there_or_it_is_much() -> None:
    there, stranger = Presence(), Presence()
    much = START_BYTES // 1000
    assert kept_from([], 5, 5 + much, 1000) == kept_from([there, stranger], 5, 5 + much, 1000) == 5
    assert kept_from([], 5, 6 + much, 1000) == 6 + much
    for times in range(PROVEN_TIMES):
        there.told(times * SILENT_S)
    assert kept_from([stranger, there], 5, 6, 1000) == 6


def test_who_tells_often_enough_is_there() -> None:
    presence = Presence()
    for at in (0.0, 0.1, 0.9):  # a stranger's packets, sent together
        presence.told(at)
    assert presence.times == 1
    for times in range(1, PROVEN_TIMES):
        assert not presence.is_proven
        presence.told(times * SILENT_S)
    assert presence.is_proven

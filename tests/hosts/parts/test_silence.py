"""For how long silence is borne."""

from hosts.parts.silence import SILENT_ROUNDS, SILENT_S, behind_text, patience_s


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

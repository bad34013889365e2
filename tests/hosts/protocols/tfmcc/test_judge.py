"""Reports that are not of now, or come in another's name."""

import pytest

from hosts.endpoint import Address
from hosts.protocols.tfmcc.judge import KNOWN, ReportJudge
from hosts.protocols.tfmcc.packets import Report

SOURCE = Address("10.0.0.2", 4000)


def _report(**fields: int) -> Report:
    given = {
        "session": 1,
        "flags": 0,
        "receiver": 9,
        "round": 5,
        "rate": 100,
        "rtt": 30,
        "loss_rate": 1,
        "receive_rate": 100,
        "echo_time_us": 10_000_000,
        "held_us": 1000,
        "time_us": 77,
    }
    return Report(**{**given, **fields})


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({}, None),
        ({"echo_time_us": 10_500_000}, "drop_future"),  # not sent yet
        ({"echo_time_us": 100_000}, "drop_future"),  # before the session
        ({"held_us": 2_000_000}, "drop_future"),  # held longer than the packet is old
        ({"round": 6}, "drop_stale"),  # has not begun
        ({"round": 2}, "drop_stale"),
        ({"round": 3}, None),
        ({"echo_time_us": 4_000_000}, "drop_stale"),
    ],
)
def test_a_report_must_be_of_now(fields: dict[str, int], problem: str | None) -> None:
    judge = ReportJudge(4.0)
    assert judge.problem(_report(**fields), SOURCE, 1.0, 5, 10.1) == problem


def test_a_report_counts_once_and_in_its_own_name() -> None:
    judge = ReportJudge(4.0)
    assert judge.problem(_report(), SOURCE, 1.0, 5, 10.1) is None
    assert judge.problem(_report(), SOURCE, 1.0, 5, 10.1) == "drop_replayed"
    assert judge.problem(_report(time_us=78), Address("10.0.0.3", 4000), 1.0, 5, 10.1) == "drop_forged"
    assert judge.problem(_report(time_us=78), SOURCE, 1.0, 5, 10.1) is None


def test_rounds_wrap() -> None:
    judge = ReportJudge(4.0)
    assert judge.problem(_report(round=65535), SOURCE, 1.0, 65537, 10.1) is None


def test_a_flood_of_names_is_forgotten_from_its_beginning() -> None:
    judge = ReportJudge(4.0)
    for receiver in range(1, KNOWN + 1000):
        assert judge.problem(_report(receiver=receiver), SOURCE, 1.0, 5, 10.1) is None
    assert len(judge) == KNOWN


def test_a_stranger_that_reports_again_before_it_has_answered_may_answer_either_question() -> None:
    here, elsewhere = Address("10.0.0.7", 1), Address("10.0.0.8", 1)
    for answered in (100, 200):
        judge = ReportJudge(4.0, is_open=False)
        judge.ask(7, here, 100)
        judge.ask(7, here, 200)
        assert not judge.admit(7, elsewhere, answered)
        assert not judge.admit(7, here, 150)
        assert judge.admit(7, here, answered)
        assert not judge.admit(7, here, answered)
    judge = ReportJudge(4.0, is_open=False)
    judge.ask(7, here, 100)
    judge.ask(7, elsewhere, 200)  # somebody else takes the name
    assert not judge.admit(7, elsewhere, 100)

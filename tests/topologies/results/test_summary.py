import json
from pathlib import Path

import pytest

from controller.sessions import SessionStatus
from tests.topologies.scenarios import small_scenario
from topologies.plan import REALTIME, make_plan
from topologies.results.run_folder import RunFolder, RunFolderError
from topologies.results.summary import (
    ReceiverResult,
    SessionResult,
    Summary,
    read_summary,
    sending_time,
    session_result,
    what_counts,
)

SCENARIO = small_scenario()
PLAN = make_plan(SCENARIO)


def result(sending_from: float | None = 1.0, sending_until: float | None = 9.0) -> SessionResult:
    return SessionResult(3, "mtcp", "a", "f", 1, "00", sending_from, sending_until, "done", "")


def receiver(expected: bool, complete: bool) -> ReceiverResult:
    return ReceiverResult("b", "10.0.0.1", expected, complete, "")


def test_a_session_is_good_when_all_that_should_have_the_file_have_it() -> None:
    session = result()
    session.receivers = [receiver(True, True), receiver(False, False)]
    assert session.ok
    session.receivers.append(receiver(True, False))
    assert not session.ok


def test_of_data_without_end_nobody_has_the_whole() -> None:
    assert what_counts(["ab", "cd"]) == "hold the whole file"
    assert what_counts([""]) == "took part to the end"
    assert what_counts(["", "ab"]) == "hold the whole file or took part to the end"


SESSION = small_scenario().sessions[1]
HOSTS = {"10.0.0.7": "c"}
TRACE = [
    {"trace": 1, "started_at": 1_000.5},
    {"t": 0.2, "sent_bytes": 0},
    {"t": 0.4, "sent_bytes": 0},
    {"t": 0.6, "sent_bytes": 700},
    {"t": 0.8, "sent_bytes": 5_000},
    {"t": 1.0, "sent_bytes": 9_000},
    {"t": 1.2, "sent_bytes": 9_000},
]


def test_sending_is_from_the_last_row_before_data_to_the_last_before_all_of_it() -> None:
    assert sending_time(TRACE, 1_000.0) == pytest.approx((0.9, 1.3))
    assert sending_time([TRACE[0], *TRACE[3:]], 1_000.0) == pytest.approx((0.5, 1.3))


@pytest.mark.parametrize("trace", [[], TRACE[:1], TRACE[:3], TRACE[1:]])
def test_a_trace_without_data_or_header_has_no_sending_time(trace: list[dict[str, float]]) -> None:
    assert sending_time(trace, 1_000.0) is None


def test_a_session_that_never_started_says_so() -> None:
    result = session_result(SESSION, REALTIME, None, [], HOSTS)
    assert (result.id, result.sender, result.state, result.detail) == (4, "b", "not started", "")
    assert (result.sending_from, result.sending_until, result.feedback_packets) == (None, None, None)
    assert (result.drop_after_s, result.dropped) == (4.0, [])


def test_a_session_is_what_its_sender_said_last() -> None:
    status = SessionStatus.model_validate(
        {
            "version": 1, "session": 4, "protocol": "mtcp", "group": "239.1.0.4", "source": "10.0.0.1",
            "state": "done", "updated_at": 1_002.0, "feedback_packets": 5, "repair_packets": 2,
            "detail": "10.0.0.7:20000: silent for too long; 10.9.9.9:1: left",
            "receivers": {"10.0.0.7:20000": {"state": "lost"}, "10.0.0.9:20000": {"state": "member"}},
        }
    )  # fmt: skip
    result = session_result(SESSION, REALTIME, status, TRACE, HOSTS, epoch=1_000.0)
    assert (result.state, result.feedback_packets, result.repair_packets) == ("done", 5, 2)
    assert result.detail == "c: silent for too long; 10.9.9.9:1: left"
    assert (result.sending_from, result.sending_until) == (0.9, 1.3)
    assert result.dropped == ["c"]


def test_a_summary_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    folder, written = RunFolder(tmp_path), summary()
    folder.summary.write_text(json.dumps(written.as_json()))
    assert read_summary(folder) == written.as_json()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "not a run's summary"),
        ('{"seed": 1', "not a run's summary: Invalid JSON"),
        (json.dumps({"seed": "1"}), "not a run's summary: scenario"),
        ("NaN", "not a run's summary"),
    ],
)
def test_what_is_no_summary_is_told(tmp_path: Path, text: str, said: str) -> None:
    folder = RunFolder(tmp_path)
    with pytest.raises(RunFolderError, match="no run folder, or not over yet"):
        read_summary(folder)
    folder.summary.write_text(text)
    with pytest.raises(RunFolderError, match=rf"summary.json: {said}"):
        read_summary(folder)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999", "9" * 40])
def test_a_number_that_no_run_can_have_is_told(tmp_path: Path, number: str) -> None:
    folder = RunFolder(tmp_path)
    folder.summary.write_text(json.dumps(summary().as_json()).replace("4321.0", number))
    with pytest.raises(RunFolderError, match=r"summary.json: not a run's summary"):
        read_summary(folder)


def summary() -> Summary:
    session = result()
    session.receivers = [receiver(True, True)]
    return Summary(
        "x", 1, "simulated", "2026", 0.0, 4321.0, True, "done", [session], [], None, [], [], ["note"], "runs/x"
    )


def test_what_a_receiver_lost_is_its_own_word_where_its_sender_says_nothing() -> None:
    silent = receiver(True, True)
    silent.take_sample({"lost_packets": 28})
    assert silent.lost_packets == 28
    said = receiver(True, True)
    said.lost_packets = 3  # of all that the receiver has reported
    said.take_sample({"lost_packets": 28})
    assert said.lost_packets == 3
    said.take_sample({})
    assert said.lost_packets == 3

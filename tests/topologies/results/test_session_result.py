import pytest

from controller.sessions import SessionStatus
from tests.topologies.scenarios import small_scenario
from topologies.plan.sources import REALTIME
from topologies.results.session_result import sending_time, session_result

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
            "receivers": {"10.0.0.7:20000": {"state": "lost"}, "10.0.0.9:20000": {"state": "member"}},
        }
    )  # fmt: skip
    result = session_result(SESSION, REALTIME, status, TRACE, HOSTS, epoch=1_000.0)
    assert (result.state, result.detail, result.feedback_packets, result.repair_packets) == ("done", "", 5, 2)
    assert (result.sending_from, result.sending_until) == (0.9, 1.3)
    assert result.dropped == ["c"]

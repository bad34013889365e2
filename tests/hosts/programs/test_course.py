import pytest

from hosts.endpoint import SessionEnded, SessionStarted, StreamBegan
from hosts.programs.course import Course


def course(*events: tuple[float, object]) -> Course:
    found = Course()
    for at, event in events:
        found.note(event, at)  # type: ignore[arg-type]
    return found


def test_a_file_is_timed_from_its_first_data_and_what_came_with_these_is_not_counted() -> None:
    it = course((1.0, SessionStarted()), (5.0, StreamBegan(1000)), (7.0, SessionEnded(True, "")))
    assert it.duration == 2.0
    assert it.goodput_bps(3000) == pytest.approx(8000)


def test_what_comes_at_once_has_no_goodput() -> None:
    it = course((1.0, SessionStarted()), (5.0, StreamBegan(1000)), (5.0, SessionEnded(True, "")))
    assert it.goodput_bps(3000) is None
    assert course((5.0, StreamBegan(1000)), (6.0, SessionEnded(True, ""))).goodput_bps(900) is None


def test_without_data_the_duration_is_the_session_s() -> None:
    it = course((1.0, SessionStarted()), (4.0, SessionEnded(True, "")), (6.0, SessionEnded(True, "")))
    assert (it.duration, it.goodput_bps(10)) == (3.0, None)
    assert course((1.0, SessionStarted())).duration is None

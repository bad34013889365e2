"""Vegas' window."""

from hypothesis import given
from hypothesis import strategies as st

from hosts.parts.vegas import LEAST_CWND, VegasOptions, VegasWindow

OPTIONS = VegasOptions(alpha=2, beta=4, gamma=1)


def test_slow_start_doubles_every_other_round_trip() -> None:
    window = VegasWindow(OPTIONS, 512)
    sizes = []
    for _ in range(8):
        window.acknowledged(int(window.cwnd))
        window.round_trip_ended(0.0, used=True)
        sizes.append(window.cwnd)
    assert sizes == [2, 2, 4, 4, 8, 8, 16, 16]
    assert window.slow_start


def test_a_queue_ends_slow_start() -> None:
    window = VegasWindow(OPTIONS, 512)
    for _ in range(5):
        window.acknowledged(int(window.cwnd))
        window.round_trip_ended(0.0, used=True)
    assert window.cwnd == 8
    window.round_trip_ended(4.0, used=True)
    assert not window.slow_start
    assert window.cwnd == 5  # what did not wait, and gamma


def test_what_slow_start_built_up_is_drained_at_once() -> None:
    window = VegasWindow(OPTIONS, 512)
    window.cwnd = 100.0
    window.round_trip_ended(11.0, used=True)
    assert window.cwnd == 90
    window.round_trip_ended(24.0, used=True)  # by then the whole of it shows
    assert window.cwnd == 70
    window.round_trip_ended(3.0, used=True)
    window.round_trip_ended(24.0, used=True)  # from now on one packet a round trip
    assert window.cwnd == 69


def _avoiding(cwnd: float) -> VegasWindow:
    window = VegasWindow(OPTIONS, 512)
    window.cwnd = window.ssthresh = cwnd
    return window


def test_congestion_avoidance_keeps_the_queue_between_alpha_and_beta() -> None:
    window = _avoiding(20)
    window.round_trip_ended(1.9, used=True)
    assert window.cwnd == 21
    window.round_trip_ended(3.0, used=True)
    assert window.cwnd == 21
    window.round_trip_ended(4.1, used=True)
    assert window.cwnd == 20
    assert not window.slow_start
    window.acknowledged(20)
    assert window.cwnd == 20  # once a round trip, not for each packet


def test_an_unused_window_does_not_grow() -> None:
    window = _avoiding(20)
    window.round_trip_ended(0.0, used=False)
    assert window.cwnd == 20
    window.round_trip_ended(9.0, used=False)
    assert window.cwnd == 19


def test_timeout_and_recovery() -> None:
    window = _avoiding(20)
    window.timed_out()
    assert (window.cwnd, window.ssthresh) == (1, 10)
    window.timed_out(again=True)
    assert (window.cwnd, window.ssthresh) == (1, 10)
    for _ in range(20):
        window.acknowledged(int(window.cwnd))
        window.round_trip_ended(3.0 if not window.slow_start else 0.0, used=True)
    assert window.cwnd == 10
    assert not window.slow_start


def test_cut_to_three_quarters() -> None:
    window = _avoiding(20)
    window.cut()
    assert window.cwnd == 15
    assert not window.slow_start


def test_cut_to_a_half() -> None:
    window = _avoiding(20)
    window.cut(1 / 2)
    assert window.cwnd == 10
    window.cwnd = 3.0
    window.cut(1 / 2)
    assert window.cwnd == LEAST_CWND


def test_another_paths_window_is_taken_over_without_slow_start() -> None:
    window = VegasWindow(OPTIONS, 64)
    for size, taken in ((12.5, 12.5), (0.3, LEAST_CWND), (1000.0, 64)):
        window.continue_from(size)
        assert window.cwnd == taken
        assert not window.slow_start


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("acknowledged"), st.integers(0, 600)),
            st.tuples(st.just("round"), st.floats(0, 1e4), st.booleans()),
            st.tuples(st.just("timeout"), st.booleans()),
            st.tuples(st.just("cut")),
        ),
        max_size=200,
    )
)
def test_bounds(steps: list[tuple[object, ...]]) -> None:
    window = VegasWindow(OPTIONS, 64)
    for step in steps:
        match step:
            case ("acknowledged", int(packets)):
                window.acknowledged(packets)
            case ("round", float(backlog), bool(used)):
                window.round_trip_ended(backlog, used)
            case ("timeout", bool(again)):
                window.timed_out(again)
            case _:
                window.cut()
        assert 1 <= window.cwnd <= 64
        assert window.ssthresh >= LEAST_CWND

"""The sender's small parts: rate, rounds, echoes, previous CLR, judge; and the receiver's RTT and receive rate."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.endpoint import Address
from hosts.protocols.tfmcc.echoes import MOST, Echo, EchoQueue, Priority
from hosts.protocols.tfmcc.judge import KNOWN, ReportJudge
from hosts.protocols.tfmcc.limiting import Limiting, PreviousClr
from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.packets import Report
from hosts.protocols.tfmcc.rate import RateControl
from hosts.protocols.tfmcc.rate_float import NO_RATE, decode_rtt, encode_rtt
from hosts.protocols.tfmcc.receive_rate import ReceiveRate
from hosts.protocols.tfmcc.rounds import FeedbackRounds
from hosts.protocols.tfmcc.rtt import RoundTrip

INF = float("inf")


# --- rate


def test_the_successor_of_a_clr_is_approached_by_one_packet_per_rtt() -> None:
    control = RateControl(100e3, 1.0, INF, always_limited=False)
    control.hold(10.0)
    control.allow(300e3, 0.1, 1000, 10.0)
    assert control.at(10.0) == 100e3
    assert control.at(11.0) == pytest.approx(100e3 + 1000 / 0.1 * 10)  # a packet per RTT more in each of ten RTTs
    assert control.at(12.5) == 300e3
    control.allow(500e3, 0.1, 1000, 13.0)  # reached: from now on the loss history limits
    assert control.at(13.0) == 500e3


def test_rfc_4654_limits_every_increase() -> None:
    control = RateControl(100e3, 1.0, INF, always_limited=True)
    control.allow(150e3, 0.1, 1000, 0.0)
    assert control.at(1.0) == 150e3 or control.at(1.0) < 201e3
    control.allow(500e3, 0.1, 1000, 1.0)
    assert control.at(1.0) == pytest.approx(150e3)
    assert control.at(1.1) == pytest.approx(160e3)


@given(st.lists(st.tuples(st.sampled_from(["cut", "allow", "hold", "slowstart"]), st.floats(0, 1e12), st.floats(0, 5))))
def test_the_rate_stays_within_its_bounds_and_is_cut_at_once(steps: list[tuple[str, float, float]]) -> None:
    control = RateControl(1e3, 125.0, 1e9, always_limited=False)
    now = 0.0
    for kind, rate, wait in steps:
        before = control.at(now)
        if kind == "cut":
            control.cut(rate, now)
            assert control.at(now) <= max(rate, 125.0)
        elif kind == "allow":
            control.allow(rate, 0.1, 1000, now)
            assert control.at(now) <= max(rate, before)
        elif kind == "hold":
            control.hold(now)
            assert control.at(now) == before
        else:
            control.slowstart(rate, 0.1, now)
            assert control.at(now) == pytest.approx(before)
        now += wait
        assert 125.0 <= control.at(now) <= 1e9


def test_slowstart_reaches_its_target_in_one_rtt() -> None:
    control = RateControl(10e3, 1.0, INF, always_limited=False)
    control.slowstart(20e3, 0.2, 1.0)
    assert control.at(1.1) == pytest.approx(15e3)
    assert control.at(1.2) == 20e3


# --- rounds


def test_the_least_rates_are_kept_apart_by_rtt_and_loss() -> None:
    rounds = FeedbackRounds(TfmccOptions(), 0.5, 0.0)
    rounds.hear(500, has_rtt=True, has_loss=False)
    rounds.hear(300, has_rtt=False, has_loss=False)
    assert (rounds.suppression, rounds.suppression_no_rtt, rounds.from_loss) == (500, 300, False)
    rounds.hear(700, has_rtt=True, has_loss=True)  # slowstart is over: who lost nothing does not count any more
    assert (rounds.suppression, rounds.suppression_no_rtt, rounds.from_loss) == (700, NO_RATE, True)
    rounds.hear(100, has_rtt=True, has_loss=False)
    assert rounds.suppression == 700
    rounds.begin(1.0)
    assert (rounds.number, rounds.suppression, rounds.from_loss, rounds.reports) == (2, NO_RATE, False, 0)


def test_the_maximum_rtt_rises_at_once_and_falls_slowly() -> None:
    rounds = FeedbackRounds(TfmccOptions(), 0.5, 0.0)
    rounds.begin(1.0)
    assert rounds.max_rtt == 0.5  # nobody said anything
    rounds.hear_rtt(0.1)
    rounds.begin(2.0)
    assert rounds.max_rtt == pytest.approx(0.45)
    rounds.hear_rtt(0.8)
    assert rounds.max_rtt == 0.8
    for number in range(40):
        rounds.hear_rtt(0.1)
        rounds.begin(3.0 + number)
    assert rounds.max_rtt == pytest.approx(0.1)


@pytest.mark.parametrize(("rules", "patience"), [("paper", 2.0), ("rfc", 4.0)])
def test_a_round_lasts_t_and_by_the_rfc_longer_without_a_report(rules: str, patience: float) -> None:
    rounds = FeedbackRounds(TfmccOptions(rules=rules), 0.5, 0.0)
    assert not rounds.is_over(1e9)
    rounds.delay = 2.0
    assert not rounds.is_over(patience - 0.01)
    assert rounds.is_over(patience)
    rounds.hear(1, has_rtt=True, has_loss=True)
    assert rounds.is_over(2.0)


# --- echoes


def test_echoes_come_in_the_papers_order_and_ties_go_to_the_lowest_rate() -> None:
    queue = EchoQueue()
    for receiver, priority, rate in (
        (1, Priority.OTHER, 10),
        (2, Priority.NO_RTT, 30),
        (3, Priority.NO_RTT, 20),
        (4, Priority.NEW_CLR, 99),
        (5, Priority.OTHER, 5),
    ):
        assert queue.add(priority, rate, Echo(receiver, 1, 0.0, False))
    order = []
    while (echo := queue.pop()) is not None:
        order.append(echo.receiver)
    assert order == [4, 3, 2, 5, 1]


def test_a_receivers_newer_report_takes_the_place_of_the_older_and_memory_is_bounded() -> None:
    queue = EchoQueue()
    for time in range(10 * MOST):
        queue.add(Priority.OTHER, time, Echo(7, time, 0.0, True))
    assert len(queue) == 1
    echo = queue.pop()
    assert echo is not None
    assert echo.time_us == 10 * MOST - 1
    assert queue.pop() is None
    accepted = sum(queue.add(Priority.NO_RTT, 1, Echo(receiver, 0, 0.0, False)) for receiver in range(2 * MOST))
    assert accepted == len(queue) == MOST
    queue.drop(0)
    assert len(queue) == MOST - 1


# --- the previous CLR (Appendix C)


def _limiting(receiver: int, rate: float) -> Limiting:
    return Limiting(receiver, Address("10.0.0.1", 1), rate, 0.1, True, 0.01, rate, 0.0, Echo(receiver, 0, 0.0, True))


def test_the_previous_clr_is_known_for_a_while() -> None:
    previous = PreviousClr()
    assert previous.below(1e9, 0.0) is None
    previous.keep(_limiting(1, 100.0), 5.0)
    assert previous.below(99.0, 1.0) is None
    found = previous.below(101.0, 1.0)
    assert found is not None
    assert found.receiver == 1
    assert previous.below(101.0, 6.0) is None
    previous.forget(2)
    assert previous.below(101.0, 1.0) is not None
    previous.forget(1)
    assert previous.below(101.0, 1.0) is None


# --- the judge

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


# --- the receiver's round trip time


def test_measurements_are_smoothed_by_role() -> None:
    for is_clr, beta in ((True, 0.05), (False, 0.5)):
        trip = RoundTrip(TfmccOptions())
        assert trip.rtt == decode_rtt(encode_rtt(0.5))
        trip.measure(0.1, 10.0, 3.0, is_clr=is_clr)
        assert (trip.rtt, trip.has_measurement) == (0.1, True)
        trip.measure(0.2, 11.0, 4.0, is_clr=is_clr)
        assert trip.rtt == pytest.approx(0.1 + beta * 0.1)


@given(st.floats(-1e5, 1e5), st.floats(0.001, 1.0))
def test_the_way_forth_shows_a_change_whatever_the_clocks_say(skew: float, extra: float) -> None:
    trip = RoundTrip(TfmccOptions())
    trip.measure(0.1, 100.0 + skew, 99.95, is_clr=False)
    for _ in range(300):
        trip.adjust(100.0 + skew + extra, 99.95)
    assert trip.rtt == pytest.approx(0.1 + extra, rel=1e-3)
    trip.measure(0.1 + extra, 200.0 + skew + extra, 199.95, is_clr=False)  # what was inferred is forgotten
    assert trip.rtt == pytest.approx(0.1 + extra / 2, rel=1e-3)


def test_synchronised_clocks_give_the_first_value() -> None:
    trip = RoundTrip(TfmccOptions(clock_error_s=0.03))
    trip.synchronise(10.05, 10.0)
    assert trip.rtt == pytest.approx(2 * (0.05 + 0.03))
    assert not trip.has_measurement
    unsynchronised = RoundTrip(TfmccOptions())
    unsynchronised.synchronise(10.05, 10.0)
    assert unsynchronised.rtt == TfmccOptions().initial_rtt


@pytest.mark.parametrize("delay", [-0.5, -0.031, 2.0, 1e5])
def test_clocks_that_do_not_agree_after_all_change_nothing(delay: float) -> None:
    trip = RoundTrip(TfmccOptions(clock_error_s=0.03))
    trip.synchronise(10.0 + delay, 10.0)
    assert trip.rtt == TfmccOptions().initial_rtt


def test_a_receive_rate_is_that_of_some_round_trip_times() -> None:
    meter = ReceiveRate()
    assert meter.at(0.0, 0.1) == 0
    rng = Random(1)
    now = 0.0
    for _ in range(1000):
        now += rng.uniform(0.005, 0.015)
        meter.add(1000, now, 0.1)
    assert meter.at(now, 0.1) == pytest.approx(100_000, rel=0.15)
    assert meter.at(now + 10, 0.1) < 2000

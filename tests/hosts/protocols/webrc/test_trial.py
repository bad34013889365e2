"""A join on trial, with losses and epochs given by hand; alone, and within a receiver's control."""

import pytest

from hosts.protocols.webrc.rates import Rates
from hosts.protocols.webrc.trial import OVERLOADED_EPOCHS, Trial
from hosts.protocols.webrc.waves import Waves
from tests.hosts.protocols.webrc.fluid_path import joined_by_today_s_rules

EPOCH = 0.25
ARTT = 0.1


def trial() -> Trial:
    waves = Waves(2000.0)
    rates = Rates(waves, EPOCH)
    rates.waves_joined, rates.arr, rates.rr = 10, 50.0, 40.0
    return Trial(waves, rates, EPOCH)


def lose(of: Trial, now: float) -> None:
    of.count(15, 5, now, is_marked=False, is_joining=False)


def held(of: Trial, now: float) -> float:
    """How long a rate is forbidden that has just failed."""
    of.begin()
    lose(of, now)
    assert of.has_failed
    of.hold(ARTT, now)
    of.end()
    least, most = now, now + 100.0
    while most - least > 1e-3:
        middle = (least + most) / 2
        least, most = (middle, most) if of.forbids(50.0, middle) else (least, middle)
    return most - now


def succeed(of: Trial, now: float) -> None:
    of.begin()
    of.epoch(now, is_full=True, lags=False)
    assert not of.is_on


def test_each_failure_makes_the_wait_twice_as_long_and_each_success_half_as_long() -> None:
    tried = trial()
    first = held(tried, 0.0)
    assert first > ARTT
    assert held(tried, 20.0) == pytest.approx(2 * first, abs=0.01)
    succeed(tried, 40.0)
    assert held(tried, 60.0) == pytest.approx(2 * first, abs=0.01)
    for number in range(8):
        assert held(tried, 80.0 + 20 * number) <= 10.0 + 0.01  # a time slot


def test_it_lasts_until_the_epoch_that_ends_it() -> None:
    tried = trial()
    tried.begin()
    tried.epoch(4.0, is_full=True, lags=True)
    assert tried.until(5.0) == 5.0
    tried.epoch(6.0, is_full=True, lags=False)
    assert tried.until(9.0) == 6.0


def test_less_than_what_came_through_is_not_forbidden() -> None:
    tried = trial()
    tried.begin()
    lose(tried, 0.0)
    tried.hold(ARTT, 0.0)
    assert tried.forbids(40.0, 0.1)
    assert not tried.forbids(37.0, 0.1)  # a quarter of 50 was lost


def test_losses_before_the_wave_s_first_packet_are_of_something_else() -> None:
    tried = trial()
    tried.begin()
    tried.count(15, 5, 0.0, is_marked=False, is_joining=True)
    assert not tried.has_failed


def test_a_queue_that_grows_decides_nothing_before_something_is_lost_or_marked() -> None:
    tried = trial()
    tried.begin()
    tried.epoch(1.0, is_full=True, lags=True)
    assert tried.is_on
    assert not tried.has_failed
    tried.count(10, 0, 1.1, is_marked=True, is_joining=False)
    tried.epoch(1.25, is_full=True, lags=True)
    assert tried.has_failed


def test_without_a_join_of_its_own_only_what_lasts_is_an_overload() -> None:
    tried = trial()
    for number in range(OVERLOADED_EPOCHS):
        assert not tried.is_overloaded
        lose(tried, number * EPOCH)
        tried.epoch((number + 1) * EPOCH, is_full=True, lags=True)
    assert tried.is_overloaded
    assert not tried.has_failed


def test_who_asks_loses_by_others_joins_already() -> None:
    asked, tried = trial(), trial()
    for one in (asked, tried):
        one._rates._sent, one._rates.trr = 50.0, 42.5  # 15 % of the packets before
    asked.begin(is_asked=True)
    tried.begin()
    for one in (asked, tried):
        one.count(80, 15, 1.0, is_marked=False, is_joining=False)
        one.epoch(1.25, is_full=True, lags=True)
    assert tried.has_failed
    assert not asked.has_failed
    assert not asked.is_on
    asked.begin(is_asked=True)
    asked.count(60, 25, 2.0, is_marked=False, is_joining=False)  # a third more than comes through
    assert asked.has_failed


def test_a_join_that_brings_losses_is_taken_back_at_once_and_not_tried_again_for_a_while() -> None:
    path = joined_by_today_s_rules()
    control = path.control
    events, at = control.loss_events, path.now + path.rtt
    for number in range(1, 5):
        assert not control.is_too_much(at)
        control.packets(3, 1, at + number * 0.01)  # a quarter is lost: what the wave has brought
    at += 0.05
    assert control.is_too_much(at)
    assert control.loss_events == events + 1
    control.left(control.rates.waves_joined, at)
    assert not control.is_too_much(at + 1.0)
    waited = 0
    while not path.epoch(join=False):
        waited += 1
        assert waited < 20
    assert waited >= 2


def test_few_losses_after_a_join_are_no_reason_to_take_it_back() -> None:
    path = joined_by_today_s_rules()
    for number in range(1, 20):
        path.control.packets(20, int(number % 5 == 0), path.now + path.rtt + number * 0.01)
    assert not path.control.is_too_much(path.now + 0.3)


def test_what_a_join_brings_too_much_is_one_event_until_rates_have_fallen_by_that() -> None:
    """A queue hides it from the trial until less is missing than the trial sees; that takes as long again."""
    path = joined_by_today_s_rules(16)
    control = path.control
    path.bottleneck = 0.87 * control.rates.arr
    for _ in range(4):
        path.epoch(join=False)
    assert control.artt is not None
    events, at = control.loss_events, path.now
    while at < path.now + 2.3:
        control.packets(30, 1, at, due_at=[at])
        at += control.artt
    assert control.loss_events == events + 1
    control.packets(30, 1, path.now + 3.0, due_at=[path.now + 3.0])
    assert control.loss_events == events + 2


def test_a_wave_that_flowed_already_brought_no_losses() -> None:
    path = joined_by_today_s_rules()
    control = path.control
    assert control.artt is not None
    path.rtt = control.artt / 4
    while not path.epoch():
        pass
    control.packets(15, 5, path.now + path.rtt)
    assert not control.is_too_much(path.now + path.rtt)

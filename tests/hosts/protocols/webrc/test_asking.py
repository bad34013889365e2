"""When a receiver asks whether others have more, and what the answer does to its control."""

from itertools import pairwise

import pytest

from hosts.protocols.webrc.asking import EVERY, MOST_DOUBLINGS, Asking
from hosts.protocols.webrc.waiting import LATEST
from tests.hosts.protocols.webrc.fluid_path import FluidPath, joined_by_today_s_rules

PSNS = range(1, 40 * EVERY)


def moments(asking: Asking) -> list[int]:
    """Of the packets of the base channel."""
    found = []
    for psn in PSNS:
        asking.lost()
        if asking.is_moment(psn):
            found.append(psn)
            asking.ask(1.0)
            asking.end(answered=False)
    return found


def test_who_loses_nothing_does_not_ask() -> None:
    asking = Asking()
    assert not any(asking.is_moment(psn) for psn in PSNS)
    asking.lost()
    assert asking.is_moment(EVERY)
    asking.ask(1.0)
    assert asking.until == 1.0
    asking.end(answered=True)
    assert not asking.is_on
    assert not asking.is_moment(EVERY)


def test_all_ask_at_the_same_moments_and_seldom_in_vain() -> None:
    found = moments(Asking())
    late = moments(Asking())[MOST_DOUBLINGS:]
    longest = EVERY << MOST_DOUBLINGS
    assert found[:2] == [EVERY, 2 * EVERY]
    assert all(psn % longest == 0 for psn in late)
    assert [later - before for before, later in pairwise(late)] == [longest] * (len(late) - 1)
    answered = Asking()
    for _ in range(5):
        answered.lost()
        answered.ask(1.0)
        answered.end(answered=False)
    answered.end(answered=True)
    answered.lost()
    assert answered.is_moment(EVERY)


def _asks(wait: float = 0.0) -> tuple[FluidPath, float]:
    """A receiver that has lost, and asks while packets wait so long; and its rate before."""
    path = joined_by_today_s_rules()
    control = path.control
    while control._trial.is_on:
        path.epoch(join=False)
    control.asking = Asking()
    assert not control.asks(0, path.now)  # it has lost nothing
    control.packets(9, 1, path.now)
    control.packets(90, 0, path.now)
    assert not control.asks(1, path.now)
    assert control.asks(0, path.now)
    rate = control.rates.arr
    for late in (0.0, *[wait] * LATEST):
        control.turns.waiting.packet(late, 0.0)
    control.asked(77, path.now)
    assert control.rates.arr > rate
    return path, rate


def test_an_answer_makes_the_rate_with_its_wave_the_target() -> None:
    path, rate = _asks()
    control = path.control
    assert control.artt is not None
    control.losses.reset(control.rules.lossp_at(rate / 2, control.artt))
    control.rules.begins_from(rate / 2, control.artt)
    control.ssr = rate / 3
    control._target(path.now)
    assert control.trate < 0.7 * rate
    before = control.artt
    control.first_packet(control.waves.psns - 100, path.now + control.artt / 4)
    assert not control.asking.is_on
    assert control.joining is None
    assert control.trate == pytest.approx(control.rates.arr, rel=0.1)
    assert control.artt == before  # it was no measurement
    assert not control.is_too_much(path.now + 0.3)


def test_what_comes_sooner_than_through_the_queue_is_an_answer() -> None:
    """ARTT may be of a time in which the queue was empty, and a slow wave's packets farther apart."""
    for wait, is_answered in ((0.0, False), (0.5, True)):
        path, _ = _asks(wait)
        control = path.control
        assert control.artt is not None
        assert control.asking.until >= path.now + wait
        control.first_packet(control.waves.psns - 100, path.now + 0.6 * control.artt)
        assert control._trial.is_on is not is_answered


def test_a_question_without_an_answer_leaves_all_as_it_was() -> None:
    for how in ("in vain", "broken off", "the slot is over"):
        path, rate = _asks()
        control = path.control
        joined = control.rates.waves_joined
        assert not control.join_timed_out(path.now + 60.0)
        if how == "in vain":
            control.not_answered()
        elif how == "broken off":
            control.left(77, path.now)
        else:
            control.slot_changed(77)
        assert not control.asking.is_on, how
        assert control.joining is None
        assert control.rates.waves_joined == joined - 1
        if how != "the slot is over":
            assert control.rates.arr == pytest.approx(rate)

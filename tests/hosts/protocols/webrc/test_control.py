"""A receiver's decisions, epoch by epoch, with packets given by hand: the waves' own rates, or less."""

import math
from typing import Any

import pytest

from hosts.parts.throughput import loss_event_rate, mixed_packets_per_rtt, packets_per_rtt
from hosts.protocols.webrc.asking import Asking
from hosts.protocols.webrc.control import ReceptionControl
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.rates import Rates
from hosts.protocols.webrc.waves import Waves, gamma, joined_rate
from tests.hosts.protocols.webrc.memory import PAPER

EPOCH = 0.5


class Path:
    """Feeds a control with what the joined channels carry, as fluids, up to a bottleneck without a queue.

    The parameters are the paper's but for `options`."""

    def __init__(self, *, bottleneck: float = math.inf, rtt: float = 0.1, **options: object) -> None:
        settings: dict[str, Any] = {**PAPER, "session_rate_bps": 16_384_000, **options}
        self.control = ReceptionControl(Waves(2000.0), WebrcOptions(**settings))
        self.bottleneck = bottleneck
        self.rtt = rtt
        self.now = 0.0
        self.joins: list[float] = []
        self.control.session_joined(-rtt)
        self.control.first_base_packet(0, 0.0)
        self._owed = 0.0

    def epoch(self, lost: int = 0, *, join: bool = True) -> bool:
        """One epoch later: whether the control wants to join (which it then does)."""
        control, waves = self.control, self.control.waves
        before = self.now
        self.now += EPOCH
        x = (self.now - EPOCH / 2) / waves.slot_s % 1
        rate = joined_rate(control.rates.waves_joined, 1.0, waves.p) * waves.p**x
        if int(self.now / waves.slot_s) > int(before / waves.slot_s):
            control.slot_changed(-1)
        self._owed += min(rate, self.bottleneck) * EPOCH
        received, self._owed = int(self._owed), self._owed % 1
        control.packets(received, lost, self.now)
        wants = control.epoch(self.now)
        if wants and join:
            self.joins.append(self.now)
            control.joined(len(self.joins), self.now)
            self.first_packet(self.rtt)
        return wants

    def first_packet(self, after: float) -> None:
        """Of the wave joined now; its number says how fast the wave is."""
        waves, at = self.control.waves, self.now + after
        rate = waves.base_rate * waves.p ** (at / waves.slot_s % 1 - self.control.rates.waves_joined)
        ahead = round((rate - waves.base_rate) * waves.slot_s / math.log(1 / waves.p))
        self.control.first_packet(waves.psns - ahead, at)


def test_start_up_joins_every_second_epoch() -> None:
    """At most once per two epochs (3.2), which is a factor of about 4/3 a second."""
    path = Path()
    for _ in range(30):
        path.epoch()
    gaps = {round(after - before, 3) for before, after in zip(path.joins, path.joins[1:], strict=False)}
    assert gaps == {2 * EPOCH}
    assert path.control.starting_up


def test_without_early_detection_it_joins_at_every_epoch() -> None:
    path = Path(early_detection=False)
    for _ in range(20):
        path.epoch()
    assert len(path.joins) >= 18


def test_a_loss_ends_start_up_at_the_rate_that_arrives() -> None:
    path = Path()
    for _ in range(20):
        path.epoch()
    trr, artt = path.control.rates.trr, path.control.artt
    assert artt is not None
    path.control.packets(0, 1, path.now)
    assert path.control.startup_ended_by == "loss"
    assert path.control.ssr == pytest.approx(max(1 + 4 / 3 + 16 / 9, 0.75 * trr))
    assert packets_per_rtt(path.control.losses.lossp) / artt == pytest.approx(trr)


def test_a_reception_rate_that_lags_ends_start_up_before_the_first_loss() -> None:
    path = Path(bottleneck=100.0)
    for _ in range(60):
        path.epoch()
        if not path.control.starting_up:
            break
    assert path.control.startup_ended_by == "lag"
    # No more than one wave too many.
    assert path.control.rates.arr < 100.0 * (4 / 3) ** 2


def test_start_up_ends_with_the_first_wave_too_many() -> None:
    """By RR (3.2), which a join does not make lag; TRR, which RFC 3738 looks at, still does so for some epochs."""
    rates = {}
    for rules in ("paper", "rfc"):
        path = Path(bottleneck=100.0, rules=rules)
        while path.control.starting_up:
            path.epoch()
        assert path.control.startup_ended_by == "lag"
        rates[rules] = path.control.rates.arr
    assert rates["paper"] < 100.0 * 4 / 3
    assert rates["paper"] <= rates["rfc"]


def test_whole_packets_are_no_lag() -> None:
    """Nothing ends start-up below the session's rate, wherever in a slot it begins."""
    for first in range(20):
        path = Path()
        path.now = first * EPOCH
        path.control.rates.first_packet(first * path.control.waves.base_packets // 20)
        for _ in range(60):
            path.epoch()
        assert path.control.startup_ended_by in ("", "rate")


def test_an_mrtt_that_jumps_ends_start_up() -> None:
    path = Path()
    for _ in range(12):
        path.epoch()
    while not path.epoch(join=False):
        pass
    path.control.joined(99, path.now)
    path.first_packet(path.rtt + 0.01)
    assert path.control.starting_up
    while not path.epoch(join=False):
        pass
    path.control.joined(100, path.now)
    path.first_packet(path.rtt + 1.0)
    assert path.control.startup_ended_by == "mrtt"


def test_the_receiver_s_own_limit_ends_start_up() -> None:
    path = Path(max_rate_bps=40 * 8192)
    for _ in range(60):
        path.epoch()
    assert path.control.startup_ended_by == "rate"
    assert path.control.rates.arr * gamma(path.control.rates.waves_joined, 0.75) > 40 * 0.8
    assert path.control.trate <= 40


def test_in_steady_state_a_wave_is_joined_every_slot() -> None:
    path = Path(avoid_overflow=False)
    for _ in range(20):
        path.epoch()
    path.control.packets(0, 1, path.now)
    # As many losses as keep LOSSP where it is: one event in 400 packets.
    counted = 0.0
    joins = 0
    for epoch in range(800):
        if epoch == 200:
            joins = len(path.joins)
        counted += path.control.rates.rr * EPOCH / 400
        path.epoch(lost=1 if counted >= 1 else 0)
        counted %= 1
    assert len(path.joins) - joins == pytest.approx(600 * EPOCH / 10, abs=3)
    assert path.control.losses.lossp == pytest.approx(1 / 400, rel=0.25)
    # Reaches the equation's rate with each join, and 0.869 of that on average (Eq. (7)).
    artt = path.control.artt
    assert artt is not None
    assert path.control.rates.trr == pytest.approx(0.869 * packets_per_rtt(1 / 400) / artt, rel=0.2)


def test_no_join_during_a_loss_event_or_while_one_is_waited_for() -> None:
    path = Path()
    for _ in range(8):
        path.epoch()
    control = path.control
    control.joining = 5
    assert not any(path.epoch() for _ in range(10))
    control.joining = None
    assert any(path.epoch(join=False) for _ in range(3))
    control.ssr = 1e6  # anything may be joined but for what follows
    control.rtt.update(30.0)
    control.packets(0, 1, path.now)
    assert not any(path.epoch() for _ in range(4))


def test_a_queue_that_keeps_the_rate_up_forbids_joins() -> None:
    """3.3: the waves fall, the reception rate does not; LOSSP is reset to what gives the target rate."""
    path = Path(bottleneck=100.0)
    while path.control.starting_up:
        path.epoch()
    control = path.control
    control.ssr = 1.0
    control.losses.reset(1e-7)
    while control.rates.arr > 110:
        path.epoch(join=False)
    control.losses.reset(1e-7)
    control._most_rr = control.rates.rr = 100.0
    assert not path.epoch(join=False)
    assert control.losses.lossp > 1e-5
    artt = control.artt
    assert artt is not None
    assert packets_per_rtt(control.losses.lossp) / artt == pytest.approx(control.trate)
    path.bottleneck = 60.0
    control.losses.reset(1e-7)
    assert path.epoch(join=False)


def test_a_rate_that_seems_not_to_fall_leaves_the_loss_estimate_alone() -> None:
    """Nothing is queued, but of five packets an epoch a fall by one is easily missed: that is no loss event."""
    lossp = {}
    for avoid_overflow in (True, False):
        path = Path(rtt=1.0, avoid_overflow=avoid_overflow)
        for _ in range(14):
            path.epoch()
        control = path.control
        control.packets(0, 1, path.now)
        control.ssr = 1.0
        for _ in range(20):
            path.epoch(join=False)
        assert control.artt is not None
        wanted = gamma(control.rates.waves_joined, 0.75) * control.rates.arr
        control.losses.reset(loss_event_rate(1.05 * wanted, control.artt, 1.0))
        control.rates.trr = control.rates.arr
        control._most_rr = control.rates.rr
        assert path.epoch(join=False) != avoid_overflow
        assert control.trate == control.reqn
        for _ in range(4):
            path.epoch(join=False)
        lossp[avoid_overflow] = control.losses.lossp
    assert lossp[True] == lossp[False]


def test_a_join_waits_until_the_slot_after_it_fits() -> None:
    """Eq. (7): the waves of a slot carry 0.869 of what they begin with, which is 4/3 of the rate before the join."""
    fallen: dict[str, list[float]] = {"paper": [], "rfc": []}
    for rules, found in fallen.items():
        path = Path(rules=rules)
        for _ in range(20):
            path.epoch()
        control = path.control
        control.packets(0, 1, path.now)
        control.ssr = 400.0
        path.now += 1.0
        for _ in range(60):
            most = control._most_rr
            if path.epoch():
                found.append(control.rates.rr / max(most, control.rates.rr))
    assert len(fallen["paper"]) >= 3
    assert max(fallen["paper"]) < 0.88
    assert max(fallen["rfc"][1:]) > 0.9


def test_a_failed_join_is_taken_back() -> None:
    path = Path()
    for _ in range(10):
        path.epoch()
    control = path.control
    arr, waves = control.rates.arr, control.rates.waves_joined
    control.joined(7, path.now)
    assert control.rates.arr == pytest.approx(arr * gamma(waves, 0.75))
    assert not control.join_timed_out(path.now + 0.5)
    assert control.join_timed_out(path.now + control.rtt.join_timeout + 0.001)
    control.join_failed(path.now, 0.0)
    assert control.rates.arr == pytest.approx(arr)
    assert (control.rates.waves_joined, control.joining) == (waves, None)


def test_joins_that_fail_become_rarer_until_one_succeeds() -> None:
    """The paper's and RFC 3738's receivers join again with the next epoch that allows it."""
    for rules in ("today", "paper", "rfc"):
        path = Path(rules=rules)
        while not path.epoch(join=False):
            pass
        control = path.control
        waits = []
        for channel in range(3):
            control.joined(channel, path.now)
            control.join_failed(path.now, 0.5)
            failed_at = path.now
            while not path.epoch(join=False):
                pass
            waits.append(path.now - failed_at)
        timeout = control.rtt.join_timeout
        expected = [0.75 * timeout * factor if rules == "today" else 0.0 for factor in (2, 4, 8)]
        step = control.options.epoch_s
        assert all(least <= wait <= max(least, step) + 2 * step for least, wait in zip(expected, waits, strict=True)), (
            rules,
            waits,
            timeout,
        )


def test_eq_5_limits_the_target_by_what_arrives_and_rfc_3738_does_not() -> None:
    for rules, limited in (("paper", True), ("rfc", False)):
        path = Path(rules=rules)
        for _ in range(12):
            path.epoch()
        control = path.control
        control.packets(0, 1, path.now)
        control.losses.reset(1e-9)
        path.now += 1.0
        path.epoch(join=False)
        most = gamma(control.rates.waves_joined, 0.75) ** 1.5 * control.rates.trr
        assert (control.trate == pytest.approx(most)) == limited
        assert control.trate >= most * 0.999


def test_arr_follows_the_waves_through_joins_and_slots() -> None:
    """Without packets' counts weighing in much, ARR is the joined channels' fluid rate (RFC 3738, 3.2.2.5)."""
    waves = Waves(2000.0)
    rates = Rates(waves, EPOCH)
    rates.first_packet(0)
    for epoch in range(1, 200):
        if epoch % 20 == 0:
            rates.slot_changed()
        x = epoch % 20 / 20
        expected = joined_rate(rates.waves_joined, 1.0, 0.75) * 0.75**x
        middle = expected * 0.75 ** (-0.5 / 20)
        rates.count(round(middle * EPOCH), 0)
        rates.epoch(starting_up=False)
        assert rates.arr == pytest.approx(expected, rel=0.06, abs=0.4)
        if epoch % 7 == 0 and rates.waves_joined < 12:
            rates.joined()


def test_the_share_that_is_lost() -> None:
    rates = Rates(Waves(2000.0), EPOCH)
    assert rates.lost_share == 0
    rates.first_packet(0)
    for _ in range(300):
        rates.count(18, 2)
        rates.epoch(starting_up=False)
    assert rates.lost_share == pytest.approx(0.1)


def test_today_s_rules_take_back_what_start_up_joined_too_much() -> None:
    path = Path(bottleneck=200.0, rules="today")
    while path.control.starting_up:
        path.epoch()
        assert path.now < 40
    control = path.control
    assert control.startup_ended_by == "lag"
    before = control.rates.waves_joined
    assert control.is_too_much(path.now)
    control.left(1, path.now)
    assert control.rates.waves_joined == before - 1
    assert not control.is_too_much(path.now)


def test_today_s_rules_leave_a_wave_when_the_rate_without_it_is_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(rules="today")
    while path.control.rates.waves_joined < 15:
        path.epoch()
    control = path.control
    control.packets(0, 1, path.now)
    assert not control.starting_up
    control.left(1, path.now)  # what start-up joined too much
    control.ssr = 1.0
    monkeypatch.setattr(control._rules, "equation", lambda lossp, artt, now: control.rates.arr / 2)
    for _ in range(40):
        before = control.rates.waves_joined
        path.epoch(join=False)
        if control.is_too_much(path.now):
            assert control.rates.arr / gamma(before - 1, 0.75) >= control.trate
            break
    else:
        pytest.fail("no wave was left")


def test_today_s_rules_wait_for_no_lower_rate_before_a_join() -> None:
    """The paper's wait is half a time slot after each join (3.3); here it is the next first packet."""

    def joins(rules: str) -> int:
        path = Path(rules=rules)
        while path.control.rates.waves_joined < 8:
            path.epoch()
        path.control.packets(0, 1, path.now)
        path.joins.clear()
        for _ in range(80):
            path.epoch()
        return len(path.joins)

    assert joins("today") > 1.4 * joins("paper")


def test_a_mark_begins_a_loss_event_and_is_no_lost_packet() -> None:
    path = Path(rules="today")
    while path.control.rates.waves_joined < 8:
        path.epoch()
    control = path.control
    control.packets(1, 0, path.now, is_marked=True)
    assert control.startup_ended_by == "mark"
    path.now += 2.0
    before = control.loss_events
    for _ in range(3):
        control.packets(1, 0, path.now, is_marked=True)  # all of one event
    assert control.loss_events == before + 1
    assert control.rates.lost_share == 0


def _joined_by_today_s_rules(waves: int = 12) -> Path:
    """A receiver that has just joined a wave, long after start-up, and whose equation allows everything."""
    path = Path(rules="today", epoch_s=EPOCH)
    while path.control.rates.waves_joined < waves:
        path.epoch()
    control = path.control
    control.packets(0, 1, path.now)
    control.left(1, path.now)
    path.now += 5.0
    control.losses.reset(1e-9)
    for _ in range(20):
        if path.epoch():
            return path
    pytest.fail("no wave was joined")


def test_a_join_that_brings_losses_is_taken_back_at_once_and_not_tried_again_for_a_while() -> None:
    path = _joined_by_today_s_rules()
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
    path = _joined_by_today_s_rules()
    for number in range(1, 20):
        path.control.packets(20, int(number % 5 == 0), path.now + path.rtt + number * 0.01)
    assert not path.control.is_too_much(path.now + 0.3)


def test_what_a_join_brings_too_much_is_one_event_until_rates_have_fallen_by_that() -> None:
    """A queue hides it from the trial until less is missing than the trial sees; that takes as long again."""
    path = _joined_by_today_s_rules(16)
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
    path = _joined_by_today_s_rules()
    control = path.control
    assert control.artt is not None
    path.rtt = control.artt / 4
    while not path.epoch():
        pass
    control.packets(15, 5, path.now + path.rtt)
    assert not control.is_too_much(path.now + path.rtt)


def test_losses_are_one_event_for_as_long_as_a_wave_comes_that_has_been_left() -> None:
    path = _joined_by_today_s_rules()
    control = path.control
    path.now += 3.0
    control.packets(10, 1, path.now)
    control.left(7, path.now)
    assert control.artt is not None
    events, at = control.loss_events, path.now
    gap = control.artt / 2
    for _ in range(8):  # a queue has made the way four times as long
        at += gap
        control.still_comes(6, at)
        control.still_comes(7, at)
        control.packets(3, 1, at, due_at=[at])
    assert control.loss_events == events
    at += control.artt * 6
    control.packets(3, 1, at, due_at=[at])
    assert control.loss_events == events + 1


def test_losses_that_were_due_in_one_round_trip_are_one_event_however_late_they_show() -> None:
    path = _joined_by_today_s_rules()
    control = path.control
    path.now += 3.0
    assert control.artt is not None
    events = control.loss_events
    control.packets(10, 1, path.now, due_at=[path.now])
    control.packets(10, 1, path.now + 10 * control.artt, due_at=[path.now + 0.9 * control.artt])
    assert control.loss_events == events + 1


def test_after_a_loss_the_rate_grows_by_time() -> None:
    """By the packets that come it would take minutes at a low rate."""
    path = Path(rules="today")
    while path.control.rates.waves_joined < 2:
        path.epoch()
    control = path.control
    control.packets(0, 1, path.now)
    control.left(1, path.now)
    at = path.now
    while path.now < at + 6.0:
        path.epoch(join=False)
    assert control.artt is not None
    assert control.reqn * control.artt >= 3 * mixed_packets_per_rtt(control.losses.lossp, control.artt)


def test_today_s_start_up_joins_at_every_epoch_and_goes_on_at_all_that_is_sent() -> None:
    path = Path(rules="today")
    for _ in range(30):
        path.epoch()
    gaps = {round(after - before, 3) for before, after in zip(path.joins, path.joins[1:], strict=False)}
    assert gaps == {EPOCH}
    assert path.control.starting_up


def test_a_wave_that_has_only_begun_says_nothing_of_the_round_trip() -> None:
    """Its first packet is waited for until it begins, for seconds; the next ones come slowly at first."""
    path = Path(rules="today")
    for _ in range(20):
        path.epoch()
    control, waves = path.control, path.control.waves
    before = control.artt
    assert before is not None
    control.joined(1, path.now)
    control.first_packet(waves.psns - waves.wave_packets, path.now + 3.0)
    assert control.artt == before
    assert control.joining is None
    assert control.starting_up
    control.joined(2, path.now)
    control.first_packet(
        waves.psns - waves.wave_packets + 3, path.now + before + 1 / waves.rate_with(waves.wave_packets - 3)
    )
    assert control.artt <= 2 * before


def _asks() -> tuple[Path, float]:
    """A receiver that has lost, and asks; and its rate before."""
    path = _joined_by_today_s_rules()
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
    control.asked(77, path.now)
    assert control.rates.arr > rate
    return path, rate


def test_an_answer_makes_the_rate_with_its_wave_the_target() -> None:
    path, rate = _asks()
    control = path.control
    assert control.artt is not None
    control.losses.reset(control._rules.lossp_at(rate / 2, control.artt))
    control._rules.begins_from(rate / 2, control.artt)
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

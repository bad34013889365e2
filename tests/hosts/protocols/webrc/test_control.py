"""A receiver's decisions, epoch by epoch, with packets given by hand; those of the rules are in test_rules.py."""

import pytest

from hosts.parts.throughput import loss_event_rate, packets_per_rtt
from hosts.protocols.webrc.waves import gamma
from tests.hosts.protocols.webrc.fluid_path import EPOCH, FluidPath, joined_by_today_s_rules


def test_start_up_joins_every_second_epoch() -> None:
    """At most once per two epochs (3.2), which is a factor of about 4/3 a second."""
    path = FluidPath()
    for _ in range(30):
        path.epoch()
    gaps = {round(after - before, 3) for before, after in zip(path.joins, path.joins[1:], strict=False)}
    assert gaps == {2 * EPOCH}
    assert path.control.starting_up


def test_without_early_detection_it_joins_at_every_epoch() -> None:
    path = FluidPath(early_detection=False)
    for _ in range(20):
        path.epoch()
    assert len(path.joins) >= 18


def test_a_loss_ends_start_up_at_the_rate_that_arrives() -> None:
    path = FluidPath()
    for _ in range(20):
        path.epoch()
    trr, artt = path.control.rates.trr, path.control.artt
    assert artt is not None
    path.control.packets(0, 1, path.now)
    assert path.control.startup_ended_by == "loss"
    assert path.control.ssr == pytest.approx(max(1 + 4 / 3 + 16 / 9, 0.75 * trr))
    assert packets_per_rtt(path.control.losses.lossp) / artt == pytest.approx(trr)


def test_a_reception_rate_that_lags_ends_start_up_before_the_first_loss() -> None:
    path = FluidPath(bottleneck=100.0)
    for _ in range(60):
        path.epoch()
        if not path.control.starting_up:
            break
    assert path.control.startup_ended_by == "lag"
    # No more than one wave too many.
    assert path.control.rates.arr < 100.0 * (4 / 3) ** 2


def test_whole_packets_are_no_lag() -> None:
    """Nothing ends start-up below the session's rate, wherever in a slot it begins."""
    for first in range(20):
        path = FluidPath()
        path.now = first * EPOCH
        path.control.rates.first_packet(first * path.control.waves.base_packets // 20)
        for _ in range(60):
            path.epoch()
        assert path.control.startup_ended_by in ("", "rate")


def test_an_mrtt_that_jumps_ends_start_up() -> None:
    path = FluidPath()
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
    path = FluidPath(max_rate_bps=40 * 8192)
    for _ in range(60):
        path.epoch()
    assert path.control.startup_ended_by == "rate"
    assert path.control.rates.arr * gamma(path.control.rates.waves_joined, 0.75) > 40 * 0.8
    assert path.control.trate <= 40


def test_in_steady_state_a_wave_is_joined_every_slot() -> None:
    path = FluidPath(avoid_overflow=False)
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
    path = FluidPath()
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
    path = FluidPath(bottleneck=100.0)
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
        path = FluidPath(rtt=1.0, avoid_overflow=avoid_overflow)
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


def test_a_failed_join_is_taken_back() -> None:
    path = FluidPath()
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


def test_a_mark_begins_a_loss_event_and_is_no_lost_packet() -> None:
    path = FluidPath(rules="today")
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


def test_losses_are_one_event_for_as_long_as_a_wave_comes_that_has_been_left() -> None:
    path = joined_by_today_s_rules()
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
    path = joined_by_today_s_rules()
    control = path.control
    path.now += 3.0
    assert control.artt is not None
    events = control.loss_events
    control.packets(10, 1, path.now, due_at=[path.now])
    control.packets(10, 1, path.now + 10 * control.artt, due_at=[path.now + 0.9 * control.artt])
    assert control.loss_events == events + 1

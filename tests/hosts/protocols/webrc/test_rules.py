"""Where a receiver's decisions differ by the rules: today's, the paper's, RFC 3738's."""

import pytest

from hosts.parts.throughput import mixed_packets_per_rtt
from hosts.protocols.webrc.waves import gamma
from tests.hosts.protocols.webrc.fluid_path import EPOCH, FluidPath


def test_start_up_ends_with_the_first_wave_too_many() -> None:
    """By RR (3.2), which a join does not make lag; TRR, which RFC 3738 looks at, still does so for some epochs."""
    rates = {}
    for rules in ("paper", "rfc"):
        path = FluidPath(bottleneck=100.0, rules=rules)
        while path.control.starting_up:
            path.epoch()
        assert path.control.startup_ended_by == "lag"
        rates[rules] = path.control.rates.arr
    assert rates["paper"] < 100.0 * 4 / 3
    assert rates["paper"] <= rates["rfc"]


def test_today_s_start_up_joins_at_every_epoch_and_goes_on_at_all_that_is_sent() -> None:
    path = FluidPath(rules="today")
    for _ in range(30):
        path.epoch()
    gaps = {round(after - before, 3) for before, after in zip(path.joins, path.joins[1:], strict=False)}
    assert gaps == {EPOCH}
    assert path.control.starting_up


def test_a_join_waits_until_the_slot_after_it_fits() -> None:
    """Eq. (7): the waves of a slot carry 0.869 of what they begin with, which is 4/3 of the rate before the join."""
    fallen: dict[str, list[float]] = {"paper": [], "rfc": []}
    for rules, found in fallen.items():
        path = FluidPath(rules=rules)
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


def test_joins_that_fail_become_rarer_until_one_succeeds() -> None:
    """The paper's and RFC 3738's receivers join again with the next epoch that allows it."""
    for rules in ("today", "paper", "rfc"):
        path = FluidPath(rules=rules)
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
        path = FluidPath(rules=rules)
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


def test_today_s_rules_take_back_what_start_up_joined_too_much() -> None:
    path = FluidPath(bottleneck=200.0, rules="today")
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
    path = FluidPath(rules="today")
    while path.control.rates.waves_joined < 15:
        path.epoch()
    control = path.control
    control.packets(0, 1, path.now)
    assert not control.starting_up
    control.left(1, path.now)  # what start-up joined too much
    control.ssr = 1.0
    monkeypatch.setattr(control.rules, "equation", lambda lossp, artt, now: control.rates.arr / 2)
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
        path = FluidPath(rules=rules)
        while path.control.rates.waves_joined < 8:
            path.epoch()
        path.control.packets(0, 1, path.now)
        path.joins.clear()
        for _ in range(80):
            path.epoch()
        return len(path.joins)

    assert joins("today") > 1.4 * joins("paper")


def test_after_a_loss_the_rate_grows_by_time() -> None:
    """By the packets that come it would take minutes at a low rate."""
    path = FluidPath(rules="today")
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


def test_a_wave_that_has_only_begun_says_nothing_of_the_round_trip() -> None:
    """Its first packet is waited for until it begins, for seconds; the next ones come slowly at first."""
    path = FluidPath(rules="today")
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

"""Whole sessions by the default rules, in networks that are not the rows'."""

from typing import Any

import pytest

from tests.hosts.protocols.vlmcc.world import World


def default(receivers: list[dict[str, Any]], **given: Any) -> World:
    return World(receivers, options={"rules": "adaptive", **given.pop("options", {})}, **given)


@pytest.mark.parametrize(("rate_bps", "delay_us"), [(1e6, 500), (2e6, 100_000), (5e6, 10_000)])
def test_alone_it_has_the_link(rate_bps: float, delay_us: int) -> None:
    queue = max(20, int(rate_bps * 2 * delay_us / 1e6 / 8000))
    world = default(
        [{}, {"delay_us": 300}], bottleneck={"rate_bps": rate_bps, "delay_us": delay_us, "limit_packets": queue}
    )
    assert world.rate(0, 10, 20) > 0.95 * rate_bps


@pytest.mark.parametrize("initial_rtt_s", [1e-3, 2.0])
def test_the_initial_rtt_does_not_matter(initial_rtt_s: float) -> None:
    link = {"rate_bps": 2e6, "delay_us": 100_000, "limit_packets": 60}
    world = default([{}], bottleneck=link, options={"initial_rtt_s": initial_rtt_s})
    world.run(0.8)
    assert world.sender.seq < 20
    assert world.rate(0, 10, 20) > 0.9 * 2e6
    assert world.receivers[0].gaps.lost_packets < 60


@pytest.mark.parametrize("change", [{"delay_us": 50_000.0}, {"rate_bps": 0.5e6}, {"rate_bps": 4e6}])
def test_after_a_change_it_has_the_link_again(change: dict[str, float]) -> None:
    link: dict[str, Any] = {"rate_bps": 2e6, "delay_us": 5_000.0, "limit_packets": 40}
    world = default([{}, {"delay_us": 2_000}], bottleneck=link)
    world.run(12)
    after = {**link, **change}
    back = {"delay_us": after["delay_us"], "limit_packets": 10_000}
    world.sim.configure_link_at(12.0, world.bottleneck, forth=after, back=back)  # type: ignore[arg-type]
    assert world.rate(0, 32, 42) > 0.9 * after["rate_bps"]


def test_the_worst_receiver_leads_and_the_session_goes_at_its_rate() -> None:
    world = default([{"rate_bps": rate, "limit_packets": 40} for rate in (5e6, 2e6, 0.5e6, 3e6)], seed=2)
    assert world.rate(2, 15, 25) == pytest.approx(0.5e6, rel=0.06)
    assert world.leader == 2


def test_a_leader_that_dies_is_replaced_by_a_challenge() -> None:
    world = default([{"rate_bps": 1e6}, {"rate_bps": 1.5e6}, {"rate_bps": 1.5e6}])
    world.run(15)
    assert world.leader == 0
    world.sim.kill_at(15.0, world.programs[0])
    world.run(30)
    assert world.leader in (1, 2)
    assert world.rate(1, 30, 40) == pytest.approx(1.5e6, rel=0.06)


def test_clocks_that_drift_and_a_congested_way_back_cost_nothing() -> None:
    """A seventh of the reports are lost behind a queue that others fill."""
    world = default(
        [{"clock": (500.0, 100.0)}, {"clock": (20.0, -100.0)}],
        bottleneck={"rate_bps": 2e6, "delay_us": 10_000, "limit_packets": 40},
        back={"rate_bps": 1e9, "delay_us": 60_000, "limit_packets": 10_000, "loss": 0.15},
    )
    assert world.rate(0, 20, 30) > 0.93 * 2e6
    assert world.sender.control.lost_packets < 60

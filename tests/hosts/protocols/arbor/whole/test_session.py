"""Whole sessions in virtual time."""

from typing import Any

import pytest

from tests.hosts.protocols.arbor.world import World


@pytest.mark.parametrize(("rate_bps", "delay_us"), [(1e6, 500), (2e6, 100_000), (5e6, 10_000)])
def test_alone_it_has_the_link(rate_bps: float, delay_us: int) -> None:
    queue = max(20, int(rate_bps * 2 * delay_us / 1e6 / 8000))
    world = World(
        [{}, {"delay_us": 300}], bottleneck={"rate_bps": rate_bps, "delay_us": delay_us, "limit_packets": queue}
    )
    assert world.rate(0, 10, 20) > 0.95 * rate_bps


@pytest.mark.parametrize("change", [{"delay_us": 50_000.0}, {"rate_bps": 0.5e6}, {"rate_bps": 4e6}])
def test_after_a_change_it_has_the_link_again(change: dict[str, float]) -> None:
    link: dict[str, Any] = {"rate_bps": 2e6, "delay_us": 5_000.0, "limit_packets": 40}
    world = World([{}, {"delay_us": 2_000}], bottleneck=link)
    world.run(12)
    after = {**link, **change}
    back = {"delay_us": after["delay_us"], "limit_packets": 10_000}
    world.sim.configure_link_at(12.0, world.bottleneck, forth=after, back=back)  # type: ignore[arg-type]
    assert world.rate(0, 32, 42) > 0.9 * after["rate_bps"]


def test_the_worst_receiver_limits_the_rate() -> None:
    world = World([{"rate_bps": rate, "limit_packets": 40} for rate in (5e6, 2e6, 0.5e6, 3e6)], seed=2)
    assert world.rate(2, 15, 30) == pytest.approx(0.5e6, rel=0.06)
    assert world.limiting == 2


def test_when_it_dies_the_next_one_does() -> None:
    world = World([{"rate_bps": 1e6}, {"rate_bps": 1.5e6}, {"rate_bps": 1.5e6}])
    world.run(15)
    assert world.limiting == 0
    world.sim.kill_at(15.0, world.programs[0])
    assert world.rate(1, 22, 32) == pytest.approx(1.5e6, rel=0.06)
    assert world.limiting in (1, 2)


def test_clocks_that_drift_and_a_congested_way_back_cost_nothing() -> None:
    """A seventh of the reports are lost behind a queue that others fill."""
    world = World(
        [{"clock": (500.0, 100.0)}, {"clock": (20.0, -100.0)}],
        bottleneck={"rate_bps": 2e6, "delay_us": 10_000, "limit_packets": 40},
        back={"rate_bps": 1e9, "delay_us": 60_000, "limit_packets": 10_000, "loss": 0.15},
    )
    assert world.rate(0, 20, 30) > 0.93 * 2e6


def test_many_receivers_that_lose_independently_do_not_sum_up() -> None:
    """The least of 16 receivers' windows at 2 % of loss each, beside the only one's."""

    def rate(receivers: int) -> float:
        lossy = [{"loss": 0.02, "delay_us": 10_000.0} for _ in range(receivers)]
        world = World(lossy, bottleneck={"rate_bps": 10e6, "delay_us": 10_000, "limit_packets": 100})
        return world.rate(0, 10, 20)

    assert rate(16) > 0.7 * rate(1)


def test_feedback_does_not_grow_with_the_receivers() -> None:
    link = {"rate_bps": 2e6, "delay_us": 20_000, "limit_packets": 40}
    world = World([{"delay_us": 100.0 * number} for number in range(30)], bottleneck=link)
    world.run(6)
    before = world.sender.counters["feedback_packets"]
    world.run(12)
    round_trips = 6 / (world.sender.going.srtt or 1)
    assert (world.sender.counters["feedback_packets"] - before) / round_trips < 20


def test_what_is_delivered_is_what_was_sent() -> None:
    world = World([{}], bottleneck={"rate_bps": 2e6, "limit_packets": 40}, deliver=True)
    world.run(5)
    packets = world.delivered[0]
    assert len(packets) > 500
    assert len(packets) == world.receivers[0].data_packets - 1  # the first one came before there was data
    assert all(packet.data == bytes(len(packet.data)) for packet in packets)
    assert [packet.seq for packet in packets] == sorted(packet.seq for packet in packets)

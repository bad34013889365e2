"""VLMCC's share beside a TCP of today, with its defaults, behind queues that nobody tuned."""

from typing import Any, Literal, TypeAlias

import pytest

from tests.hosts.protocols.vlmcc.world import World
from tests.hosts.star import add_tcp

Control: TypeAlias = Literal["cubic", "reno"]
SETTLED_S, END_S = 15.0, 35.0


def _share(control: Control, bottleneck: dict[str, Any], receivers: list[dict[str, Any]]) -> float:
    """The session's rate over that of a TCP that shares the bottleneck; together they fill it."""
    world = World(receivers, bottleneck=bottleneck, options={"rules": "adaptive"})
    add_tcp(world.sim, control)
    session = world.rate(0, SETTLED_S, END_S)
    rate_bps: float = bottleneck["rate_bps"]
    return session / (rate_bps - session)


@pytest.mark.parametrize(("control", "queue"), [("cubic", 13), ("cubic", 64), ("reno", 13), ("reno", 64)])
def test_behind_queues_of_any_length(control: Control, queue: int) -> None:
    """One to eight bandwidth-delay products."""
    bottleneck = {"rate_bps": 4e6, "delay_us": 8_000.0, "limit_packets": queue}
    assert 0.5 < _share(control, bottleneck, [{}, {"delay_us": 300.0}]) < 2


@pytest.mark.parametrize("control", ["cubic", "reno"])
def test_when_one_of_eight_loses_packets_by_chance(control: Control) -> None:
    """One in a thousand, which the TCP does not lose."""
    bottleneck = {"rate_bps": 5.2e6, "delay_us": 18_000.0, "limit_packets": 46}
    receivers = [{"loss": 0.001}, *({"delay_us": 100.0 * number} for number in range(1, 8))]
    assert 0.5 < _share(control, bottleneck, receivers) < 2

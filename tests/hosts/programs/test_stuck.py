"""Large packets that vanish on the way, in virtual time: the sender's user hears of it within seconds."""

from typing import Any

import pytest

from hosts.endpoint import Datagram
from hosts.programs.stuck import STUCK_S, Stuck
from tests.hosts.files import FileWorld

FALLS_AT_S = 2.0
LARGEST_BYTES = 1300 - 28


def watched(protocol: str, *, falls: bool, until: float, **given: Any) -> list[tuple[float, str]]:
    """What was said, and when; the last receiver's link has a smaller MTU from a time on, if it `falls`."""
    world = FileWorld(protocol, 3, size=2_000_000, rate_bps=2.5e6, **given)
    stuck, said = Stuck(), []

    def lose(datagram: Datagram) -> bool:
        return falls and world.network.now > FALLS_AT_S and len(datagram.data) > LARGEST_BYTES

    world.network._links["edge"]["r2"].lose = lose
    while world.network.now < until and world.sender.end is None:
        world.network.run(world.network.now + 1)
        line = stuck.look(world.core.sample(now=world.sender.now), world.sender.now)
        if line is not None:
            said.append((world.network.now, line))
    return said


@pytest.mark.parametrize("protocol", ["mtcp", "rla", "tfmcc", "arbor"])
def test_an_mtu_that_falls_is_said_within_seconds(protocol: str) -> None:
    ((at, line),) = watched(protocol, falls=True, until=FALLS_AT_S + STUCK_S + 5)
    assert at < FALLS_AT_S + STUCK_S + 4
    assert "MTU" in line


@pytest.mark.parametrize("protocol", ["mtcp", "rla", "tfmcc", "arbor"])
def test_nothing_is_said_of_losses(protocol: str) -> None:
    assert watched(protocol, falls=False, until=12.0, loss=0.1) == []


def row(acked: int, sent: int, heard_s: float) -> dict[str, Any]:
    receiver = {"state": "active", "acked_bytes": acked, "last_heard_s": heard_s}
    return {"sent_bytes": 100, "data_packets": sent, "receivers": {"r": receiver}}


def test_neither_silence_nor_a_closed_window_is_an_mtu() -> None:
    silent, closed = Stuck(), Stuck()
    for second in range(20):
        assert silent.look(row(5, second, float(second)), float(second)) is None
        assert closed.look(row(100, second, 0.1), float(second)) is None


def test_it_is_said_once() -> None:
    stuck = Stuck()
    said = [second for second in range(30) if stuck.look(row(second // 15, second, 0.1), float(second))]
    assert said == [STUCK_S]

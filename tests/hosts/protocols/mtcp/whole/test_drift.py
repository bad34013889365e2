"""Half an hour with clocks that drift by up to 190 ppm from the true time: 0.72 s between two of them, as in an hour at
100 ppm (MTCP, 3.2).

At 100 kbit/s a packet takes 116 ms, and Vegas lets two to four wait: taken for a queue, the drift would be six more.
"""

import pytest

from hosts.endpoint import CongestionSignal
from tests.hosts.network import Clock
from tests.hosts.protocols.mtcp.world import World

LENGTH_S = 1900.0
DRIFT = 190e-6
RATE_BPS = 100e3


def half_an_hour(clocks: dict[str, Clock]) -> World:
    """sender - r0 - r1 - r2 in the logical tree, with 0.6 s to each: so a window of two packets would show."""
    world = World(
        3,
        size=None,
        parents={1: 0, 2: 1},
        rate_bps=RATE_BPS,
        limit_packets=30,
        delays_s=(0.6,),
        clocks=clocks,
        parameters={"rules": "paper", "buffer_bytes": 100_000, "announce_s": 1.0},
        wait=60.0,
    )
    world.network.run(LENGTH_S)
    return world


@pytest.mark.parametrize("sign", [1, -1])
def test_the_drift_is_not_taken_for_a_queue(sign: int) -> None:
    clocks = {
        "sender": Clock(50.0, sign * DRIFT),
        "r0": Clock(1e5, -sign * DRIFT),
        "r1": Clock(7.0, sign * DRIFT),
        "r2": Clock(3e3, -sign * DRIFT / 2),
    }
    world = half_an_hour(clocks)
    assert world.share(LENGTH_S - 900, LENGTH_S) > 0.95  # a queue that is not there would throttle the sender
    signals = [
        (round(time), event)
        for host in world.network.hosts.values()
        for time, event in host.events
        if isinstance(event, CongestionSignal) and time > 60
    ]
    assert signals == []  # a queue that is there and not seen would overflow, or time packets out
    assert world.bottleneck.overflows == 0
    for index in (0, 1):
        serving = world.core(index).serving
        assert serving is not None
        for child in serving.children.values():  # what waits is what the bottleneck's queue holds
            assert 0 <= child.rtd.mean - child.rtd_min < 10 * 1472 * 8 / RATE_BPS

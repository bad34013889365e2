"""A quarter of an hour with agents' clocks that drift by 760 ppm from the sender's: 0.72 s in all, as in an hour of
clocks that are off by 100 ppm each (MTCP, 3.2).

At 100 kbit/s a packet takes 116 ms, and Vegas lets two to four wait: taken for a queue, the drift would be six more.
"""

from hosts.endpoint import CongestionSignal
from tests.hosts.host import Clock
from tests.hosts.protocols.mtcp.world import World

LENGTH_S = 950.0
DRIFT = 760e-6
RATE_BPS = 100e3


def test_the_drift_is_not_taken_for_a_queue() -> None:
    """sender - r0 - r1 - r2 in the logical tree: one agent's clock is slower than the sender's, the other's faster, so
    that delays to their children seem to shrink or to grow. With 0.6 s to each, a window of two packets would show."""
    clocks = {
        "sender": Clock(50.0, 0.0),
        "r0": Clock(1e5, -DRIFT),
        "r1": Clock(7.0, DRIFT),
        "r2": Clock(3e3, -DRIFT / 2),
    }
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
    assert world.share(LENGTH_S - 450, LENGTH_S) > 0.95  # a queue that is not there would throttle the sender
    signals = [
        (round(time), event)
        for host in world.network.hosts.values()
        for time, event in host.events
        if isinstance(event, CongestionSignal) and time > 60
    ]
    assert signals == []  # a queue that is there and not seen would overflow, or time packets out
    assert world.bottleneck.overflows == 0
    parents = [world.sender_core.agent, world.core(0).serving, world.core(1).serving]
    for parent in parents:
        assert parent is not None
        for child in parent.children.values():  # what waits is what the bottleneck's queue holds
            assert 0 <= child.rtd.mean - child.rtd_min < 10 * 1472 * 8 / RATE_BPS

"""Many receivers join."""

from random import Random

from hosts.endpoint import Address, Datagram, SessionStarted
from hosts.protocol import Session
from hosts.protocols.arbor.file_sender import ArborFileSender
from hosts.protocols.arbor.joining import FIRST_PER_RTT
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.packets import JOIN, Join
from tests.hosts.protocols.arbor.world import World

GROUP, SENDER = Address("239.1.1.1", 5000), Address("10.0.0.1", 5000)


def test_of_many_who_are_awaited_some_join_in_a_round_trip() -> None:
    link = {"rate_bps": 1e6, "delay_us": 20_000, "limit_packets": 20}
    world = World([{"delay_us": 100.0 * (number % 30)} for number in range(200)], bottleneck=link)
    counts, rtts = [], []
    for step in range(1, 140):
        world.run(step * 0.05)
        counts.append(world.sender.counters["joins"])
        rtts.append(world.sender.going.srtt or 0.0)
    assert len(world.sender.members) == 200
    seconds = zip(counts, counts[20:], rtts[20:], strict=False)
    assert max((later - before) * rtt for before, later, rtt in seconds) <= 2 * FIRST_PER_RTT


def test_a_file_waits_for_those_whom_it_has_told_to_wait() -> None:
    sender = ArborFileSender(Session(GROUP, session=7, receivers=600, wait=1.0), ArborOptions(), Random(1))
    sender.start(now=0.0)
    rtt = 0.1
    for number in range(1, 50):
        at = 0.1 + number * 0.02
        sender.handle_timer(now=at)
        join = Datagram(JOIN.encode(Join(7, number, 0, int((at - rtt) * 1e6))), Address("10.0.1.1", number), SENDER)
        sender.receive(join, now=at)
    begun = None
    now = 1.1
    while begun is None and now < 60:
        if any(isinstance(effect, SessionStarted) for effect in sender.handle_timer(now=now)):
            begun = now
        now += 0.05
    assert begun is not None
    least = 2 * 600 * rtt / FIRST_PER_RTT
    assert least < begun < least + 2.5


def test_a_file_that_nobody_wants_waits_for_nobody() -> None:
    sender = ArborFileSender(Session(GROUP, session=7, receivers=600, wait=1.0), ArborOptions(), Random(1))
    sender.start(now=0.0)
    sender.handle_timer(now=0.5)
    sender.handle_timer(now=1.0)
    assert sender.closed

"""VLMCC sessions that begin one after the other on one bottleneck: they come to have about the same, with their
defaults."""

from random import Random

import pytest
from canopy_engine import Sim

from hosts import endpoint as seam
from hosts.endpoint import Address
from hosts.protocol import Session
from hosts.protocols.vlmcc.options import VlmccOptions
from hosts.protocols.vlmcc.receiver import VlmccReceiver
from hosts.protocols.vlmcc.sender import VlmccSender
from tests.hosts.protocols.vlmcc.world import PAYLOAD
from tests.hosts.star import PORT, Greedy, link_spec

RATE_BPS = 2e6
APART_S, SETTLED_S, COUNTED_S = 12.0, 15.0, 15.0


def rates(sessions: int, rules: str, seed: int = 1) -> list[float]:
    """Packets that each one's receiver gets in a second, after the last one has had time to settle."""
    sim = Sim(seed)
    for router in ("left", "right"):
        sim.add_router(router)
    narrow = link_spec({"rate_bps": RATE_BPS, "delay_us": 20_000.0, "limit_packets": 20})
    fast = link_spec({"rate_bps": 1e9, "delay_us": 100.0, "limit_packets": 1000})
    sim.connect("left", "right", narrow, narrow)
    options, receivers = VlmccOptions(rules=rules, payload_bytes=PAYLOAD), []
    for number in range(sessions):
        session = Session(Address(f"239.1.1.{number + 1}", 5000), session=number + 1, receivers=1, realtime=True)
        for name, router in ((f"s{number}", "left"), (f"r{number}", "right")):
            sim.add_host(name, f"10.{'lr'.index(router[0])}.0.{number + 1}")
            sim.connect(name, router, fast, fast)
        receiver = VlmccReceiver(session, options, Random(100 * seed + number))
        sender = Greedy(VlmccSender(session, options, Random(100 * seed + 50 + number)))
        sim.add_endpoint(f"r{number}", f"r{number}", receiver, port=PORT, seam=seam)
        sim.add_endpoint(f"s{number}", f"s{number}", sender, port=PORT, seam=seam, start_at=0.01 + APART_S * number)
        receivers.append(receiver)
    since = APART_S * (sessions - 1) + SETTLED_S
    sim.run(since)
    before = [receiver.data_packets for receiver in receivers]
    sim.run(since + COUNTED_S)
    return [(one.data_packets - then) / COUNTED_S for one, then in zip(receivers, before, strict=True)]


@pytest.mark.parametrize(("rules", "least", "most"), [("adaptive", 0.97, 1.0), ("paper", 0.0, 0.95)])
def test_four_that_begin_one_after_the_other_have_the_same(rules: str, least: float, most: float) -> None:
    """Jain's index. By the paper's rules the last one has twice as much as the first: it takes their queue for the
    path."""
    found = rates(4, rules)
    assert least <= sum(found) ** 2 / (4 * sum(rate**2 for rate in found)) <= most
    assert sum(found) * 8000 > 0.95 * RATE_BPS

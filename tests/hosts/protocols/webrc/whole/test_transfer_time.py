"""How long a file takes with the defaults, through a link in virtual time."""

from collections.abc import Sequence
from random import Random

from canopy_engine import Sim

from hosts import endpoint as seam
from hosts.endpoint import Address, Effect, StreamEnded
from hosts.protocol import Session
from hosts.protocols.webrc.flute.content import content_of
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.receiver import WebrcReceiver
from hosts.protocols.webrc.sender import WebrcSender
from hosts.storage import FileChange
from tests.hosts.star import link_spec

SENDER = "10.0.0.1"
SESSION = Session(Address("232.6.0.0", 5000), source=SENDER, session=7)


def seconds(size: int, rate_bps: float, rtt: float, *, within: float, seed: int = 1) -> float:
    """From a receiver's join, some seconds after the sender has begun, until it has the file; the queue before its link
    is a bandwidth-delay product."""
    sim = Sim(seed)
    for name, address in (("sender", SENDER), ("receiver", "10.1.0.1")):
        sim.add_host(name, address)
    sim.add_router("core")
    sim.connect("sender", "core", link_spec({"limit_packets": 10_000}), link_spec({}))
    delay = {"delay_us": rtt / 2 * 1e6}
    queue = max(10, int(rate_bps * rtt / 8 / 1500))
    sim.connect(
        "core", "receiver", link_spec({**delay, "rate_bps": rate_bps, "limit_packets": queue}), link_spec(delay)
    )
    sender = WebrcSender(SESSION, WebrcOptions(), Random(seed))
    receiver = WebrcReceiver(SESSION, WebrcOptions(), Random(seed + 5))
    ended: list[float] = []

    def take(effect: object, now: float) -> Sequence[Effect]:
        if not isinstance(effect, StreamEnded):
            return ()
        ended.append(now)
        return receiver.confirm(complete=True, now=now)

    file = content_of("file", Random(seed).randbytes(size))
    number = sim.add_endpoint("sender", "sender", sender, port=40000, seam=seam)
    sim.act_at(0.001, number, lambda now: sender.change(FileChange([file], is_last=True), now=now))
    join = 3.3
    sim.add_endpoint("receiver", "receiver", receiver, port=40000, seam=seam, start_at=join, on_effect=take)
    until = join
    while not ended and until < join + within:
        until += 1.0
        sim.run(until)
    return ended[0] - join


def test_60_megabytes_pass_100_megabits_within_15_seconds() -> None:
    """Some four seconds of processor time: what users were promised, with the defaults."""
    assert seconds(60_000_000, 100e6, 0.02, within=16.0) < 15.0

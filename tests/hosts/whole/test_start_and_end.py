"""How quickly files begin once all are there, and how quickly everybody has gone once all have confirmed."""

import pytest

from hosts.endpoint import PeerFinished, PeerJoined, SessionEnded
from hosts.parts.parting import INTERVAL_S
from hosts.wire.farewell import ABORT_COPIES
from tests.hosts.files import FileWorld
from tests.hosts.host import Host

PROTOCOLS = ("mtcp", "rla", "tfmcc", "arbor")
QUICKLY_S = 0.3


def last(host: Host, kind: type) -> float:
    """When the last event of a kind was."""
    return max(at for at, event in host.events if isinstance(event, kind))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("receivers", [1, 8])
def test_data_flow_when_the_last_receiver_has_joined(protocol: str, receivers: int) -> None:
    world = FileWorld(protocol, receivers, size=50_000)
    world.finish()
    world.check()
    joined = last(world.sender, PeerJoined)
    first = max(host.progress[0][0] for host in world.receivers)  # TFMCC and Arbor hand over whole blocks
    assert first - joined < QUICKLY_S + 50_000 * 8 / 10e6


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("seed", range(3))
def test_all_have_gone_soon_after_the_last_confirmation(protocol: str, seed: int) -> None:
    """Receipts are lost, too, and their receivers wait no longer for that."""
    world = FileWorld(protocol, 8, size=50_000, seed=seed, loss=0.1)
    world.finish()
    world.check()
    confirmed = last(world.sender, PeerFinished)
    assert last(world.sender, SessionEnded) - confirmed < QUICKLY_S
    assert max(last(host, SessionEnded) for host in world.receivers) - confirmed < QUICKLY_S


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_who_hears_nothing_at_the_end_still_ends_as_it_said(protocol: str) -> None:
    world = FileWorld(protocol, 2, size=50_000)
    deaf = world.receivers[1]
    deaf_to = deaf.endpoint.receive
    deaf.endpoint.receive = lambda datagram, *, now: (  # type: ignore[method-assign]
        () if getattr(deaf.endpoint, "state", "") == "confirming" else deaf_to(datagram, now=now)
    )
    world.finish()
    world.check()
    ended = last(world.sender, SessionEnded)
    assert ended - last(world.sender, PeerFinished) == pytest.approx(ABORT_COPIES * INTERVAL_S, abs=0.02)
    assert last(deaf, SessionEnded) > ended

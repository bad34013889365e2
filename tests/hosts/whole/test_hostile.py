"""A stranger, or a member that lies, replays and forges what it has heard: nobody raises, honest receivers get every
byte, and nothing that an endpoint holds grows with the number of forged packets."""

import random
from collections import Counter, deque
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import pytest

from hosts import protocols
from hosts.endpoint import Address, Datagram, DeliverDatagram
from hosts.protocol import Session
from hosts.wire.header import HEADER_BYTES
from tests.hosts.files import FileWorld
from tests.hosts.host import Host
from tests.hosts.network import Network
from tests.hosts.protocols.mtcp.world import World as MtcpWorld
from tests.hosts.protocols.rla.world import World as RlaWorld

INTERESTING = (0, 1, 2, 511, 512, 513, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1)
SUMMARIES = {(1, 3), (1, 4), (4, 2)}
"""Protocol and type of feedback that switches merge."""
FORGED_PER_S = 400
REALTIME_S = 24.0
MOST_ITEMS = 0.9 * REALTIME_S * FORGED_PER_S
"""What a container may have: less than one for each packet that was forged."""
BUFFERED_BYTES = 2500
"""Count as one item: buffers hold 16 MiB, in a thousand pieces."""
LIMIT_S = 400.0


def sizes(root: object) -> Counter[str]:
    """How many items each kind of container of an endpoint has, by the attribute that leads there."""
    found: Counter[str] = Counter()
    seen: set[int] = set()
    queue: list[tuple[str, object]] = [("", root)]
    while queue:
        name, thing = queue.pop()
        if id(thing) in seen or isinstance(thing, (str, int, float, type, ModuleType, random.Random)):
            continue
        seen.add(id(thing))
        if isinstance(thing, (bytes, bytearray)):
            found[name] += len(thing) // BUFFERED_BYTES
        elif isinstance(thing, (dict, set, frozenset, list, tuple, deque)):
            found[name] += len(thing)
            items = [*thing.keys(), *thing.values()] if isinstance(thing, dict) else list(thing)
            queue += [(name, item) for item in items]
        else:
            names = [slot for kind in type(thing).__mro__ for slot in getattr(kind, "__slots__", ())]
            names += list(getattr(thing, "__dict__", {}))
            queue += [(f"{type(thing).__name__}.{one}", getattr(thing, one, None)) for one in names]
    return found


class Forger:
    """Hears everything, and says what it likes, from addresses of its own."""

    def __init__(self, network: Network, seed: int, sources: list[Address], group: Address) -> None:
        self.rng = random.Random(seed)
        self.network = network
        self.sources = sources
        self.group = group
        self.heard: deque[bytes] = deque(maxlen=300)
        self.by_kind: dict[int, bytes] = {}
        self.forged = 0
        network.tap = self._hear

    def _hear(self, node: str, datagram: Datagram) -> None:
        self.heard.append(datagram.data)
        self.by_kind[datagram.data[2]] = datagram.data

    def run(self) -> None:
        """Say something, and again in a while."""
        if self.heard:
            self._say()
        self.network.at(self.network.now + self.rng.expovariate(FORGED_PER_S), self.run)

    def _say(self) -> None:
        rng = self.rng
        victim = rng.choice(list(self.network.hosts.values()))
        data = bytearray(rng.choice([*self.heard, *self.by_kind.values(), *self.by_kind.values()]))
        if rng.random() < 0.8:
            for _ in range(rng.randint(1, 4)):
                self._change(data)
        if (data[1], data[2]) in SUMMARIES:
            data[3] &= 0xFE  # a switch lets none pass from a host
        source = rng.choice(self.sources)
        to = rng.choice((victim.address, self.group))
        if not victim.alive or victim.address == source or victim.endpoint.closed:
            return
        self.forged += 1
        victim.receive(Datagram(bytes(data), source, to))

    def _change(self, data: bytearray) -> None:
        rng = self.rng
        if rng.random() < 0.2:
            data[2] = rng.randint(1, 17)
        elif rng.random() < 0.2:
            data[3] = rng.getrandbits(8)
        elif len(data) > HEADER_BYTES + 4:
            at = rng.randrange(HEADER_BYTES, min(len(data) - 3, 64)) // 4 * 4
            near = int.from_bytes(data[at : at + 4], "big") + rng.randint(-3, 3)
            value = rng.choice((rng.choice(INTERESTING), near % 2**32, rng.getrandbits(32)))
            data[at : at + 4] = value.to_bytes(4, "big")


PARAMETERS: dict[str, dict[str, Any]] = {
    "mtcp": {"drop_after_s": 3.0, "parent_timeout_s": 2.0},
    "mtcp-switch": {"drop_after_s": 3.0, "parent_timeout_s": 2.0, "assist": "switch"},
    "rla": {"drop_after_s": 3.0},
    "rla-switch": {"drop_after_s": 3.0, "assist": "switch", "hurry_after_s": 0.2},
    "tfmcc": {"drop_after_s": 3.0, "least_rate_bps": 200_000.0},
    "arbor": {"drop_after_s": 3.0},
}
REALTIME: dict[str, dict[str, Any]] = {
    "tfmcc": {"rate_limit_bps": 1e6},
    "tfmcc-switch": {"rate_limit_bps": 1e6, "assist": "switch"},
    "arbor": {"rate_limit_bps": 1e6},
    "vlmcc": {"rate_limit_bps": 1e6},
    "vlmcc-switch": {"rate_limit_bps": 1e6, "assist": "switch"},
    "webrc": {"session_rate_bps": 1e6, "slot_s": 2.0, "quiescence_s": 10.0, "epoch_s": 0.1},
}
WORLDS: dict[str, Callable[..., Any]] = {
    "mtcp": MtcpWorld,
    "rla": RlaWorld,
    "tfmcc": partial(FileWorld, "tfmcc"),
    "arbor": partial(FileWorld, "arbor"),
}


class RealtimeWorld:
    """A sender that always has data, and receivers, in a network without losses."""

    def __init__(self, name: str, seed: int) -> None:
        self.network = Network(seed)
        protocol = protocols.get(name.split("-")[0])
        group = Address("239.6.0.0", 5000)
        session = Session(group, realtime=True, session=7)
        sender = protocol.sender(session, random.Random(seed), REALTIME[name])
        self.sender = self.network.host("sender", sender)
        self.sender.endless = True
        self.receivers: list[Host] = []
        for index in range(3):
            self.network.link("sender", f"r{index}", rate_bps=10e6, delay_s=0.01)
            session = Session(group, self.network.address("sender").host, 7, realtime=True)
            receiver = protocol.receiver(session, random.Random(f"{seed} {index}"), REALTIME[name])
            self.receivers.append(self.network.host(f"r{index}", receiver))


def attack(world: Any, seed: int, *, member: bool, start_s: float = 0.01) -> tuple[list[Host], Forger]:
    """The honest receivers of three; the forger is a stranger of three addresses, or the third receiver."""
    network = world.network
    sources = [network.address("r2")] if member else [Address(f"10.7.0.{index}", 7000) for index in range(3)]
    forger = Forger(network, seed, sources, world.receivers[0].endpoint.session.group)
    network.at(start_s, forger.run)
    return world.receivers[: 2 if member else 3], forger


def check_sizes(world: Any) -> None:
    for host in world.network.hosts.values():
        largest = sizes(host.endpoint).most_common(3)
        assert not largest or largest[0][1] < MOST_ITEMS, largest


@pytest.mark.parametrize("seed", range(1, 3))
@pytest.mark.parametrize("member", [False, True], ids=["stranger", "member"])
@pytest.mark.parametrize("name", PARAMETERS)
def test_forgeries(name: str, seed: int, *, member: bool) -> None:
    # Where a session begins as soon as so many have joined, those that are forged count as well.
    start_s, size = (0.6, 600_000) if name in ("tfmcc", "arbor") else (0.01, 300_000)
    world = WORLDS[name.split("-")[0]](3, seed=seed, size=size, parameters=PARAMETERS[name])
    honest, forger = attack(world, seed, member=member, start_s=start_s)
    world.network.run_until_ended(LIMIT_S)
    assert forger.forged > 20
    for host in honest:
        assert bytes(host.received) == world.data, (host.name, host.end)
    check_sizes(world)


@pytest.mark.parametrize("seed", range(1, 3))
@pytest.mark.parametrize("member", [False, True], ids=["stranger", "member"])
@pytest.mark.parametrize("name", REALTIME)
def test_forgeries_in_real_time(name: str, seed: int, *, member: bool) -> None:
    world = RealtimeWorld(name, seed)
    honest, forger = attack(world, seed, member=member)
    world.network.run(REALTIME_S)
    assert forger.forged > 20
    assert not world.sender.endpoint.closed
    for host in honest:
        assert not host.endpoint.closed, host.end
        # A member may claim a low rate; but the sender must not be silent for as long as receivers wait for it.
        assert sum(at > 10.0 for at, event in host.events if isinstance(event, DeliverDatagram)) > 0
    check_sizes(world)

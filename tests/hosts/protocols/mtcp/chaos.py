"""Random sessions on random networks: what a seed draws, and what must hold whatever happens.

A seed draws the physical tree (rates, delays, queues, loss, duplicates, reordering, outages), the clocks, the logical
tree (one level, given, or found by the receivers), the sizes of the stream, packets and buffers, and who dies, leaves,
comes late or reads slowly, and when.
"""

import random
from dataclasses import dataclass, field
from typing import Any

from hosts.endpoint import SessionStarted
from hosts.parts.silence import START_BYTES
from hosts.protocol import Session
from hosts.protocols.mtcp.aside import KEPT_BUFFERS
from hosts.protocols.mtcp.receiver import MtcpReceiver
from hosts.protocols.mtcp.sender import MtcpSender
from tests.hosts.host import Clock, Host
from tests.hosts.link import Link
from tests.hosts.network import Network
from tests.hosts.protocols.mtcp.world import GROUP, MTCP

LIMIT_S = 900.0
"""Of virtual time. A session that is not over by then hangs."""
PATIENCE_S = 60.0
"""How long anybody waits for anybody: nobody who lives is dropped sooner, however bad the network."""
SENDER = "sender"


@dataclass(slots=True)
class Member:
    """What happens to one receiver. Times are true seconds."""

    name: str
    parameters: dict[str, Any]
    joins_at: float = 0.0
    dies_at: float | None = None
    leaves_at: float | None = None
    read_bps: float | None = None
    host: Host | None = None

    @property
    def stays(self) -> bool:
        """Whether it is there to the end."""
        return self.dies_at is None and self.leaves_at is None


@dataclass(slots=True)
class Draw:
    """The pieces of chance that the network and its members are made of."""

    rng: random.Random
    shared: dict[str, Any] = field(default_factory=dict)

    def clock(self) -> Clock:
        """Any offset, and up to 100 ppm of drift."""
        return Clock(self.rng.uniform(0, 1e5), self.rng.uniform(-1e-4, 1e-4))

    def link(self) -> dict[str, Any]:
        """What a link is like: mostly good."""
        rng = self.rng
        bad = rng.random() < 0.4
        return {
            "rate_bps": 10 ** rng.uniform(5.7, 7.5),
            "delay_s": 10 ** rng.uniform(-4, -1.3),
            "limit_packets": rng.choice([8, 20, 64, 200]),
            "loss": rng.uniform(0, 0.08) if bad else 0.0,
            "back_loss": rng.uniform(0, 0.08) if bad else 0.0,
            "duplicate": rng.uniform(0, 0.05) if rng.random() < 0.3 else 0.0,
            "jitter_s": rng.uniform(0, 0.02) if rng.random() < 0.3 else 0.0,
        }


class Chaos:
    """One seed's session."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.draw = Draw(rng)
        self.network = Network(seed)
        self.links: list[Link] = []
        self.size = rng.choice([0, 1, 3_000, 20_000, 60_000, 150_000])
        self.data = random.Random(seed).randbytes(self.size)
        payload = rng.choice([200, 500, 1000, 1400])
        self.parameters: dict[str, Any] = {
            "payload_bytes": payload,
            "buffer_bytes": rng.choice([payload * 6, payload * 30, 1 << 20]),
            "fan_out": rng.choice([2, 3, 16]),
            "drop_after_s": PATIENCE_S,
            "silence_s": PATIENCE_S,
        }
        self.shape = rng.choice(["one-level", "given", "automatic"])
        self.members: list[Member] = []
        self._build()
        self.most_stored = 0
        """Bytes of the stream that one member kept for its children, at most."""

    # --- building

    def _build(self) -> None:
        rng, network = self.rng, self.network
        routers = [f"s{index}" for index in range(rng.randint(1, 6))]
        for index, router in enumerate(routers[1:], start=1):
            self._link(routers[rng.randrange(index)], router)
        network.link(SENDER, routers[0], rate_bps=100e6, limit_packets=1000)
        names = [f"r{index}" for index in range(rng.randint(1, 10))]
        for name in names:
            self._link(rng.choice(routers), name)
        network.address(SENDER)
        for name in names:
            network.address(name)
        if self.shape == "one-level":
            self.parameters["fan_out"] = 16
        parents = self._parents(names)
        self.members = [self._member(name, parents) for name in names]
        if not any(member.joins_at == 0 and member.stays for member in self.members):
            self.members[0].joins_at, self.members[0].dies_at, self.members[0].leaves_at = 0.0, None, None
        first = sum(member.joins_at == 0 for member in self.members)
        session = Session(GROUP, receivers=first, wait=10.0)
        self.sender_core = MtcpSender(session, MTCP.parse_options(self.parameters), random.Random(rng.random()))
        self.sender = network.host(SENDER, self.sender_core, clock=self.draw.clock(), source=self.data)
        for member in self.members:
            if member.joins_at == 0:
                self._add(member)
            else:
                network.at(member.joins_at, self._join_late, member)
            if member.dies_at is not None:
                network.at(member.dies_at, self._kill, member)
            if member.leaves_at is not None:
                network.at(member.leaves_at, self._leave, member)
        for _ in range(rng.choice([0, 0, 1, 2])):
            self._outage(rng.choice(self.links), rng.expovariate(1 / 3), rng.uniform(0.1, 2.0))
        network.at(0.5, self._look)

    def _link(self, one: str, other: str) -> None:
        self.links += self.network.link(one, other, **self.draw.link())

    def _parents(self, names: list[str]) -> dict[str, str]:
        """A random logical tree over the receivers, within the fan-out."""
        if self.shape == "automatic":
            return {}
        if self.shape == "one-level":
            return dict.fromkeys(names, SENDER)
        room = {SENDER: int(self.parameters["fan_out"])}
        parents = {}
        for name in names:
            parent = self.rng.choice([known for known, free in room.items() if free])
            parents[name] = parent
            room[parent] -= 1
            room[name] = int(self.parameters["fan_out"])
        return parents

    def _member(self, name: str, parents: dict[str, str]) -> Member:
        rng = self.rng
        parameters = dict(self.parameters)
        if name in parents:
            parameters["parent"] = "sender" if parents[name] == SENDER else str(self.network.address(parents[name]))
        if name in parents.values() or (self.shape == "automatic" and rng.random() < 0.4):
            parameters["agent"] = True
        member = Member(name, parameters)
        fate = rng.random()
        if fate < 0.15:
            member.dies_at = rng.expovariate(1 / 3)
        elif fate < 0.3:
            member.leaves_at = rng.expovariate(1 / 3)
        if rng.random() < 0.2 and name not in parents.values():
            member.joins_at = 1.5 + rng.expovariate(1 / 2)
            parameters["from_start"] = rng.random() < 0.3
            if self.shape == "given":
                del parameters["parent"]
            for fate_name in ("dies_at", "leaves_at"):
                at = getattr(member, fate_name)
                if at is not None:
                    setattr(member, fate_name, at + member.joins_at)
        if rng.random() < 0.2:
            member.read_bps = 10 ** rng.uniform(4.5, 6.5)
        return member

    # --- what happens

    def _add(self, member: Member) -> None:
        session = Session(GROUP, self.network.address(SENDER).host)
        core = MtcpReceiver(session, MTCP.parse_options(member.parameters), random.Random(self.rng.random()))
        member.host = self.network.host(member.name, core, clock=self.draw.clock())
        member.host.consume_bps = member.read_bps
        if not member.parameters.get("from_start", True):
            member.host.first_offset = None

    def _join_late(self, member: Member) -> None:
        self._add(member)
        assert member.host is not None
        member.host.start()

    def _kill(self, member: Member) -> None:
        assert member.host is not None
        member.host.kill()

    def _leave(self, member: Member) -> None:
        host = member.host
        assert host is not None
        if host.alive and not host.endpoint.closed:
            host.apply(host.endpoint.close(now=host.now, reason="enough"))

    def _outage(self, link: Link, start: float, duration: float) -> None:
        self.network.at(start, setattr, link, "up", False)
        self.network.at(start + duration, setattr, link, "up", True)

    def _look(self) -> None:
        """What is kept stays within bounds."""
        agents = [self.sender_core.agent]
        for host in self._hosts():
            if isinstance(host.endpoint, MtcpReceiver) and host.endpoint.serving is not None:
                agents.append(host.endpoint.serving.agent)
        for agent in agents:
            self.most_stored = max(self.most_stored, sum(packet.size for packet in agent.store.packets.values()))
        self.network.at(self.network.now + 0.5, self._look)

    def _hosts(self) -> list[Host]:
        return [member.host for member in self.members if member.host is not None]

    # --- the end

    def run(self) -> None:
        """To the end of everybody who lives."""
        waiting = [member for member in self.members if member.joins_at > 0]
        if waiting:
            self.network.run(max(member.joins_at for member in waiting) + 1e-3)
        while self.network.now < LIMIT_S and not all(self._is_over(host) for host in [self.sender, *self._hosts()]):
            self.network.run(self.network.now + 0.5)

    def _is_over(self, host: Host) -> bool:
        """It has ended; or it came when nobody was there to be heard, and would wait for ever."""
        return not host.alive or host.endpoint.closed or (self.sender.endpoint.closed and self._heard_nobody(host))

    def _heard_nobody(self, host: Host) -> bool:
        return isinstance(host.endpoint, MtcpReceiver) and host.endpoint.state == "listening"

    def check(self) -> None:
        """What must hold."""
        sender_end = self.sender.end
        assert sender_end is not None, f"the sender hangs: {self.sender_core.sample(now=self.sender.now)}"
        for member in self.members:
            self._check_member(member)
        if all(member.stays and member.joins_at == 0 for member in self.members):
            assert sender_end.complete, sender_end.reason
        assert self.most_stored <= self.storage_bound, (self.most_stored, self.storage_bound)

    def _check_member(self, member: Member) -> None:
        host = member.host
        assert host is not None
        first = host.first_offset or 0
        got = bytes(host.received)
        assert got == self.data[first : first + len(got)], f"{member.name} got other bytes"
        if member.joins_at == 0 or member.parameters.get("from_start", True):
            assert first == 0, f"{member.name} began in the middle"
        if not member.stays:
            return
        if host.end is None and member.joins_at > 0 and self._heard_nobody(host):
            return
        assert host.end is not None, f"{member.name} hangs: {host.endpoint.sample(now=host.now)}"
        if host.end.complete:
            assert first + len(got) == self.size, f"{member.name} ended early"
            return
        # Who came late, or whom the network kept from asking, may be refused; once admitted, it stays.
        assert not host.events_of(SessionStarted), f"{member.name} was admitted, and ended with: {host.end.reason}"

    @property
    def storage_bound(self) -> int:
        """Bytes: the window that all share, and what is kept beyond it: for orphans, for silent children and those of
        children, or of the stream's start, until somebody has shown that it is there; and one packet.
        """
        payload, window = int(self.parameters["payload_bytes"]), int(self.parameters["buffer_bytes"])
        return 2 * window + max(window * 2 * KEPT_BUFFERS, START_BYTES) + 64 * payload


def describe(chaos: Chaos) -> str:
    """A seed's session, for whoever looks into a failure."""
    lines = [f"{chaos.shape}, {chaos.size} bytes, {chaos.parameters}"]
    lines += [
        f"{member.name}: joins {member.joins_at:.3f} dies {member.dies_at} leaves {member.leaves_at} "
        f"reads {member.read_bps} parent {member.parameters.get('parent', 'auto')}"
        f"{' agent' if member.parameters.get('agent') else ''}"
        for member in chaos.members
    ]
    return "\n".join(lines)

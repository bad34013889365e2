"""VLMCC sessions in the simulator, without scenario files: a sender, routers, receivers and TCP beside them."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, cast

from canopy_engine import Sim

from hosts import endpoint as seam
from hosts.endpoint import Address, Datagram, DeliverDatagram, Effect, Send, SenderEndpoint
from hosts.protocols import Session
from hosts.vlmcc.options import VlmccOptions
from hosts.vlmcc.packets import Packet, parse
from hosts.vlmcc.receiver import VlmccReceiver
from hosts.vlmcc.sender import VlmccSender

if TYPE_CHECKING:
    from canopy_engine import LinkSpec
else:
    LinkSpec = dict

GROUP = Address("239.1.1.1", 5000)
PORT = 40000
PACKET_BYTES = 1000
PAYLOAD = PACKET_BYTES - 14 - 28 - 44
"""Of packets of 1,000 bytes on the link, as the paper's are."""


def _link(given: Mapping[str, Any]) -> LinkSpec:
    return cast(LinkSpec, dict(given))


def _back(given: Mapping[str, Any]) -> LinkSpec:
    """The way back: as long, and never full."""
    return {"delay_us": given.get("delay_us", 0.0), "limit_packets": 10_000}


class Greedy:
    """A sender whose application always has data, and what it heard."""

    def __init__(self, endpoint: SenderEndpoint) -> None:
        self.endpoint = endpoint
        self.heard: list[tuple[float, Packet]] = []
        self.on_send: Callable[[float, Packet], None] | None = None

    def _fed(self, effects: Sequence[Effect], now: float) -> list[Effect]:
        found = list(effects)
        while not self.endpoint.closed and (space := self.endpoint.send_space):
            found += self.endpoint.write(bytes(space), now=now)
        if self.on_send is not None:
            for effect in found:
                if isinstance(effect, Send):
                    self.on_send(now, parse(effect.data))
        return found

    def start(self, *, now: float) -> list[Effect]:
        return self._fed(self.endpoint.start(now=now), now)

    def receive(self, datagram: Datagram, /, *, now: float) -> list[Effect]:
        self.heard.append((now, parse(datagram.data)))
        return self._fed(self.endpoint.receive(datagram, now=now), now)

    def handle_timer(self, *, now: float) -> list[Effect]:
        return self._fed(self.endpoint.handle_timer(now=now), now)

    @property
    def wake_at(self) -> float | None:
        return self.endpoint.wake_at


class OffClock:
    """An endpoint on a host whose clock is ahead by `offset` seconds and gains `drift` millionths."""

    def __init__(self, endpoint: VlmccReceiver, offset: float, drift: float) -> None:
        self._endpoint = endpoint
        self._offset = offset
        self._pace = 1 + drift * 1e-6

    def _local(self, time: float) -> float:
        return time * self._pace + self._offset

    def start(self, *, now: float) -> Sequence[Effect]:
        return self._endpoint.start(now=self._local(now))

    def receive(self, datagram: Datagram, /, *, now: float) -> Sequence[Effect]:
        at = datagram.arrived_at
        local = datagram._replace(arrived_at=None if at is None else self._local(at))
        return self._endpoint.receive(local, now=self._local(now))

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        return self._endpoint.handle_timer(now=self._local(now))

    @property
    def wake_at(self) -> float | None:
        wake = self._endpoint.wake_at
        return None if wake is None else (wake - self._offset) / self._pace


class World:
    """`sender` - `core` - `edge` - `r0`, `r1`, ..."""

    def __init__(
        self,
        receivers: Sequence[Mapping[str, Any]],
        *,
        bottleneck: Mapping[str, Any] | None = None,
        back: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        seed: int = 1,
        deliver: bool = False,
    ) -> None:
        """`receivers`: each one's link from the edge, `join` in seconds and `clock` (offset, drift in millionths);
        `bottleneck`: core to edge; `back`: edge to core."""
        self.sim = Sim(seed)
        self.options = VlmccOptions(**{"payload_bytes": PAYLOAD, **(options or {})})
        self.delivered: dict[int, list[DeliverDatagram]] = {}
        sim = self.sim
        sim.add_host("sender", "10.0.0.1")
        sim.add_router("core")
        sim.add_router("edge")
        sim.connect("sender", "core", {"rate_bps": 1e9, "limit_packets": 10_000}, {"rate_bps": 1e9})
        self.bottleneck = sim.connect(
            "core", "edge", _link(bottleneck or {}), _back(bottleneck or {}) if back is None else _link(back)
        )
        session = Session(GROUP, session=7, realtime=True, deliver=deliver)
        self.sender = VlmccSender(session, self.options, Random(seed))
        self.greedy = Greedy(self.sender)
        self.receivers: list[VlmccReceiver] = []
        self.programs: list[int] = []
        self.links: list[int] = []
        for number, given in enumerate(receivers):
            link = dict(given)
            join, clock = link.pop("join", 0.0), link.pop("clock", (0.0, 0.0))
            name = f"r{number}"
            offset, drift = clock
            sim.add_host(name, f"10.{1 + number // 65536}.{number // 256 % 256}.{number % 256}")
            self.links.append(sim.connect("edge", name, _link(link), _back(link)))
            receiver = VlmccReceiver(session, self.options, Random(seed * 1_000_003 + number))
            self.receivers.append(receiver)

            def take(effect: object, now: float, number: int = number) -> None:
                if isinstance(effect, DeliverDatagram):
                    self.delivered.setdefault(number, []).append(effect)

            program = OffClock(receiver, offset, drift)
            self.programs.append(
                sim.add_endpoint(name, name, program, port=PORT, seam=seam, start_at=join, on_effect=take)
            )
        self.program = sim.add_endpoint("sender", "sender", self.greedy, port=PORT, seam=seam, start_at=0.01)

    def run(self, until: float) -> None:
        self.sim.run(until)

    @property
    def leader(self) -> int | None:
        """Which receiver leads."""
        leader = self.sender.election.leader
        if leader is None:
            return None
        return next(number for number, one in enumerate(self.receivers) if one.id == leader.receiver)

    def rate(self, number: int, since: float, until: float) -> float:
        """Bit/s of packets on the link that a receiver got between two times; runs the world to the second."""
        self.sim.run(since)
        before = self.receivers[number].data_packets
        self.sim.run(until)
        return (self.receivers[number].data_packets - before) * PACKET_BYTES * 8 / (until - since)

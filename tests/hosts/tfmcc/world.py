"""TFMCC sessions in the simulator, without scenario files: a sender, routers, receivers and TCP beside them."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, cast

from canopy_engine import Sim

from hosts import endpoint as seam
from hosts.endpoint import Address, Datagram, DeliverDatagram, Effect, SenderEndpoint
from hosts.protocols import Session
from hosts.tfmcc.options import TfmccOptions
from hosts.tfmcc.receiver import TfmccReceiver
from hosts.tfmcc.sender import TfmccSender

if TYPE_CHECKING:
    from canopy_engine import LinkSpec
else:
    LinkSpec = dict

GROUP = Address("239.1.1.1", 5000)
PORT = 40000
LINK_HEADERS = 14
PAYLOAD = 1000 - LINK_HEADERS - 28 - 64
"""Of packets of 1,000 bytes on the link, as the paper's are."""


def _link(given: Mapping[str, Any]) -> LinkSpec:
    return cast(LinkSpec, dict(given))


def _back(given: Mapping[str, Any]) -> LinkSpec:
    """The way back: as long, and never full."""
    return {"delay_us": given.get("delay_us", 0.0), "limit_packets": 10_000}


class Greedy:
    """A sender whose application always has data."""

    def __init__(self, endpoint: SenderEndpoint) -> None:
        self.endpoint = endpoint

    def _fed(self, effects: Sequence[Effect], now: float) -> list[Effect]:
        found = list(effects)
        while not self.endpoint.closed and (space := self.endpoint.send_space):
            found += self.endpoint.write(bytes(space), now=now)
        return found

    def start(self, *, now: float) -> list[Effect]:
        return self._fed(self.endpoint.start(now=now), now)

    def receive(self, datagram: Datagram, /, *, now: float) -> list[Effect]:
        return self._fed(self.endpoint.receive(datagram, now=now), now)

    def handle_timer(self, *, now: float) -> list[Effect]:
        return self._fed(self.endpoint.handle_timer(now=now), now)

    @property
    def wake_at(self) -> float | None:
        return self.endpoint.wake_at


class World:
    """`sender` - `core` - `edge` - `r0`, `r1`, ..."""

    def __init__(
        self,
        receivers: Sequence[Mapping[str, Any]],
        *,
        bottleneck: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        seed: int = 1,
        deliver: bool = False,
    ) -> None:
        """`receivers`: each one's link from the edge, and `join` in seconds; `bottleneck`: core to edge."""
        self.sim = Sim(seed)
        self.options = TfmccOptions(**{"payload_bytes": PAYLOAD, **(options or {})})
        self.delivered: dict[int, list[DeliverDatagram]] = {}
        sim = self.sim
        sim.add_host("sender", "10.0.0.1")
        sim.add_router("core")
        sim.add_router("edge")
        sim.connect("sender", "core", {"rate_bps": 1e9, "limit_packets": 10_000}, {"rate_bps": 1e9})
        self.bottleneck = sim.connect("core", "edge", _link(bottleneck or {}), _back(bottleneck or {}))
        session = Session(GROUP, session=7, realtime=True, deliver=deliver)
        self.sender = TfmccSender(session, self.options, Random(seed))
        self.receivers: list[TfmccReceiver] = []
        self.programs: list[int] = []
        self.links: list[int] = []
        for number, given in enumerate(receivers):
            link = dict(given)
            join = link.pop("join", 0.0)
            name = f"r{number}"
            sim.add_host(name, f"10.{1 + number // 65536}.{number // 256 % 256}.{number % 256}")
            self.links.append(sim.connect("edge", name, _link(link), _back(link)))
            receiver = TfmccReceiver(session, self.options, Random(seed * 1_000_003 + number))
            self.receivers.append(receiver)

            def take(effect: object, now: float, number: int = number) -> None:
                if isinstance(effect, DeliverDatagram):
                    self.delivered.setdefault(number, []).append(effect)

            self.programs.append(
                sim.add_endpoint(name, name, receiver, port=PORT, seam=seam, start_at=join, on_effect=take)
            )
        self.program = sim.add_endpoint("sender", "sender", Greedy(self.sender), port=PORT, seam=seam, start_at=0.01)
        self._bytes = 0
        self._since = 0.0

    def run(self, until: float) -> None:
        self.sim.run(until)

    def rate(self, number: int, since: float, until: float) -> float:
        """Bit/s of packets on the link that a receiver got between two times; runs the world to the second."""
        self.sim.run(since)
        before = self.receivers[number].data_packets
        self.sim.run(until)
        return (self.receivers[number].data_packets - before) * 1000 * 8 / (until - since)

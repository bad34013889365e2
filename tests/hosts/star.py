"""Real-time sessions in the simulator, without scenario files: `sender` - `core` - `edge` - `r0`, `r1`, ..."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

from canopy_engine import Sim

from hosts import endpoint as seam
from hosts.endpoint import Address, Datagram, DeliverDatagram, Effect, SenderEndpoint
from hosts.parts.realtime import RealtimeReceiver
from hosts.protocol import Session

if TYPE_CHECKING:
    from canopy_engine import LinkSpec, SimEndpoint
else:
    LinkSpec = dict

GROUP = Address("239.1.1.1", 5000)
PORT = 40000
PACKET_BYTES = 1000
"""On the link, as the papers' are."""
LINK_HEADERS = 14
_SENDER_STARTS_S = 0.01


def link_spec(given: Mapping[str, Any]) -> LinkSpec:
    return cast(LinkSpec, dict(given))


def way_back(given: Mapping[str, Any]) -> LinkSpec:
    """The way back: as long, and never full."""
    return {"delay_us": given.get("delay_us", 0.0), "limit_packets": 10_000}


def add_tcp(sim: Sim, control: Literal["cubic", "reno", "prague"]) -> int:
    """A TCP beside the session, from a second on, and its number."""
    fast = link_spec({"rate_bps": 1e9, "delay_us": 100.0})
    for host, router, address in (("server", "core", "10.0.9.1"), ("client", "edge", "10.0.9.2")):
        sim.add_host(host, address)
        sim.connect(host, router, fast, fast)
    return sim.add_tcp("server", "client", start_at=1.0, congestion_control=control, packet_bytes=PACKET_BYTES)[0]


class Greedy:
    """A sender whose application always has data."""

    def __init__(self, endpoint: SenderEndpoint) -> None:
        self.endpoint = endpoint

    def fed(self, effects: Sequence[Effect], now: float) -> list[Effect]:
        """What the endpoint wants, and what it wants when it is given all that it takes."""
        found = list(effects)
        while not self.endpoint.closed and (space := self.endpoint.send_space):
            found += self.endpoint.write(bytes(space), now=now)
        return found

    def start(self, *, now: float) -> list[Effect]:
        return self.fed(self.endpoint.start(now=now), now)

    def receive(self, datagram: Datagram, /, *, now: float) -> list[Effect]:
        return self.fed(self.endpoint.receive(datagram, now=now), now)

    def handle_timer(self, *, now: float) -> list[Effect]:
        return self.fed(self.endpoint.handle_timer(now=now), now)

    @property
    def wake_at(self) -> float | None:
        return self.endpoint.wake_at


Options = TypeVar("Options")
S = TypeVar("S", bound=SenderEndpoint)
R = TypeVar("R", bound=RealtimeReceiver)


class OffClock:
    """An endpoint on a host whose clock is ahead by `offset` seconds and gains `drift` millionths."""

    def __init__(self, endpoint: RealtimeReceiver, offset: float, drift: float) -> None:
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


class Star(Generic[S, R]):
    """A sender whose application always has data, and receivers behind one bottleneck."""

    def __init__(
        self,
        make_sender: Callable[[Session, Options, Random], S],
        make_receiver: Callable[[Session, Options, Random], R],
        options: Options,
        receivers: Sequence[Mapping[str, Any]],
        *,
        bottleneck: Mapping[str, Any] | None = None,
        back: Mapping[str, Any] | None = None,
        seed: int = 1,
        deliver: bool = False,
        feed: Callable[[S], Greedy] = Greedy,
    ) -> None:
        """`receivers`: each one's link from the edge, `join` in seconds, and `clock`: its offset in seconds, its drift
        in millionths. `bottleneck`: core to edge; `back`: edge to core."""
        session = Session(GROUP, session=7, receivers=len(receivers), realtime=True, deliver=deliver)
        self.sender = make_sender(session, options, Random(seed))
        self.greedy = feed(self.sender)
        self.sim = Sim(seed)
        self.delivered: dict[int, list[DeliverDatagram]] = {}
        self.receivers: list[R] = []
        self.programs: list[int] = []
        self.links: list[int] = []
        sim = self.sim
        sim.add_host("sender", "10.0.0.1")
        sim.add_router("core")
        sim.add_router("edge")
        sim.connect("sender", "core", {"rate_bps": 1e9, "limit_packets": 10_000}, {"rate_bps": 1e9})
        self.bottleneck = sim.connect(
            "core", "edge", link_spec(bottleneck or {}), way_back(bottleneck or {}) if back is None else link_spec(back)
        )
        for number, given in enumerate(receivers):
            self._add(number, given, make_receiver(session, options, Random(seed * 1_000_003 + number)))
        self.program = sim.add_endpoint(
            "sender", "sender", self.greedy, port=PORT, seam=seam, start_at=_SENDER_STARTS_S
        )

    def _add(self, number: int, given: Mapping[str, Any], receiver: R) -> None:
        link = {key: value for key, value in given.items() if key not in ("join", "clock")}
        name = f"r{number}"
        self.sim.add_host(name, f"10.{1 + number // 65536}.{number // 256 % 256}.{number % 256}")
        self.links.append(self.sim.connect("edge", name, link_spec(link), way_back(link)))
        self.receivers.append(receiver)

        def take(effect: object, now: float) -> None:
            if isinstance(effect, DeliverDatagram):
                self.delivered.setdefault(number, []).append(effect)

        program: SimEndpoint = OffClock(receiver, *given["clock"]) if "clock" in given else receiver
        start_at = given.get("join", 0.0)
        self.programs.append(
            self.sim.add_endpoint(name, name, program, port=PORT, seam=seam, start_at=start_at, on_effect=take)
        )

    def run(self, until: float) -> None:
        self.sim.run(until)

    def rate(self, number: int, since: float, until: float) -> float:
        """Bit/s of packets on the link that a receiver got between two times; runs the world to the second."""
        self.sim.run(since)
        before = self.receivers[number].data_packets
        self.sim.run(until)
        return (self.receivers[number].data_packets - before) * PACKET_BYTES * 8 / (until - since)

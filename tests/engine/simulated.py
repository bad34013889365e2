"""Endpoints and networks for the tests of the simulator's Python side."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from canopy_engine import Sim

from hosts import endpoint as seam
from hosts.endpoint import Address, Datagram, Effect, JoinGroup, LeaveGroup, Send

if TYPE_CHECKING:
    from canopy_engine import LinkSpec

GROUP = Address("232.1.1.1", 5000)
SOURCE = "10.0.0.1"
FAST: "LinkSpec" = {"rate_bps": 100e6, "delay_us": 1000.0}


@dataclass(eq=False)
class Listener:
    """Joins when it starts and remembers what it got."""

    group: Address | None = None
    source: str | None = SOURCE
    received: list[tuple[float, Datagram]] = field(default_factory=list)
    wake_at: float | None = None

    def start(self, *, now: float) -> Sequence[Effect]:
        return [JoinGroup(self.group, self.source)] if self.group else []

    def receive(self, datagram: Datagram, /, *, now: float) -> Sequence[Effect]:
        self.received.append((now, datagram))
        return ()

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        return ()

    def leave(self, *, now: float) -> Sequence[Effect]:
        return [LeaveGroup(self.group, self.source)] if self.group else []


@dataclass
class Ticker:
    """Calls `act` at regular times."""

    interval: float
    act: Callable[[int, float], Sequence[Effect]]
    count: int = 0
    wake_at: float | None = None

    def start(self, *, now: float) -> Sequence[Effect]:
        self.wake_at = now
        return ()

    def receive(self, datagram: Datagram, /, *, now: float) -> Sequence[Effect]:
        return ()

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        assert self.wake_at is not None
        assert now >= self.wake_at, "a timer never comes early"
        self.wake_at += self.interval
        self.count += 1
        return self.act(self.count, now)


def sender(data: bytes, destination: Address, interval: float = 0.01) -> Ticker:
    """Sends the same bytes object again and again."""
    return Ticker(interval, lambda count, now: [Send(data, destination)])


def star(receivers: int, seed: int = 1) -> Sim:
    """A router with the host `source` and `receivers` hosts called h1, h2, ... around it."""
    sim = Sim(seed)
    sim.add_router("router")
    sim.add_host("source", SOURCE)
    sim.connect("source", "router", FAST, FAST)
    for number in range(1, receivers + 1):
        sim.add_host(f"h{number}", f"10.0.{number // 250 + 1}.{number % 250 + 1}")
        sim.connect("router", f"h{number}", FAST, FAST)
    return sim


def listen(sim: Sim, host: str, listener: Listener, port: int = 5000, start_at: float = 0.0) -> int:
    return sim.add_endpoint(host, f"listener on {host}", listener, port=port, seam=seam, start_at=start_at)

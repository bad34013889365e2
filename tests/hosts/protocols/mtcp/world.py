"""A sender, receivers and a tree between them, in virtual time."""

import random
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from hosts import protocols
from hosts.endpoint import Address
from hosts.protocol import Session
from hosts.protocols.mtcp.receiver import MtcpReceiver
from hosts.protocols.mtcp.sender import MtcpSender
from tests.hosts.network import Clock, Host, Link, Network
from tests.hosts.tcp import TcpReceiver, TcpSender

GROUP = Address("232.1.1.1", 5000)
MTCP = protocols.get("mtcp")
FRAME_SHARE = 1400 / 1472
"""Payload's part of the bytes on an Ethernet link, with 1,400-byte payloads."""


class World:
    """One sender behind `bottleneck`, receivers r0, r1, ... behind a router each.

    sender - core =bottleneck= edge - r0, r1, ...
    """

    def __init__(
        self,
        receivers: int = 3,
        *,
        seed: int = 1,
        size: int | None = 100_000,
        parameters: Mapping[str, Any] | None = None,
        rate_bps: float = 10e6,
        limit_packets: int = 64,
        delays_s: Sequence[float] = (0.002, 0.005, 0.010, 0.015),
        losses: Mapping[int, float] | None = None,
        back_loss: float = 0.0,
        duplicate: float = 0.0,
        jitter_s: float = 0.0,
        clocks: Mapping[str, Clock] | None = None,
        wanted: int | None = None,
        wait: float = 5.0,
        first: int = 0,
        parents: Mapping[int, int] | None = None,
        agents: Collection[int] = (),
    ) -> None:
        """`parents`: receiver -> its parent, a receiver too (the others' is the sender's to say). `agents` offer to
        serve. Delays and losses are those of a receiver's own link.
        """
        self.network = Network(seed)
        self.data = random.Random(seed).randbytes(size or 0)
        clocks = clocks or {}
        rng = random.Random(seed)
        session = Session(GROUP, receivers=receivers if wanted is None else wanted, wait=wait)
        self.sender_core = MtcpSender(session, MTCP.parse_options(parameters or {}), rng, first=first)
        self.sender = self.network.host(
            "sender", self.sender_core, clock=clocks.get("sender", Clock()), source=self.data
        )
        self.sender.endless = size is None
        self._access, _ = self.network.link("sender", "core", rate_bps=1e9, delay_s=0.001, limit_packets=1000)
        self.bottleneck: Link
        self.way_back: Link
        self.bottleneck, self.way_back = self.network.link(
            "core", "edge", rate_bps=rate_bps, delay_s=0.002, limit_packets=limit_packets
        )
        self.receivers: list[Host] = []
        self.parameters = parameters
        self.links: list[tuple[Link, Link]] = []
        for index in range(receivers):
            link = self.network.link(
                "edge",
                f"r{index}",
                rate_bps=1e9,
                delay_s=delays_s[index % len(delays_s)],
                limit_packets=1000,
                loss=(losses or {}).get(index, 0.0),
                back_loss=back_loss,
                duplicate=duplicate,
                jitter_s=jitter_s,
            )
            self.links.append(link)
        for index in range(receivers):
            own: dict[str, Any] = {"agent": index in agents or index in (parents or {}).values()}
            if parents is not None:
                parent = parents.get(index)
                own["parent"] = "sender" if parent is None else str(self.network.address(f"r{parent}"))
            self.add_receiver(f"r{index}", clocks.get(f"r{index}", Clock()), {**own, **(parameters or {})})

    def add_receiver(self, name: str, clock: Clock = Clock(), parameters: Mapping[str, Any] | None = None) -> Host:  # noqa: B008
        """Put a receiver on a node that has a link."""
        session = Session(GROUP, self.network.address("sender").host)
        core = MTCP.receiver(session, random.Random(name), parameters or self.parameters)
        host = self.network.host(name, core, clock=clock)
        host.endless = self.sender.endless
        self.receivers.append(host)
        return host

    def finish(self, limit: float = 300.0) -> None:
        """Run until all have ended."""
        self.network.run_until_ended(limit)
        assert all(host.endpoint.closed for host in self.network.hosts.values() if host.alive), self.network.now

    def core(self, index: int) -> MtcpReceiver:
        """A receiver's endpoint."""
        endpoint = self.receivers[index].endpoint
        assert isinstance(endpoint, MtcpReceiver)
        return endpoint

    def add_tcp(self) -> TcpReceiver:
        """A TCP on the bottleneck from 1 s on, over links of 8 ms beside it; what receives its data."""
        network = self.network
        server, _ = network.link("server", "core", rate_bps=1e9, delay_s=0.001, limit_packets=1000)
        for link in (server, self._access):
            link.hold_s = 1500 * 8 / self.bottleneck.rate_bps
        network.link("edge", "client", rate_bps=1e9, delay_s=0.007, limit_packets=1000)
        network.host("server", TcpSender(network.address("client"), start_at=1.0))
        client = TcpReceiver()
        network.host("client", client)
        return client

    def share(self, start: float, stop: float) -> float:
        """The slowest receiver's rate as a part of what the bottleneck can carry."""
        rate = min(host.rate_bps(start, stop) for host in self.receivers)
        return rate / (self.bottleneck.rate_bps * FRAME_SHARE)

    def assert_all_have_it(self) -> None:
        """Every receiver has the exact bytes, and both sides say so."""
        for host in self.receivers:
            assert host.received == self.data
            assert host.end is not None
            assert host.end.complete
        assert self.sender.end is not None
        assert self.sender.end.complete, self.sender.end.reason

"""A sender, receivers and a tree between them, in virtual time."""

import random
from collections.abc import Collection, Mapping
from typing import Any

from hosts import protocols
from hosts.endpoint import Address
from hosts.protocols.mtcp.receiver import MtcpReceiver
from hosts.protocols.mtcp.sender import MtcpSender
from tests.hosts.dumbbell import Dumbbell
from tests.hosts.host import Clock, Host
from tests.hosts.tcp import TcpReceiver, TcpSender

GROUP = Address("232.1.1.1", 5000)
MTCP = protocols.get("mtcp")
FRAME_SHARE = 1400 / 1472
"""Payload's part of the bytes on an Ethernet link, with 1,400-byte payloads."""


class World(Dumbbell):
    """An MTCP session."""

    def __init__(
        self,
        receivers: int = 3,
        *,
        seed: int = 1,
        parameters: Mapping[str, Any] | None = None,
        clocks: Mapping[str, Clock] | None = None,
        first: int = 0,
        parents: Mapping[int, int] | None = None,
        agents: Collection[int] = (),
        **given: Any,
    ) -> None:
        """`parents`: receiver -> its parent, a receiver too (the others' is the sender's to say). `agents` offer to
        serve. The rest is as in Dumbbell."""
        super().__init__(GROUP, receivers, seed=seed, **given)
        clocks = clocks or {}
        options = MTCP.parse_options(parameters or {})
        self.sender_core = MtcpSender(self.session, options, random.Random(seed), first=first)
        self.sender = self.host_sender(self.sender_core, clocks.get("sender", Clock()))
        self.parameters = parameters
        for index in range(receivers):
            own: dict[str, Any] = {"agent": index in agents or index in (parents or {}).values()}
            if parents is not None:
                parent = parents.get(index)
                own["parent"] = "sender" if parent is None else str(self.network.address(f"r{parent}"))
            self.add_receiver(f"r{index}", clocks.get(f"r{index}", Clock()), {**own, **(parameters or {})})

    def add_receiver(self, name: str, clock: Clock = Clock(), parameters: Mapping[str, Any] | None = None) -> Host:  # noqa: B008
        """Put a receiver on a node that has a link."""
        core = MTCP.receiver(self.member, random.Random(name), parameters or self.parameters)
        host = self.host_receiver(name, core, clock)
        host.endless = self.endless
        return host

    def finish(self, limit: float = 300.0) -> None:
        super().finish(limit)
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
        for link in (server, self.access):
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

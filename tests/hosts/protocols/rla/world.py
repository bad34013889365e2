"""An RLA session in virtual time: a sender behind a bottleneck, and receivers with a link of their own each."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

from hosts.endpoint import Address
from hosts.protocol import Session
from hosts.protocols.rla import PROTOCOL
from hosts.protocols.rla.receiver import RlaReceiver
from hosts.protocols.rla.sender import RlaSender
from tests.hosts.network import Clock, Host, Link, Network

GROUP = Address("232.1.4.1", 5000)


class World:
    """sender - core =bottleneck= edge - r0, r1, ..."""

    def __init__(
        self,
        receivers: int = 3,
        *,
        seed: int = 1,
        size: int | None = 200_000,
        parameters: Mapping[str, Any] | None = None,
        rate_bps: float = 10e6,
        limit_packets: int = 64,
        delays_s: Sequence[float] = (0.002, 0.005, 0.010, 0.015),
        loss: float = 0.0,
        back_loss: float = 0.0,
        duplicate: float = 0.0,
        jitter_s: float = 0.0,
        wanted: int | None = None,
        wait: float = 5.0,
    ) -> None:
        self.network = Network(seed)
        self.data = random.Random(seed).randbytes(size or 0)
        self.parameters = dict(parameters or {})
        session = Session(GROUP, receivers=receivers if wanted is None else wanted, wait=wait)
        core = PROTOCOL.sender(session, random.Random(seed), self.parameters)
        assert isinstance(core, RlaSender)
        self.sender_core = core
        self.sender = self.network.host("sender", core, source=self.data)
        self.sender.endless = size is None
        self.network.link("sender", "core", rate_bps=1e9, delay_s=0.001, limit_packets=1000)
        self.bottleneck: Link
        self.bottleneck, _ = self.network.link(
            "core", "edge", rate_bps=rate_bps, delay_s=0.002, limit_packets=limit_packets
        )
        self.links: list[Link] = []
        self.receivers: list[Host] = []
        for index in range(receivers):
            link, _ = self.network.link(
                "edge",
                f"r{index}",
                rate_bps=1e9,
                delay_s=delays_s[index % len(delays_s)],
                limit_packets=1000,
                loss=loss,
                back_loss=back_loss,
                duplicate=duplicate,
                jitter_s=jitter_s,
            )
            self.links.append(link)
            self.add_receiver(f"r{index}", clock=Clock(offset=1000.0 * index))

    def add_receiver(
        self, name: str, *, clock: Clock | None = None, parameters: Mapping[str, Any] | None = None
    ) -> Host:
        """Put a receiver on a node that has a link."""
        session = Session(GROUP, self.network.address("sender").host)
        core = PROTOCOL.receiver(session, random.Random(name), parameters or self.parameters)
        assert isinstance(core, RlaReceiver)
        host = self.network.host(name, core, clock=clock or Clock())
        self.receivers.append(host)
        return host

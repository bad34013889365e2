"""Files in an in-memory network, by any protocol: everybody must end with the exact bytes."""

import random
from collections.abc import Mapping
from typing import Any

from hosts import protocols
from hosts.endpoint import Address, PeerFinished, SessionEnded
from hosts.protocol import Session
from tests.hosts.network import Clock, Host, Network

GROUP = Address("232.1.1.1", 5000)


class FileWorld:
    """sender - core =bottleneck= edge - r0, r1, ..."""

    def __init__(
        self,
        protocol: str,
        receivers: int = 3,
        *,
        size: int = 300_000,
        wanted: int | None = None,
        wait: float = 5.0,
        seed: int = 1,
        loss: float = 0.0,
        back_loss: float = 0.0,
        duplicate: float = 0.0,
        jitter_s: float = 0.0,
        clocks: Mapping[str, Clock] | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self.network = Network(seed)
        self.data = random.Random(seed).randbytes(size)
        clocks = clocks or {}
        session = Session(GROUP, receivers=receivers if wanted is None else wanted, wait=wait)
        made_by = protocols.get(protocol)
        self.core: Any = made_by.sender(session, random.Random(seed), parameters or {})
        self.sender = self.network.host("sender", self.core, clock=clocks.get("sender", Clock()), source=self.data)
        self.network.link("sender", "core", rate_bps=1e9, delay_s=0.001, limit_packets=1000)
        self.network.link("core", "edge", rate_bps=10e6, delay_s=0.005, limit_packets=64)
        self.receivers: list[Host] = []
        for index in range(receivers):
            name = f"r{index}"
            self.network.link(
                "edge",
                name,
                rate_bps=1e9,
                delay_s=0.001,
                limit_packets=1000,
                loss=loss,
                back_loss=back_loss,
                duplicate=duplicate,
                jitter_s=jitter_s,
            )
            member = Session(GROUP, self.network.address("sender").host)
            receiver = made_by.receiver(member, random.Random(f"{seed} {name}"), parameters or {})
            self.receivers.append(self.network.host(name, receiver, clock=clocks.get(name, Clock())))

    def finish(self, limit: float = 300.0) -> None:
        """Run until all have ended."""
        self.network.run_until_ended(limit)

    def check(self) -> None:
        """Everybody has everything, and the sender knows it."""
        for host in self.receivers:
            assert bytes(host.received) == self.data
            assert host.end == SessionEnded(True, "")
        assert self.sender.end == SessionEnded(True, "")
        assert len(self.sender.events_of(PeerFinished)) == len(self.receivers)

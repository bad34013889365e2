"""The network of most tests of files, in virtual time: a sender before one bottleneck and receivers behind it."""

import random
from collections.abc import Mapping, Sequence

from hosts.endpoint import Address, Endpoint
from hosts.protocol import Session
from tests.hosts.host import Clock, Host
from tests.hosts.link import Link
from tests.hosts.network import Network


class Dumbbell:
    """sender - core =bottleneck= edge - r0, r1, ..."""

    def __init__(
        self,
        group: Address,
        receivers: int = 3,
        *,
        seed: int = 1,
        size: int | None = 100_000,
        wanted: int | None = None,
        wait: float = 5.0,
        rate_bps: float = 10e6,
        delay_s: float = 0.002,
        limit_packets: int = 64,
        delays_s: Sequence[float] = (0.002, 0.005, 0.010, 0.015),
        loss: float = 0.0,
        losses: Mapping[int, float] | None = None,
        back_loss: float = 0.0,
        duplicate: float = 0.0,
        jitter_s: float = 0.0,
    ) -> None:
        """A stream without an end where there is no `size`. Delays and losses are those of a receiver's own link, the
        others of all."""
        self.network = Network(seed)
        self.group = group
        self.data = random.Random(seed).randbytes(size or 0)
        self.endless = size is None
        self.session = Session(group, receivers=receivers if wanted is None else wanted, wait=wait)
        self.network.address("sender")
        self.access, _ = self.network.link("sender", "core", rate_bps=1e9, delay_s=0.001, limit_packets=1000)
        self.bottleneck: Link
        self.way_back: Link
        self.bottleneck, self.way_back = self.network.link(
            "core", "edge", rate_bps=rate_bps, delay_s=delay_s, limit_packets=limit_packets
        )
        self.links = [
            self.network.link(
                "edge",
                f"r{index}",
                rate_bps=1e9,
                delay_s=delays_s[index % len(delays_s)],
                limit_packets=1000,
                loss=(losses or {}).get(index, loss),
                back_loss=back_loss,
                duplicate=duplicate,
                jitter_s=jitter_s,
            )
            for index in range(receivers)
        ]
        self.receivers: list[Host] = []

    def host_sender(self, endpoint: Endpoint, clock: Clock = Clock()) -> Host:  # noqa: B008
        """On its node, with the data."""
        host = self.network.host("sender", endpoint, clock=clock, source=self.data)
        host.endless = self.endless
        return host

    def host_receiver(self, name: str, endpoint: Endpoint, clock: Clock = Clock()) -> Host:  # noqa: B008
        """On a node that has a link."""
        host = self.network.host(name, endpoint, clock=clock)
        self.receivers.append(host)
        return host

    @property
    def member(self) -> Session:
        """A receiver's session."""
        return Session(self.group, self.network.address("sender").host)

    def finish(self, limit: float = 300.0) -> None:
        """Run until all have ended."""
        self.network.run_until_ended(limit)

"""Files in an in-memory network, by any protocol: everybody must end with the exact bytes."""

import random
from collections.abc import Mapping
from typing import Any

from hosts import protocols
from hosts.endpoint import Address, PeerFinished, SessionEnded
from tests.hosts.dumbbell import Dumbbell
from tests.hosts.host import Clock

GROUP = Address("232.1.1.1", 5000)


class FileWorld(Dumbbell):
    """A file by any protocol."""

    def __init__(
        self,
        protocol: str,
        receivers: int = 3,
        *,
        size: int = 300_000,
        seed: int = 1,
        clocks: Mapping[str, Clock] | None = None,
        parameters: Mapping[str, Any] | None = None,
        **given: Any,
    ) -> None:
        super().__init__(GROUP, receivers, seed=seed, size=size, delay_s=0.005, delays_s=(0.001,), **given)
        clocks = clocks or {}
        made_by = protocols.get(protocol)
        self.core: Any = made_by.sender(self.session, random.Random(seed), parameters or {})
        self.sender = self.host_sender(self.core, clocks.get("sender", Clock()))
        for name in (f"r{index}" for index in range(receivers)):
            receiver = made_by.receiver(self.member, random.Random(f"{seed} {name}"), parameters or {})
            self.host_receiver(name, receiver, clocks.get(name, Clock()))

    def check(self) -> None:
        """Everybody has everything, and the sender knows it."""
        for host in self.receivers:
            assert bytes(host.received) == self.data
            assert host.end == SessionEnded(True, "")
        assert self.sender.end == SessionEnded(True, "")
        assert len(self.sender.events_of(PeerFinished)) == len(self.receivers)

"""An RLA session in virtual time: a sender behind a bottleneck, and receivers with a link of their own each."""

import random
from collections.abc import Mapping
from typing import Any

from hosts.endpoint import Address
from hosts.protocols.rla import PROTOCOL
from hosts.protocols.rla.receiver import RlaReceiver
from hosts.protocols.rla.sender import RlaSender
from tests.hosts.dumbbell import Dumbbell
from tests.hosts.host import Clock, Host

GROUP = Address("232.1.4.1", 5000)


class World(Dumbbell):
    """An RLA session."""

    def __init__(
        self,
        receivers: int = 3,
        *,
        seed: int = 1,
        size: int | None = 200_000,
        parameters: Mapping[str, Any] | None = None,
        **given: Any,
    ) -> None:
        super().__init__(GROUP, receivers, seed=seed, size=size, **given)
        self.parameters = dict(parameters or {})
        core = PROTOCOL.sender(self.session, random.Random(seed), self.parameters)
        assert isinstance(core, RlaSender)
        self.sender_core = core
        self.sender = self.host_sender(core)
        for index in range(receivers):
            self.add_receiver(f"r{index}", clock=Clock(offset=1000.0 * index))

    def add_receiver(
        self, name: str, *, clock: Clock | None = None, parameters: Mapping[str, Any] | None = None
    ) -> Host:
        """Put a receiver on a node that has a link."""
        core = PROTOCOL.receiver(self.member, random.Random(name), parameters or self.parameters)
        assert isinstance(core, RlaReceiver)
        return self.host_receiver(name, core, clock or Clock())

"""Arbor sessions in the simulator."""

from collections.abc import Mapping, Sequence
from typing import Any

from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.packets import DATA_BYTES
from hosts.protocols.arbor.receiver import ArborReceiver
from hosts.protocols.arbor.sender import ArborSender
from tests.hosts.star import LINK_HEADERS, PACKET_BYTES, Star

PAYLOAD = PACKET_BYTES - LINK_HEADERS - 28 - DATA_BYTES


class World(Star[ArborSender, ArborReceiver]):
    """Arbor's."""

    def __init__(
        self, receivers: Sequence[Mapping[str, Any]], *, options: Mapping[str, Any] | None = None, **given: Any
    ) -> None:
        self.options = ArborOptions(**{"payload_bytes": PAYLOAD, **(options or {})})
        super().__init__(ArborSender, ArborReceiver, self.options, receivers, **given)

    @property
    def limiting(self) -> int | None:
        """Which receiver limits the rate."""
        one = self.sender.going.limiting
        if one is None:
            return None
        return next(number for number, receiver in enumerate(self.receivers) if receiver.id == one.receiver)

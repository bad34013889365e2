"""TFMCC sessions in the simulator."""

from collections.abc import Mapping, Sequence
from typing import Any

from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.receiver import TfmccReceiver
from hosts.protocols.tfmcc.sender import TfmccSender
from tests.hosts.star import LINK_HEADERS, PACKET_BYTES, Star

PAYLOAD = PACKET_BYTES - LINK_HEADERS - 28 - 64


class World(Star[TfmccSender, TfmccReceiver]):
    """TFMCC's."""

    def __init__(
        self, receivers: Sequence[Mapping[str, Any]], *, options: Mapping[str, Any] | None = None, **given: Any
    ) -> None:
        self.options = TfmccOptions(**{"payload_bytes": PAYLOAD, **(options or {})})
        super().__init__(TfmccSender, TfmccReceiver, self.options, receivers, **given)

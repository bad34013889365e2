"""TFMCC sessions in the simulator."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from hosts.protocol import Session
from hosts.protocols.tfmcc.options import TfmccOptions
from hosts.protocols.tfmcc.receiver import TfmccReceiver
from hosts.protocols.tfmcc.sender import TfmccSender
from tests.hosts.star import GROUP, LINK_HEADERS, PACKET_BYTES, Greedy, Star

PAYLOAD = PACKET_BYTES - LINK_HEADERS - 28 - 64


class World(Star[TfmccReceiver]):
    """A sender, and receivers behind one bottleneck."""

    def __init__(
        self,
        receivers: Sequence[Mapping[str, Any]],
        *,
        bottleneck: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        seed: int = 1,
        deliver: bool = False,
    ) -> None:
        self.options = TfmccOptions(**{"payload_bytes": PAYLOAD, **(options or {})})
        session = Session(GROUP, session=7, realtime=True, deliver=deliver)
        self.sender = TfmccSender(session, self.options, Random(seed))
        super().__init__(
            receivers,
            Greedy(self.sender),
            lambda number: TfmccReceiver(session, self.options, Random(seed * 1_000_003 + number)),
            bottleneck=bottleneck,
            seed=seed,
        )

"""Arbor sessions in the simulator."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from hosts.protocol import Session
from hosts.protocols.arbor.options import ArborOptions
from hosts.protocols.arbor.packets import DATA_BYTES
from hosts.protocols.arbor.receiver import ArborReceiver
from hosts.protocols.arbor.sender import ArborSender
from tests.hosts.star import GROUP, LINK_HEADERS, PACKET_BYTES, Greedy, OffClock, Star

PAYLOAD = PACKET_BYTES - LINK_HEADERS - 28 - DATA_BYTES


class World(Star[ArborReceiver]):
    """A sender whose application always has data, and receivers behind one bottleneck."""

    def __init__(
        self,
        receivers: Sequence[Mapping[str, Any]],
        *,
        bottleneck: Mapping[str, Any] | None = None,
        back: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        seed: int = 1,
        deliver: bool = False,
    ) -> None:
        """`receivers` have `clock`, too: its offset in seconds, its drift in millionths."""
        self.options = ArborOptions(**{"payload_bytes": PAYLOAD, **(options or {})})
        session = Session(GROUP, session=7, realtime=True, deliver=deliver)
        self.sender = ArborSender(session, self.options, Random(seed))
        super().__init__(
            receivers,
            Greedy(self.sender),
            lambda number: ArborReceiver(session, self.options, Random(seed * 1_000_003 + number)),
            bottleneck=bottleneck,
            back=back,
            seed=seed,
            host=lambda receiver, given: OffClock(receiver, *given.get("clock", (0.0, 0.0))),
        )

    @property
    def limiting(self) -> int | None:
        """Which receiver limits the rate."""
        one = self.sender.going.limiting
        if one is None:
            return None
        return next(number for number, receiver in enumerate(self.receivers) if receiver.id == one.receiver)

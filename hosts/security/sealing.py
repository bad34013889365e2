"""Seals what an endpoint sends, and opens what comes to it, before and behind a protocol that knows nothing of it."""

import random
from collections.abc import Callable, Iterable
from typing import Final

from canopy_engine import Seal

from hosts.endpoint import Address, Datagram, Effect, Send
from hosts.security.keys import GroupKeys

SENDER_BITS: Final = 64
"""Of the number that an endpoint seals under, drawn at each start: of 2^20 starts in an epoch two have the same with a
probability of 2^-25, and then under the same key the same nonces."""
UNIX_TIME: Final = 2**32
"""A sealed packet's time counts seconds modulo this."""
OPENED: Final = "opened"
"""The counter of what was opened."""


class Sealing:
    """One endpoint's. It counts into the endpoint's own counters: `opened`, and `drop_..` with what was wrong."""

    def __init__(
        self, keys: GroupKeys, ids: random.Random, wall: Callable[[], float], counters: dict[str, int]
    ) -> None:
        """`ids` must be good for cryptography where packets leave the program, and never be seeded there; `wall`: the
        time since 1970, seconds."""
        self._ids = ids
        self._wall = wall
        self._counters = counters
        self._seal = Seal(keys.epochs, ids.getrandbits(SENDER_BITS))
        self._own: Address | None = None

    def place(self, address: Address) -> None:
        """Where the endpoint is; needed before anything else."""
        self._own = address

    def seal(self, effects: Iterable[Effect]) -> list[Effect]:
        """The effects, with what is sent sealed."""
        return [self._sealed(effect) if type(effect) is Send else effect for effect in effects]

    def open(self, datagram: Datagram) -> Datagram | None:
        """What was sealed; None: it is not for the endpoint."""
        opened = self._seal.open(datagram.data, datagram.source, datagram.destination, self._time())
        counters = self._counters
        if isinstance(opened, bytes):
            counters[OPENED] = counters.get(OPENED, 0) + 1
            return Datagram(
                opened, datagram.source, datagram.destination, datagram.arrived_at, datagram.hops, datagram.ecn
            )
        name = f"drop_{opened}"
        counters[name] = counters.get(name, 0) + 1
        return None

    def _sealed(self, send: Send) -> Send:
        assert self._own is not None, "an endpoint that seals is told its place first"
        if self._seal.is_exhausted:
            self._seal.renew(self._ids.getrandbits(SENDER_BITS))
        data = self._seal.seal(send.data, self._own, send.destination, self._time())
        return Send(data, send.destination, send.ecn)

    def _time(self) -> int:
        return int(self._wall()) % UNIX_TIME

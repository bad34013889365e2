"""Seals what an endpoint sends, and opens what comes to it, before and behind a protocol that knows nothing of it."""

import random
from collections.abc import Callable, Iterable
from typing import Final

from canopy_engine import Seal

from hosts.endpoint import Address, Datagram, DatagramRun, Effect, Send, SendRun
from hosts.security.keyring import KeyRing
from hosts.security.keys import GroupKeys
from hosts.wire.header import SEAL_BYTES

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
        self, keys: GroupKeys | KeyRing, ids: random.Random, wall: Callable[[], float], counters: dict[str, int]
    ) -> None:
        """`ids` must be good for cryptography where packets leave the program, and never be seeded there; `wall`: the
        time since 1970, seconds."""
        self._ids = ids
        self._wall = wall
        self._counters = counters
        self._keys = keys
        self._version = keys.version
        self._seal = Seal(keys.epochs, ids.getrandbits(SENDER_BITS))
        self._own: Address | None = None

    def place(self, address: Address) -> None:
        """Where the endpoint is; needed before anything else."""
        self._own = address

    def seal(self, effects: Iterable[Effect]) -> list[Effect]:
        """The effects, with what is sent sealed."""
        self._keep_up()
        sealed: list[Effect] = []
        for effect in effects:
            if type(effect) is Send:
                data = self._sealed(effect.data, effect.destination, self._time())
                sealed.append(Send(data, effect.destination, effect.ecn))
            elif type(effect) is SendRun:
                sealed.append(self._sealed_run(effect))
            else:
                sealed.append(effect)
        return sealed

    def open(self, datagram: Datagram) -> Datagram | None:
        """What was sealed; None: it is not for the endpoint."""
        opened = self._opened(datagram.data, datagram.source, datagram.destination, self._time())
        if opened is None:
            return None
        return Datagram(opened, datagram.source, datagram.destination, datagram.arrived_at, datagram.hops, datagram.ecn)

    def open_run(self, run: DatagramRun) -> list[Datagram | DatagramRun]:
        """Likewise of datagrams that were read together: a run, or those that are for the endpoint one by one."""
        data, size, source, destination, first_at, arrived_at, hops, ecn = run
        time = self._time()
        places = range(0, len(data), size)
        packets = [self._opened(data[at : at + size], source, destination, time) for at in places]
        whole = [packet for packet in packets if packet is not None]
        if len(whole) == len(packets) and len(packets) > 1:
            inner = size - SEAL_BYTES
            return [DatagramRun(b"".join(whole), inner, source, destination, first_at, arrived_at, hops, ecn)]
        return [run.datagram(at)._replace(data=one) for at, one in enumerate(packets) if one is not None]

    def _opened(self, sealed: bytes, source: Address, destination: Address, time: int) -> bytes | None:
        self._keep_up()
        opened = self._seal.open(sealed, source, destination, time)
        counters = self._counters
        if isinstance(opened, bytes):
            counters[OPENED] = counters.get(OPENED, 0) + 1
            return opened
        name = f"drop_{opened}"
        counters[name] = counters.get(name, 0) + 1
        if opened == "epoch" and isinstance(self._keys, KeyRing):
            self._keys.is_behind = True
        return None

    def _sealed_run(self, run: SendRun) -> SendRun:
        data, destination, ecn, size = run
        time = self._time()
        packets = [self._sealed(data[at : at + size], destination, time) for at in range(0, len(data), size)]
        return SendRun(b"".join(packets), destination, ecn, size + SEAL_BYTES)

    def _sealed(self, packet: bytes, destination: Address, time: int) -> bytes:
        assert self._own is not None, "an endpoint that seals is told its place first"
        if self._seal.is_exhausted:
            self._seal.renew(self._ids.getrandbits(SENDER_BITS))
        return self._seal.seal(packet, self._own, destination, time)

    def _keep_up(self) -> None:
        """Take the epochs that there are now."""
        version = self._keys.version
        if version != self._version:
            self._version = version
            self._seal.change(self._keys.epochs, self._ids.getrandbits(SENDER_BITS))

    def _time(self) -> int:
        return int(self._wall()) % UNIX_TIME

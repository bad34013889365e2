"""Seals what an endpoint sends, and opens what comes to it, before and behind a protocol that knows nothing of it."""

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from canopy_engine import Seal

from hosts.endpoint import Address, Datagram, DatagramRun, Effect, Send, SendRun
from hosts.security.hop import HOP_BYTES, Hops
from hosts.security.keyring import KeyRing
from hosts.security.keys import GroupKeys
from hosts.wire.header import HEADED_VERSION, HEADER_BYTES, SEAL_BYTES, VERSION
from hosts.wire.sealed import FEEDBACK_SEAL_BYTES, OpenHead

SENDER_BITS: Final = 64
"""Of the number that an endpoint seals under, drawn at each start: of 2^20 starts in an epoch two have the same with a
probability of 2^-25, and then under the same key the same nonces."""
UNIX_TIME: Final = 2**32
"""A sealed packet's time counts seconds modulo this."""
OPENED: Final = "opened"
"""The counter of what was opened."""
MERGED: Final = "opened_merged"
"""The counter of what switches had merged, and the last one vouched for."""
ANYWHERE: Final = Address("0.0.0.0", 0)
"""Sealed in place of the destination where switches send copies."""


class Sealing:
    """One endpoint's. It counts into the endpoint's own counters: `opened`, and `drop_..` with what was wrong."""

    def __init__(
        self,
        keys: GroupKeys | KeyRing,
        ids: random.Random,
        wall: Callable[[], float],
        counters: dict[str, int],
        heads: Mapping[int, OpenHead] | None = None,
        hops: Hops | None = None,
        *,
        is_helped: bool = False,
    ) -> None:
        """`ids` must be good for cryptography where packets leave the program, and never be seeded there; `wall`: the
        time since 1970, seconds. `heads`: what is open, by types of packets, for switches that help; `hops`: what they
        vouch by. `is_helped`: this endpoint leaves it open; else only of packets whose flags ask for help."""
        self._heads = heads or {}
        self._open = {kind: head for kind, head in self._heads.items() if is_helped or head.flags}
        self._hops = hops or Hops(None, wall)
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
        data, size, source, destination, *_ = run
        if self._heads and HEADED_VERSION in data[::size]:
            return self._open_headed_run(run)
        self._keep_up()
        inner = max(0, size - SEAL_BYTES)
        opened, refused = self._seal.open_run(data, size, source, destination, self._time())
        self._count(OPENED, run.packets - len(refused))
        if not refused and inner:
            return [run._replace(data=opened, size=inner)]
        for _, why in refused:
            self._refuse(why)
        shut = {place for place, _ in refused}
        kept = (place for place in range(run.packets) if place not in shut)
        return [run.datagram(at)._replace(data=opened[at * inner : (at + 1) * inner]) for at in kept]

    def _open_headed_run(self, run: DatagramRun) -> list[Datagram | DatagramRun]:
        """Of which some may have open heads."""
        data, size, source, destination, *_ = run
        time = self._time()
        places = range(0, len(data), size)
        packets = [self._opened(data[at : at + size], source, destination, time) for at in places]
        whole = [packet for packet in packets if packet is not None]
        inner = size - (FEEDBACK_SEAL_BYTES if self._is_feedback(data) else SEAL_BYTES)
        if len(whole) == len(packets) > 1 and len(whole[-1]) <= inner and all(len(one) == inner for one in whole[:-1]):
            return [run._replace(data=b"".join(whole), size=inner)]
        return [run.datagram(at)._replace(data=one) for at, one in enumerate(packets) if one is not None]

    def _opened(self, sealed: bytes, source: Address, destination: Address, time: int) -> bytes | None:
        self._keep_up()
        head = _head(self._heads, sealed, HEADED_VERSION)
        opened: bytes | str
        if head is None:
            opened = self._seal.open(sealed, source, destination, time)
        elif head.is_vouched:
            opened = self._feedback(sealed, head, source, destination, time)
        else:
            to = ANYWHERE if head.is_copied else destination
            opened = self._seal.open_headed(_untold(sealed, head), head.size, source, to, time)
            if head.told and isinstance(opened, bytes):
                opened = opened[:3] + sealed[3:4] + opened[4:]
        if isinstance(opened, bytes):
            self._count(OPENED)
            return opened
        self._refuse(opened)
        return None

    def _refuse(self, why: str) -> None:
        self._count(f"drop_{why}")
        if why == "epoch" and isinstance(self._keys, KeyRing):
            self._keys.is_behind = True

    def _is_feedback(self, sealed: bytes) -> bool:
        head = _head(self._heads, sealed, HEADED_VERSION)
        return head is not None and head.is_vouched

    def _count(self, name: str, count: int = 1) -> None:
        self._counters[name] = self._counters.get(name, 0) + count

    def _feedback(self, sealed: bytes, head: OpenHead, source: Address, destination: Address, time: int) -> bytes | str:
        """Feedback is its author's; or a switch's, that has merged it: then the last hop vouches for it."""
        if len(sealed) != head.size + FEEDBACK_SEAL_BYTES:
            return "forged"
        packet, hop = sealed[: head.size], sealed[-HOP_BYTES:]
        vouched = destination == self._own and self._hops.is_right(packet, hop, source, destination)
        if packet[3] & head.merged:
            if not vouched:
                return "hop"
            self._count(MERGED)
            return bytes([VERSION]) + packet[1:]
        whole = bytearray(sealed[:-HOP_BYTES])
        for place in head.changed:
            whole[place] = bytes(place.stop - place.start)
        opened = self._seal.open_feedback(bytes(whole), source, destination, time)
        if vouched and isinstance(opened, bytes):
            told = bytearray(opened)
            for place in head.changed:
                told[place] = packet[place]
            return bytes(told)
        return opened

    def _sealed_run(self, run: SendRun) -> SendRun:
        data, destination, ecn, size = run
        time = self._time()
        if self._open.keys().isdisjoint(data[2::size]):  # types of its packets
            sealed = self._seal.seal_run(data, size, self._ready(run.packets), destination, time)
        else:
            packets = [self._sealed(data[at : at + size], destination, time) for at in range(0, len(data), size)]
            sealed = b"".join(packets)
        return SendRun(sealed, destination, ecn, size + SEAL_BYTES)

    def _ready(self, packets: int) -> Address:
        """The own address, with numbers left for so many packets."""
        assert self._own is not None, "an endpoint that seals is told its place first"
        if self._seal.left < packets:
            self._seal.renew(self._ids.getrandbits(SENDER_BITS))
        return self._own

    def _sealed(self, packet: bytes, destination: Address, time: int) -> bytes:
        own = self._ready(1)
        head = _head(self._open, packet, VERSION)
        if head is None or (head.is_vouched and len(packet) != head.size):
            return self._seal.seal(packet, own, destination, time)
        if head.is_vouched:
            sealed = self._seal.seal_feedback(packet, own, destination, time)
            return sealed + self._hops.sign(sealed[: head.size], own, destination)
        return self._seal.seal_headed(packet, head.size, own, ANYWHERE if head.is_copied else destination, time)

    def _keep_up(self) -> None:
        """Take the epochs that there are now."""
        version = self._keys.version
        if version != self._version:
            self._version = version
            self._seal.change(self._keys.epochs, self._ids.getrandbits(SENDER_BITS))

    def _time(self) -> int:
        return int(self._wall()) % UNIX_TIME


def _untold(sealed: bytes, head: OpenHead) -> bytes:
    """As it left the sender."""
    if not sealed[3] & head.told:
        return sealed
    return sealed[:3] + bytes([sealed[3] & ~head.told]) + sealed[4:]


def _head(heads: Mapping[int, OpenHead], packet: bytes, version: int) -> OpenHead | None:
    """How much of a packet with this version is open."""
    if not heads or len(packet) < HEADER_BYTES or packet[0] != version:
        return None
    head = heads.get(packet[2])
    return head if head is not None and (not head.flags or packet[3] & head.flags) else None

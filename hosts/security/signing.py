"""A sender that signs all that it sends: between a protocol, which knows nothing of it, and the seal."""

import hashlib
import math
import random
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from canopy_engine import Signer

from hosts.endpoint import Address, Effect, Send, SenderEndpoint, SendRun
from hosts.parts.wrapping import WrappedSender
from hosts.security.manifest import BLOCK, Manifest, Root, encode_manifest, encode_root, packet_hash
from hosts.security.sealing import SENDER_BITS, UNIX_TIME
from hosts.wire.header import VERSION as COMMON_VERSION
from hosts.wire.tree.layout import has_tree

FLUSH_S: Final = 0.02
"""So long a packet waits for its signature at most, where it is not made before (ours)."""
LEAST_S: Final = 0.002
"""Between two signatures while there is credit: 500 a second take 1 % of a processor (ours)."""
SIGNATURE_BYTES: Final = 152
"""Of a manifest on its way, but for its hashes: its head, the signature, the seal, UDP and IP."""
CREDIT_BYTES: Final = 20
"""That a packet adds to what signatures may take; with its two hashes it grows by 36 on average (ours)."""
MOST_CREDIT: Final = 25 * SIGNATURE_BYTES
"""So that a session begins without waiting (ours): feedback on what waits comes late, and protocols that double their
rate with each round of it would stay where packets are too few to share signatures."""
NUMBERS: Final = 2**32
"""Of manifests, of one start."""
ROOT_S: Final = 0.25
"""So often a tree's root is signed again, for receivers that have lost it (ours)."""


def is_multicast(address: Address) -> bool:
    """RFC 5771: 224.0.0.0/4."""
    return 224 <= int(address.host.partition(".")[0]) < 240


class _Stream:
    """What goes to one destination."""

    def __init__(self, now: float) -> None:
        self.block: list[bytes] = []
        """Of what waits for its signature."""
        self.since = now
        """When the last signature was made."""
        self.before: list[bytes] = []
        """Of what was signed once and is to be signed once more."""
        self.before_number = 0
        self.flush_at = now + FLUSH_S
        self.credit = MOST_CREDIT

    def take(self, hashes: list[bytes], now: float) -> None:
        """More that waits."""
        if not self.block and not self.before:
            self.flush_at = now + FLUSH_S
        self.block += hashes
        self.credit = min(MOST_CREDIT, self.credit + CREDIT_BYTES * len(hashes))
        if self.credit >= SIGNATURE_BYTES:
            self.flush_at = min(self.flush_at, max(now, self.since + LEAST_S))


class SigningSender(WrappedSender):
    """A sender around a sender."""

    def __init__(
        self,
        core: SenderEndpoint,
        signer: Signer,
        group: Address,
        tree_types: frozenset[int],
        ids: random.Random,
        wall: Callable[[], float],
    ) -> None:
        """`group`: the session's; `tree_types` as Protocol has them; `ids` and `wall` as `Sealing` has them."""
        super().__init__(core)
        self._group = group
        self._tree_types = tree_types
        self._first = bytearray()
        """Of the stream, until it shows whether it has a tree."""
        self._root: bytes | None = None
        self._root_at: float | None = None
        """When its signature is sent again."""
        self._signer = signer
        self._ids = ids
        self._id = ids.getrandbits(SENDER_BITS)
        self._wall = wall
        self._own: Address | None = None
        self._next = 0
        self._streams: dict[Address, _Stream] = {}
        self._flush_at = math.inf

    def place(self, address: Address) -> None:
        self._own = address
        super().place(address)

    def _passed(self, effects: Sequence[Effect], now: float) -> Sequence[Effect]:
        full: set[Address] = set()
        for effect in effects:
            if type(effect) is Send:
                if self._is_of_tree(effect.data):
                    continue
                hashes = [packet_hash(effect.data)]
            elif type(effect) is SendRun:
                data, size = effect.data, effect.size
                pieces = [data[at : at + size] for at in range(0, len(data), size)]
                hashes = [packet_hash(piece) for piece in pieces if not self._is_of_tree(piece)]
            else:
                continue
            if not hashes:
                continue
            stream = self._streams.get(effect.destination)
            if stream is None:
                stream = self._streams[effect.destination] = _Stream(now)
            stream.take(hashes, now)
            self._flush_at = min(self._flush_at, stream.flush_at)
            if len(stream.block) >= BLOCK or not is_multicast(effect.destination):
                full.add(effect.destination)  # what goes to one may measure a round trip: it is not to wait
        if self.core.closed:  # nobody calls again
            return [*effects, *self._flush(list(self._streams), now), *self._flush(list(self._streams), now)]
        return [*effects, *self._flush(full, now)] if full else effects

    def _is_of_tree(self, packet: bytes) -> bool:
        """Whether receivers can check it by the root."""
        return self._root is not None and packet[0] == COMMON_VERSION and packet[2] in self._tree_types

    def write(self, data: bytes | memoryview, *, now: float) -> Sequence[Effect]:
        checked = self.checked_bytes
        if self._root is None and checked is not None and len(self._first) < checked[0]:
            self._first += data[: checked[0] - len(self._first)]
            if len(self._first) == checked[0] and has_tree(bytes(self._first)):
                self._root = hashlib.sha256(self._first).digest()
                return [*self._signed_root(now), *super().write(data, now=now)]
        return super().write(data, now=now)

    def _signed_root(self, now: float) -> list[Effect]:
        assert self._own is not None
        assert self._root is not None
        assert self.session_id is not None
        self._root_at = now + ROOT_S
        root = Root(self._id, self.session_id, int(self._wall()) % UNIX_TIME, self._root)
        return [Send(encode_root(root, self._signer, self._own, self._group), self._group)]

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        effects = super().handle_timer(now=now)
        if self._root_at is not None and now >= self._root_at:
            effects = [*effects, *self._signed_root(now)]
        if now < self._flush_at:
            return effects
        due = [destination for destination, stream in self._streams.items() if now >= stream.flush_at]
        return [*effects, *self._flush(due, now)]

    @property
    def wake_at(self) -> float | None:
        times = (self.core.wake_at, self._flush_at if self._flush_at < math.inf else None, self._root_at)
        return min((at for at in times if at is not None), default=None)

    def _begin_anew(self) -> None:
        """As another start of the sender, for this one has no numbers left; what was signed once stays so."""
        self._id, self._next = self._ids.getrandbits(SENDER_BITS), 0
        for stream in self._streams.values():
            stream.before = []

    def _flush(self, destinations: Iterable[Address], now: float) -> list[Effect]:
        """Sign what waits, and once more what was signed last; who has neither is forgotten."""
        assert self._own is not None, "an endpoint that signs is told its place first"
        sends: list[Effect] = []
        for destination in destinations:
            stream = self._streams[destination]
            while stream.block or stream.before:
                if self._next == NUMBERS:
                    self._begin_anew()
                    continue
                block, stream.block = stream.block[:BLOCK], stream.block[BLOCK:]
                number, self._next = self._next, self._next + 1
                previous = stream.before_number if stream.before else number
                time = int(self._wall()) % UNIX_TIME
                manifest = Manifest(self._id, number, previous, time, block, stream.before)
                sends.append(Send(encode_manifest(manifest, self._signer, self._own, destination), destination))
                stream.before, stream.before_number = block, number
                stream.credit = max(0, stream.credit - SIGNATURE_BYTES)
                if len(stream.block) < BLOCK:
                    break  # the rest waits for more
            stream.since, stream.flush_at = now, now + FLUSH_S
            if not stream.block and not stream.before:
                if is_multicast(destination):
                    stream.flush_at = math.inf  # its credit is kept
                else:
                    del self._streams[destination]
        self._flush_at = min((stream.flush_at for stream in self._streams.values()), default=math.inf)
        return sends

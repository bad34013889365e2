"""A receiver that takes nothing but what its session's sender has signed: between the seal and a protocol, which knows
nothing of it.

Packets wait for the manifest that has them in it, and are handed on in the order in which they were sent, with the
times at which they came; each as often as it was signed, so that nobody plays one again. Packets of a stream that has
a tree of hashes need not wait: once the tree's root is known as the sender's, a checker tells true bytes from others,
and takes none unchecked.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from hosts.endpoint import Address, Datagram, DatagramRun, Effect, ReceiverEndpoint
from hosts.parts.wrapping import WrappedReceiver
from hosts.security.manifest import ROOT_KIND, Manifest, Root, decode_manifest, decode_root, is_manifest, packet_hash
from hosts.security.sealing import UNIX_TIME
from hosts.wire.header import VERSION as COMMON_VERSION
from hosts.wire.tree.checking import TreeChecker

PATIENCE_S: Final = 1.0
"""For which a packet waits to be signed, or a signature for its packet (ours): more than packets are reordered by."""
MOST_HELD: Final = 4096
"""Packets that wait (ours), in front of which a member that floods has to come within a manifest's time."""
MOST_BYTES: Final = 1500 * MOST_HELD
"""Of them together (ours): a datagram may have 64 kB."""
MOST_SIGNED: Final = 8192
"""Hashes whose packets have not come (ours): those of lost ones stay for a while."""
MOST_SIGNERS: Final = 4
"""Starts of the sender that are remembered (ours)."""
WINDOW: Final = 4096
"""Manifests behind the latest one that are known to have come, or not."""
FRESH_S: Final = 300
"""As of sealed packets: the first manifest that is heard of a sender's start, and those before it that come later, are
not of another time (engine/crates/seal)."""

Key = tuple[Address, Address, bytes]
"""Source, destination, hash."""


class _Numbers:
    """A signer's blocks that are known."""

    def __init__(self, first: int) -> None:
        self.first = first
        """That was heard."""
        self._known: set[int] = set()
        self._highest = -1

    def take(self, number: int) -> bool:
        """Whether it is a new one."""
        if number in self._known or number <= self._highest - WINDOW:
            return False
        self._known.add(number)
        if number > self._highest:
            self._highest = number
            if len(self._known) > 2 * WINDOW:
                self._known = {one for one in self._known if one > number - WINDOW}
        return True


class CheckingReceiver(WrappedReceiver):
    """A receiver around a receiver. It counts `signed`, what was handed on, and `drop_unsigned`."""

    def __init__(
        self, core: ReceiverEndpoint, public: bytes, tree_types: frozenset[int], wall: Callable[[], float]
    ) -> None:
        """`public`: the sender's key; `tree_types` as Protocol has them; `wall` as `Sealing` has it."""
        super().__init__(core)
        self._tree_types = tree_types
        self._checker: TreeChecker | None = None
        self._is_pinned = False
        """The checker knows what the sender has signed, and is asked about all packets of the tree."""
        self._public = public
        self._wall = wall
        self._signers: dict[int, _Numbers] = {}
        self._held: dict[Key, deque[Datagram]] = {}
        self._waiting: deque[tuple[float, Key, Datagram]] = deque()
        """Of all that are held, and some that are no more, the oldest first."""
        self._count = 0
        self._held_bytes = 0
        self._waiting_bytes = 0
        self._signed: dict[Key, int] = {}
        """How often each packet that has not come may."""
        self._owed: deque[tuple[float, Key]] = deque()

    def check_by(self, checker: TreeChecker) -> None:
        self._checker = checker
        super().check_by(checker)

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        self._tidy(now)
        if self._is_pinned and self._is_of_tree(datagram.data):
            return super().receive(datagram, now=now)
        if is_manifest(datagram.data):
            return self._hand_on(self._release(datagram, now), now)
        if not self._is_signed(datagram, now):
            return ()
        return self._hand_on([datagram], now)

    def receive_run(self, run: DatagramRun, *, now: float) -> Sequence[Effect]:
        effects: list[Effect] = []
        ready: list[Datagram] = []
        self._tidy(now)
        if self._is_pinned and all(self._is_of_tree(run.data[at:]) for at in range(0, len(run.data), run.size)):
            return super().receive_run(run, now=now)
        for datagram in run.datagrams():
            if is_manifest(datagram.data):
                effects += self._hand_on(ready, now)
                ready = []
                effects += self._hand_on(self._release(datagram, now), now)
            elif (self._is_pinned and self._is_of_tree(datagram.data)) or self._is_signed(datagram, now):
                ready.append(datagram)
        return [*effects, *self._hand_on(ready, now)]

    def _is_signed(self, datagram: Datagram, now: float) -> bool:
        """Whether a packet's signature has come before it; else it waits."""
        key = (datagram.source, datagram.destination, packet_hash(datagram.data))
        left = self._signed.get(key)
        if left is not None:
            if left > 1:
                self._signed[key] = left - 1
            else:
                del self._signed[key]
            return True
        size = len(datagram.data)
        while self._count >= MOST_HELD or self._held_bytes + size > MOST_BYTES:
            self._drop_oldest()
        came = datagram if datagram.arrived_at is not None else datagram._replace(arrived_at=now)
        self._held.setdefault(key, deque()).append(came)
        self._waiting.append((now, key, came))
        self._waiting_bytes += size
        self._keep(1, size)
        return False

    def _keep(self, count: int, size: int) -> None:
        """So many packets more are held, or fewer; bytes of each."""
        self._count += count
        self._held_bytes += count * size

    def _release(self, datagram: Datagram, now: float) -> list[Datagram]:
        """What a manifest lets through."""
        source, destination = datagram.source, datagram.destination
        if datagram.data[1:2] == bytes([ROOT_KIND]):
            return self._release_tree(decode_root(datagram.data, self._public, source, destination))
        manifest = decode_manifest(datagram.data, self._public, source, destination)
        if manifest is None or (numbers := self._numbers_of(manifest)) is None:
            self._drop()
            return []
        released: list[Datagram] = []
        for number, hashes in ((manifest.previous, manifest.before), (manifest.number, manifest.block)):
            if (hashes is manifest.before and not hashes) or not numbers.take(number):
                continue
            for one in hashes:
                key = (source, destination, one)
                held = self._held.get(key)
                if held is not None:
                    released.append(held.popleft())
                    self._keep(-1, len(released[-1].data))
                    if not held:
                        del self._held[key]
                else:
                    self._signed[key] = self._signed.get(key, 0) + 1
                    self._owed.append((now, key))
        return released

    def _is_of_tree(self, packet: bytes) -> bool:
        return len(packet) > 2 and packet[0] == COMMON_VERSION and packet[2] in self._tree_types

    def _release_tree(self, root: Root | None) -> list[Datagram]:
        """What the checker can be asked about from now on."""
        if root is None or not self._is_fresh(root.signed_at):
            self._drop()
            return []
        if self._checker is None or self._is_pinned or root.session != self.session_id:
            return []
        self._checker.pin(root.digest)
        self._is_pinned = True
        released = []
        for _, key, datagram in self._waiting:
            held = self._held.get(key)
            if held is not None and held[0] is datagram and self._is_of_tree(datagram.data):
                released.append(held.popleft())
                self._keep(-1, len(datagram.data))
                if not held:
                    del self._held[key]
        return released

    def _is_fresh(self, signed_at: int) -> bool:
        apart = (int(self._wall()) - signed_at) % UNIX_TIME
        return min(apart, UNIX_TIME - apart) <= FRESH_S

    def _numbers_of(self, manifest: Manifest) -> _Numbers | None:
        """What is known of this start of the sender; None: it is of another time."""
        numbers = self._signers.get(manifest.signer)
        if (numbers is None or manifest.number < numbers.first) and not self._is_fresh(manifest.signed_at):
            return None
        if numbers is None:
            if len(self._signers) >= MOST_SIGNERS:
                del self._signers[next(iter(self._signers))]
            numbers = self._signers[manifest.signer] = _Numbers(manifest.number)
        return numbers

    def _hand_on(self, ready: Sequence[Datagram], now: float) -> Sequence[Effect]:
        """Together what came alike."""
        if not ready:
            return ()
        self.counters["signed"] = self.counters.get("signed", 0) + len(ready)
        effects: list[Effect] = []
        first = 0
        while first < len(ready):
            one, last = ready[first], first + 1
            while last < len(ready) and _follows(ready[last - 1], ready[last], len(one.data)):
                last += 1
            if last == first + 1:
                effects += self.core.receive(one, now=now)
            else:
                data = b"".join(packet.data for packet in ready[first:last])
                times = [packet.arrived_at for packet in ready[first:last] if packet.arrived_at is not None]
                came = tuple(enumerate(times)) if len(times) == last - first else ()
                run = DatagramRun(data, len(one.data), *one[1:4], ready[last - 1].arrived_at, *one[4:], came=came)
                effects += self.core.receive_run(run, now=now)
            first = last
        return self._passed(effects, now)

    def _tidy(self, now: float) -> None:
        """Forget what has waited long enough."""
        while self._waiting and (
            now - self._waiting[0][0] > PATIENCE_S
            or len(self._waiting) > 4 * MOST_HELD
            or self._waiting_bytes > 4 * MOST_BYTES
        ):
            self._drop_oldest()
        while self._owed and (now - self._owed[0][0] > PATIENCE_S or len(self._owed) > MOST_SIGNED):
            _, key = self._owed.popleft()
            left = self._signed.get(key, 0)
            if left > 1:
                self._signed[key] = left - 1
            elif left:
                del self._signed[key]

    def _drop_oldest(self) -> None:
        _, key, datagram = self._waiting.popleft()
        self._waiting_bytes -= len(datagram.data)
        held = self._held.get(key)
        if held is None or held[0] is not datagram:
            return  # it was handed on
        held.popleft()
        self._keep(-1, len(datagram.data))
        self._drop()
        if not held:
            del self._held[key]

    def _drop(self) -> None:
        self.counters["drop_unsigned"] = self.counters.get("drop_unsigned", 0) + 1


def _follows(one: Datagram, other: Datagram, size: int) -> bool:
    """Whether they may be one run, all of whose packets but the last have `size` bytes."""
    return len(one.data) == size and 0 < len(other.data) <= size and one[1:3] == other[1:3] and one[4:] == other[4:]

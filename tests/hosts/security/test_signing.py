"""What a signing sender adds to what a protocol sends: stood in for by one that sends what it is told to."""

import hashlib
import random
from collections.abc import Sequence

from canopy_engine import Signer

from hosts.endpoint import Address, Effect, Send, SenderEndpoint, SendRun
from hosts.security.manifest import BLOCK, Manifest, decode_manifest, decode_root, is_manifest, packet_hash
from hosts.security.signing import CREDIT_BYTES, FLUSH_S, LEAST_S, MOST_CREDIT, ROOT_S, SIGNATURE_BYTES, SigningSender
from hosts.wire.tree.layout import TreeLayout

SIGNER = Signer(bytes(range(32)))
OWN, GROUP, ONE = Address("10.0.0.1", 4000), Address("239.1.1.1", 5000), Address("10.0.0.2", 4001)


class Told(SenderEndpoint):
    """Sends at each timer what it was told."""

    def __init__(self) -> None:
        self.counters = {}
        self.next: list[Effect] = []
        self.is_closed = False
        self.wakes: float | None = None
        self.checked: int | None = None

    def place(self, address: Address) -> None:
        """Nothing to keep."""

    def handle_timer(self, *, now: float) -> Sequence[Effect]:
        sent, self.next = self.next, []
        return sent

    def write(self, data: bytes | memoryview, *, now: float) -> Sequence[Effect]:
        return ()

    @property
    def session_id(self) -> int:
        return 7

    @property
    def checked_bytes(self) -> tuple[int, int] | None:
        return None if self.checked is None else (self.checked, 64)

    @property
    def wake_at(self) -> float | None:
        return self.wakes

    @property
    def closed(self) -> bool:
        return self.is_closed


class Sender:
    """One that signs, and what it has sent."""

    def __init__(self) -> None:
        self.core = Told()  # type: ignore[abstract]
        self.signing = SigningSender(self.core, SIGNER, GROUP, frozenset({1}), random.Random(1), lambda: 1.8e9)
        self.signing.place(OWN)

    def send(self, now: float, *effects: Effect) -> list[Manifest]:
        """The manifests of a step, each behind what it is of."""
        self.core.next = list(effects)
        sent = list(self.signing.handle_timer(now=now))
        assert sent[: len(effects)] == list(effects)
        found = []
        for effect in sent[len(effects) :]:
            assert isinstance(effect, Send)
            assert is_manifest(effect.data)
            manifest = decode_manifest(effect.data, SIGNER.public, OWN, effect.destination)
            assert manifest is not None
            found.append(manifest)
        return found


def test_a_packet_is_signed_a_little_later_and_once_more_and_then_no_more() -> None:
    sender = Sender()
    assert sender.send(1.0, Send(b"one", GROUP)) == []
    assert sender.signing.wake_at == 1.0 + LEAST_S
    (first,) = sender.send(1.0 + LEAST_S)
    assert (first.block, first.before, first.signed_at) == ([packet_hash(b"one")], [], 1_800_000_000)
    again = 1.0 + LEAST_S + FLUSH_S
    assert sender.signing.wake_at == again
    (second,) = sender.send(again)
    assert (second.block, second.before, second.previous) == ([], first.block, first.number)
    assert second.number > first.number
    assert sender.send(again + FLUSH_S) == []
    assert sender.signing.wake_at is None


def test_without_numbers_left_it_goes_on_as_another_start() -> None:
    sender = Sender()
    sender.signing._next = 2**32 - 1
    (last,) = sender.send(1.0, Send(b"one", ONE))
    (first,) = sender.send(1.01, Send(b"two", ONE))
    assert (last.number, first.number, first.previous) == (2**32 - 1, 0, 0)
    assert last.signer != first.signer
    assert (first.block, first.before) == ([packet_hash(b"two")], [])
    (again,) = sender.send(1.01 + FLUSH_S)
    assert (again.signer, again.before) == (first.signer, first.block)


def test_a_full_block_is_signed_at_once() -> None:
    sender = Sender()
    data = random.Random(1).randbytes(BLOCK * 10 - 3)
    (manifest,) = sender.send(1.0, SendRun(data, GROUP, 0, 10))
    assert manifest.block == [packet_hash(data[at : at + 10]) for at in range(0, len(data), 10)]
    (more,) = sender.send(1.001, SendRun(bytes(BLOCK), GROUP, 0, 1))
    assert (more.before, more.previous) == (manifest.block, manifest.number)
    many = sender.send(1.002, SendRun(bytes(3 * BLOCK + 5), GROUP, 0, 1))
    assert [len(one.block) for one in many] == [BLOCK] * 3


def sent_for(seconds: float, every: float) -> tuple[int, int, float]:
    """Packets and manifests of so long, a packet every so many seconds, and the longest wait for a signature."""
    sender, packets, manifests, longest, oldest = Sender(), 0, 0, 0.0, 0.0
    for step in range(round(seconds * 1000)):
        now = 1.0 + step / 1000
        sends = [Send(str(step).encode(), GROUP)] if step % round(every * 1000) == 0 else []
        oldest = now if sends and not oldest else oldest
        found = sender.send(now, *sends)
        packets, manifests = packets + len(sends), manifests + len(found)
        if found:
            longest, oldest = max(longest, now - oldest if oldest else 0.0), 0.0
    return packets, manifests, longest


def test_a_session_begins_without_waiting_and_then_its_packets_grow_by_forty_bytes() -> None:
    packets, manifests, longest = sent_for(0.04, 0.001)
    assert manifests >= packets // 2 - 1
    assert longest <= LEAST_S + 1e-9
    packets, manifests, longest = sent_for(10.0, 0.001)
    assert manifests * SIGNATURE_BYTES <= packets * CREDIT_BYTES + MOST_CREDIT + SIGNATURE_BYTES
    assert longest <= 0.01
    packets, manifests, longest = sent_for(10.0, 0.004)
    assert longest <= FLUSH_S + 0.001


def test_destinations_have_manifests_of_their_own() -> None:
    sender = Sender()
    other = Address("239.1.1.2", 5000)
    sender.send(1.0, Send(b"one", GROUP), Send(b"two", other))
    first, second = sender.send(1.0 + FLUSH_S)
    assert [first.block, second.block] == [[packet_hash(b"one")], [packet_hash(b"two")]]
    assert first.number != second.number


def test_who_ends_leaves_nothing_unsigned() -> None:
    sender = Sender()
    sender.send(1.0, Send(b"one", GROUP))
    sender.core.is_closed = True
    first, second = sender.send(1.001, Send(b"abort", GROUP))
    assert first.block == second.before == [packet_hash(b"one"), packet_hash(b"abort")]


def test_what_goes_to_one_receiver_does_not_wait() -> None:
    sender = Sender()
    (manifest,) = sender.send(1.0, Send(b"probe", ONE))
    assert manifest.block == [packet_hash(b"probe")]


def test_of_a_stream_with_a_tree_the_root_is_signed_again_and_again_and_its_packets_are_not() -> None:
    sender = Sender()
    sender.core.checked = 100
    layout = TreeLayout(100, 5000, 1)
    first = layout.write(bytes(80))
    assert not sender.signing.write(first[:60], now=1.0)
    (send,) = sender.signing.write(first[60:] + b"more", now=1.0)
    assert isinstance(send, Send)
    root = decode_root(send.data, SIGNER.public, OWN, GROUP)
    assert root is not None
    assert (root.session, root.digest, send.destination) == (7, hashlib.sha256(first).digest(), GROUP)
    data, announce = b"\x01\x05\x01\x00data", b"\x01\x05\x03\x00announce"
    assert sender.send(1.1, SendRun(data * 3, GROUP, 0, len(data)), Send(announce, GROUP)) == []
    (manifest,) = sender.send(1.12)
    assert manifest.block == [packet_hash(announce)]
    assert sender.signing.wake_at is not None
    sender.send(1.2)
    assert sender.signing.wake_at == 1.0 + ROOT_S
    again = sender.signing.handle_timer(now=1.0 + ROOT_S)
    assert [isinstance(one, Send) and decode_root(one.data, SIGNER.public, OWN, GROUP) for one in again] == [root]


def test_of_a_stream_without_one_every_packet_is_signed() -> None:
    sender = Sender()
    sender.core.checked = 100
    assert not sender.signing.write(bytes(300), now=1.0)
    sender.send(1.0, Send(b"\x01\x05\x01\x00data", GROUP))
    assert len(sender.send(1.1)) == 1


def test_the_protocol_s_own_timer_stays() -> None:
    sender = Sender()
    sender.core.wakes = 1.001
    sender.send(1.0, Send(b"one", GROUP))
    assert sender.signing.wake_at == 1.001


def test_it_costs_less_than_forty_bytes_a_packet() -> None:
    """Behind 10 Mbit/s, and faster; IP, UDP and seal of the manifests counted."""
    for rate_bps, least in ((10e6, 0.0), (1e9, 0.0)):
        sender, sent, packets, now = Sender(), 0, 0, 0.0
        while packets < 2000:
            now += 8 * 1500 / rate_bps
            packets += 1
            sender.core.next = [Send(packets.to_bytes(4, "big"), GROUP)]
            for effect in sender.signing.handle_timer(now=now)[1:]:
                assert isinstance(effect, Send)
                sent += len(effect.data) + 36 + 28
        assert least < sent / packets < 40, rate_bps

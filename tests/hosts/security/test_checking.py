"""What a checking receiver hands on: to one that keeps what it is given."""

import hashlib
import random
from collections.abc import Sequence

import pytest
from canopy_engine import Signer
from hypothesis import given
from hypothesis import strategies as st

from hosts.endpoint import Address, Datagram, DatagramRun, Effect, ReceiverEndpoint
from hosts.security import checking
from hosts.security.checking import MOST_HELD, PATIENCE_S, CheckingReceiver
from hosts.security.manifest import Manifest, Root, encode_manifest, encode_root, packet_hash
from hosts.wire.tree.checking import TreeChecker
from hosts.wire.tree.layout import TreeLayout

SIGNER = Signer(bytes(range(32)))
SOURCE, OTHER, GROUP = Address("10.0.0.1", 4000), Address("10.0.0.9", 4000), Address("239.1.1.1", 5000)
NOW_S = 1_800_000_000


class Keeping(ReceiverEndpoint):
    """Keeps packets, and how they came."""

    def __init__(self) -> None:
        self.counters = {}
        self.got: list[bytes] = []
        self.times: list[float | None] = []
        self.runs = 0

    @property
    def session_id(self) -> int:
        return 7

    def receive(self, datagram: Datagram, *, now: float) -> Sequence[Effect]:
        self.got.append(datagram.data)
        self.times.append(datagram.arrived_at)
        return ()

    def receive_run(self, run: DatagramRun, *, now: float) -> Sequence[Effect]:
        self.runs += 1
        return super().receive_run(run, now=now)


class Receiver:
    """One that checks, and a sender's manifests for it."""

    def __init__(self) -> None:
        self.core = Keeping()  # type: ignore[abstract]
        self.wall = float(NOW_S)
        self.checking = CheckingReceiver(self.core, SIGNER.public, frozenset({1}), lambda: self.wall)
        self.next = 0

    def get(self, data: bytes, now: float = 1.0, source: Address = SOURCE, to: Address = GROUP) -> list[bytes]:
        """All that has been handed on so far."""
        self.checking.receive(Datagram(data, source, to), now=now)
        return self.core.got

    def sign(self, *packets: bytes, before: Sequence[bytes] = (), signer: int = 1, to: Address = GROUP) -> bytes:
        number, self.next = self.next, self.next + 1
        hashes = [[packet_hash(one) for one in some] for some in (packets, before)]
        manifest = Manifest(signer, number, number - 1 if before else number, NOW_S, *hashes)
        return encode_manifest(manifest, SIGNER, SOURCE, to)


def test_packets_wait_for_their_signature_and_keep_their_time() -> None:
    receiver = Receiver()
    assert receiver.get(b"one", 1.0) == receiver.get(b"two", 1.1) == []
    assert receiver.get(receiver.sign(b"one", b"two"), 1.2) == [b"one", b"two"]
    assert receiver.core.times == [1.0, 1.1]
    assert receiver.core.counters == {"signed": 2}


def test_a_signature_may_come_first_and_packets_in_any_order() -> None:
    receiver = Receiver()
    receiver.get(b"two")
    receiver.get(receiver.sign(b"one", b"two", b"three"))
    assert receiver.get(b"three") == [b"two", b"three"]
    assert receiver.get(b"one") == [b"two", b"three", b"one"]


def test_a_lost_manifest_s_packets_are_in_the_next_and_come_once() -> None:
    receiver = Receiver()
    receiver.get(b"one")
    receiver.sign(b"one")
    both = receiver.sign(b"two", before=[b"one"])
    assert receiver.get(both) == [b"one"]
    assert receiver.get(receiver.sign(before=[b"two"])) == [b"one"]
    assert receiver.get(b"two") == [b"one", b"two"]
    receiver.get(both)
    assert receiver.get(b"one") == receiver.get(b"two") == [b"one", b"two"]


def test_the_same_packet_comes_as_often_as_it_was_signed() -> None:
    receiver = Receiver()
    receiver.get(receiver.sign(b"hello", b"hello"))
    for _ in range(4):
        receiver.get(b"hello")
    assert receiver.core.got == [b"hello"] * 2


def test_what_the_sender_has_not_signed_never_comes() -> None:
    receiver = Receiver()
    signed = receiver.sign(b"one")
    forger = Receiver()
    forged = encode_manifest(Manifest(1, 5, 5, NOW_S, [packet_hash(b"evil")], []), Signer(bytes(32)), SOURCE, GROUP)
    for packet in (b"evil", forged, signed, b"evil", signed[:-1], b"\x03", b""):
        receiver.get(packet)
        forger.get(packet, source=OTHER)
    receiver.get(b"one", source=OTHER)
    receiver.get(b"one", to=OTHER)
    assert receiver.core.got == forger.core.got == []
    assert receiver.get(b"one") == [b"one"]
    receiver.get(b"late", 1.0 + 2 * PATIENCE_S)
    assert receiver.core.counters["drop_unsigned"] == 8


def test_a_recording_of_another_time_is_none() -> None:
    receiver = Receiver()
    receiver.wall += 301
    receiver.get(b"one")
    assert receiver.get(receiver.sign(b"one")) == []
    receiver.wall -= 1
    assert receiver.get(receiver.sign(b"one")) == [b"one"]
    receiver.wall += 9999
    assert receiver.get(b"two") == [b"one"]
    assert receiver.get(receiver.sign(b"two")) == [b"one", b"two"], "who is known may have any clock"
    late = Receiver()
    before, first = late.sign(b"before"), late.sign(b"first")
    late.get(first)
    late.wall += 301
    late.get(b"before")
    assert late.get(before) == [], "a recording of before the first that was heard"
    late.wall -= 1
    assert late.get(before) == [b"before"]


def test_runs_stay_together() -> None:
    receiver = Receiver()
    pieces = [b"%04d" % number for number in range(20)]
    receiver.checking.receive_run(DatagramRun(b"".join(pieces) + b"x", 4, SOURCE, GROUP, 1.0, 1.0), now=1.0)
    assert receiver.get(receiver.sign(*pieces, b"x")) == [*pieces, b"x"]
    assert receiver.core.runs == 1
    receiver.get(receiver.sign(*pieces))
    receiver.checking.receive_run(DatagramRun(b"".join(pieces), 4, SOURCE, GROUP, 2.0, 2.0), now=2.0)
    assert receiver.core.runs == 2
    manifest = receiver.sign(b"y" * 4)
    whole = DatagramRun(b"y" * 4 + manifest, 4, SOURCE, GROUP, 3.0, 3.0)
    for datagram in (DatagramRun(manifest, len(manifest), SOURCE, GROUP), whole.split(1)[0]):
        receiver.checking.receive_run(datagram, now=3.0)
    assert receiver.core.got[-1] == b"yyyy"


def test_packets_of_a_tree_wait_for_its_root_and_then_the_checker_is_asked() -> None:
    receiver, checker = Receiver(), TreeChecker()
    receiver.checking.check_by(checker)
    first, packet = TreeLayout(100, 5000, 1).write(bytes(80)), b"\x01\x05\x01\x00data"
    assert receiver.get(packet) == []
    for root in (
        Root(1, 8, NOW_S, hashlib.sha256(first).digest()),
        Root(1, 7, NOW_S - 301, hashlib.sha256(first).digest()),
    ):
        assert receiver.get(encode_root(root, SIGNER, SOURCE, GROUP)) == []
    right = Root(1, 7, NOW_S, hashlib.sha256(first).digest())
    assert receiver.get(encode_root(right, Signer(bytes(32)), SOURCE, GROUP)) == []
    assert receiver.get(encode_root(right, SIGNER, SOURCE, GROUP)) == [packet]
    assert not checker.takes(0, bytes(100), end=False)
    assert checker.takes(0, first, end=False)
    assert receiver.get(encode_root(right._replace(digest=bytes(32)), SIGNER, SOURCE, GROUP)) == [packet]
    assert checker.takes(0, first, end=False), "the first one stays"
    assert receiver.get(b"\x01\x05\x01\x00more") == [packet, b"\x01\x05\x01\x00more"]
    assert receiver.get(b"\x01\x05\x03\x00announce") == [packet, b"\x01\x05\x01\x00more"]
    receiver.checking.receive_run(DatagramRun(packet * 3, len(packet), SOURCE, GROUP, 1.0, 1.0), now=1.0)
    assert receiver.core.runs == 1


def test_what_waits_is_bounded_in_bytes_whatever_is_handed_on() -> None:
    receiver = Receiver()
    for number in range(900):
        packet = b"%d" % number + bytes(60_000)
        receiver.get(packet, to=GROUP)
        if number % 3 == 0:
            receiver.get(receiver.sign(packet))
        checks = receiver.checking
        assert checks._held_bytes == sum(len(one.data) for held in checks._held.values() for one in held)
        assert checks._held_bytes <= checking.MOST_BYTES
        assert sum(len(one.data) for _, _, one in checks._waiting) <= 4 * checking.MOST_BYTES + 60_003
    assert len(receiver.core.got) == 300
    assert len(receiver.checking._held) == 102


def test_what_waits_is_bounded() -> None:
    receiver = Receiver()
    for number in range(MOST_HELD + 100):
        receiver.get(b"%d" % number)
    assert receiver.checking._count == MOST_HELD
    assert receiver.core.counters["drop_unsigned"] == 100
    for number in range(400):
        receiver.get(receiver.sign(*(b"%d.%d" % (number, one) for one in range(48))), 1.5)
    assert len(receiver.checking._signed) <= checking.MOST_SIGNED + 48
    receiver.get(b"later", 1.5 + 2 * PATIENCE_S)
    assert (receiver.checking._count, len(receiver.checking._held), len(receiver.checking._signed)) == (1, 1, 0)
    for number in range(1_000):
        receiver.get(receiver.sign(signer=number % 9), 9.0)
    assert len(receiver.checking._signers) <= checking.MOST_SIGNERS
    numbers = checking._Numbers(0)
    assert all(numbers.take(number) for number in range(3 * checking.WINDOW))
    assert len(numbers._known) <= 2 * checking.WINDOW


@given(st.data())
def test_whatever_comes_in_whatever_order_what_is_handed_on_was_signed_so_often(data: st.DataObject) -> None:
    receiver, rng = Receiver(), random.Random(data.draw(st.integers(0, 1 << 20)))
    blocks = [[b"%d" % rng.randrange(30) for _ in range(rng.randint(1, 5))] for _ in range(6)]
    sent: list[bytes] = []
    for number, block in enumerate(blocks):
        sent += [*block, receiver.sign(*block, before=blocks[number - 1] if number else ())]
    sent.append(receiver.sign(before=blocks[-1]))
    came = [one for one in sent if rng.random() > 0.2]
    came += [b"evil%d" % number for number in range(5)]
    rng.shuffle(came)
    for packet in came:
        receiver.get(packet)
    signed = [one for block in blocks for one in block]
    assert all(receiver.core.got.count(one) <= signed.count(one) for one in set(receiver.core.got))
    if rng.random() < 0.5:  # with nothing lost, all of it comes
        for packet in sent:
            receiver.get(packet)
        assert sorted(receiver.core.got) == sorted(signed)


@pytest.mark.parametrize("name", ["signed", "drop_unsigned"])
def test_it_counts_into_the_protocol_s_counters(name: str) -> None:
    receiver = Receiver()
    assert receiver.checking.counters is receiver.core.counters
    assert name not in receiver.core.counters

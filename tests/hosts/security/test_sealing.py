"""What goes through `Sealing`, and what an implementation that is not ours makes of it."""

import random
import struct
from collections import Counter

import pytest
from canopy_engine import Seal
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from hosts import protocols
from hosts.endpoint import Address, Datagram, DatagramRun, JoinGroup, Send, SendRun
from hosts.protocols.mtcp.packets import (
    FEEDBACK,
    FLAG_MERGED,
    Feedback,
    encode_data,
    encode_feedback,
    encode_repair,
    parse,
)
from hosts.protocols.mtcp.tree_packets import encode_query
from hosts.security.hop import HopKeys, Hops
from hosts.security.keys import GroupKeys
from hosts.security.sealing import Sealing
from hosts.wire.header import ECT_0, HEADED_VERSION, SEAL_BYTES, SEALED_VERSION, VERSION
from hosts.wire.sealed import HOP, SEAL, Hop
from tests.p4src.models import halfsiphash

SECRET = bytes(range(32))
KEYS = GroupKeys([(7, SECRET)])
ONE, TWO, GROUP = Address("10.0.0.1", 4001), Address("10.0.0.2", 4002), Address("239.1.1.1", 5000)
PACKET = b"\x01\x05\x06\x00and more"


class Member:
    """A sealing at an address, with a clock."""

    def __init__(self, own: Address, seed: int, keys: GroupKeys = KEYS) -> None:
        self.own = own
        self.time = 1.8e9
        self.counters: Counter[str] = Counter()
        self.sealing = Sealing(keys, random.Random(seed), lambda: self.time, self.counters)
        self.sealing.place(own)

    def send(self, packet: bytes, to: Address = GROUP) -> bytes:
        (effect,) = self.sealing.seal([Send(packet, to)])
        assert isinstance(effect, Send)
        return effect.data

    def get(self, sealed: bytes, source: Address = ONE, to: Address = GROUP) -> bytes | None:
        opened = self.sealing.open(Datagram(sealed, source, to))
        return None if opened is None else opened.data


def test_what_is_sealed_is_opened_with_all_else_as_it_was() -> None:
    one, two = Member(ONE, 1), Member(TWO, 2)
    join = JoinGroup(GROUP, None)
    first, send = one.sealing.seal([join, Send(PACKET, TWO, ECT_0)])
    assert first is join
    assert isinstance(send, Send)
    assert (send.destination, send.ecn, len(send.data)) == (TWO, ECT_0, len(PACKET) + SEAL_BYTES)
    assert PACKET[4:] not in send.data
    came = Datagram(send.data, ONE, TWO, 3.0, 2, ECT_0)
    assert two.sealing.open(came) == came._replace(data=PACKET)
    assert two.counters == {"opened": 1}


def test_a_run_is_sealed_packet_by_packet_and_comes_back_as_one() -> None:
    one, two = Member(ONE, 1), Member(TWO, 2)
    (sent,) = one.sealing.seal([SendRun(b"onetwo3", GROUP, ECT_0, 3)])
    assert isinstance(sent, SendRun)
    assert (sent.size, sent.packets, sent.destination, sent.ecn) == (3 + SEAL_BYTES, 3, GROUP, ECT_0)
    came = DatagramRun(sent.data, sent.size, ONE, GROUP, 1.0, 2.0, None, ECT_0)
    assert two.get(came.datagram(1).data) == b"two"
    assert [(one.data, one.arrived_at) for one in two.sealing.open_run(came)] == [(b"one", 1.0), (b"3", 2.0)]
    assert two.counters == {"opened": 3, "drop_replayed": 1}
    assert Member(TWO, 3).sealing.open_run(came) == [came._replace(data=b"onetwo3", size=3)]


def test_of_a_run_what_is_wrong_is_dropped_and_counted_alone() -> None:
    one, two = Member(ONE, 1), Member(TWO, 2)
    (sent,) = one.sealing.seal([SendRun(b"onetwo3", GROUP, ECT_0, 3)])
    assert isinstance(sent, SendRun)
    changed = bytearray(sent.data)
    changed[sent.size + 25] ^= 1
    came = DatagramRun(bytes(changed), sent.size, ONE, GROUP, 1.0, 2.0)
    assert [(one.data, one.arrived_at) for one in two.sealing.open_run(came)] == [(b"one", 1.0), (b"3", 2.0)]
    assert two.counters == {"opened": 2, "drop_forged": 1}
    assert [one.data for one in Member(TWO, 3).sealing.open_run(came._replace(size=20))] == []
    empty = b"".join(one.send(b"") for _ in range(2))
    assert [one.data for one in two.sealing.open_run(DatagramRun(empty, SEAL_BYTES, ONE, GROUP))] == [b"", b""]


def test_a_run_of_which_some_have_open_heads_is_sealed_one_by_one() -> None:
    helped, two = Helped(ONE, 1), Helped(TWO, 2)
    data = encode_data(7, False, 1, 0, 0, bytes(20), 1)
    (sent,) = helped.sealing.seal([SendRun(data + data, GROUP, ECT_0, len(data))])
    assert isinstance(sent, SendRun)
    assert sent.data[0] == sent.data[sent.size] == HEADED_VERSION
    came = DatagramRun(sent.data, sent.size, ONE, GROUP)
    assert two.sealing.open_run(came) == [came._replace(data=data + data, size=len(data))]


def test_what_keeps_it_shut_is_counted() -> None:
    one, two, stranger = Member(ONE, 1), Member(TWO, 2), Member(ONE, 3, GroupKeys([(7, bytes(32))]))
    packet = one.send(PACKET)
    assert two.get(packet, source=TWO) is None
    assert two.get(packet, to=TWO) is None
    assert two.get(stranger.send(PACKET)) is None
    assert two.get(Member(ONE, 4, GroupKeys([(8, SECRET)])).send(PACKET)) is None
    assert two.get(PACKET) is None
    assert one.get(packet) is None
    two.time += 301
    assert two.get(packet) is None
    two.time -= 1
    assert two.get(packet) == PACKET
    assert two.get(packet) is None
    counted = {"drop_forged": 3, "drop_epoch": 1, "drop_open": 1, "drop_stale": 1, "drop_replayed": 1, "opened": 1}
    assert two.counters == counted
    assert one.counters == {"drop_own": 1}


@given(st.binary(max_size=80) | st.binary(max_size=80).map(lambda rest: bytes([SEALED_VERSION, 1, 1, 7]) + rest))
def test_no_bytes_but_a_member_s_are_opened(data: bytes) -> None:
    assert Member(TWO, 2).get(data) is None


@given(st.data())
def test_no_other_packet_comes_of_a_member_s(data: st.DataObject) -> None:
    packet = bytearray(Member(ONE, 1).send(PACKET))
    place = data.draw(st.integers(0, len(packet) - 1))
    packet[place] ^= data.draw(st.integers(1, 255))
    assert Member(TWO, 2).get(bytes(packet)) is None


@given(st.permutations(range(40)), st.lists(st.integers(0, 39), max_size=20))
def test_each_packet_is_opened_once_in_any_order(order: list[int], again: list[int]) -> None:
    one, two = Member(ONE, 1), Member(TWO, 2)
    packets = [one.send(b"%d" % number) for number in range(40)]
    opened = [two.get(packets[number]) for number in (*order, *again)]
    assert opened == [b"%d" % number for number in order] + [None] * len(again)


@given(st.lists(st.booleans(), max_size=6))
def test_epochs_that_follow_one_another_open_each_other_s(rolled_first: list[bool]) -> None:
    """One of two members has a new epoch's file before the other."""
    keys = [KEYS, KEYS]
    for number, who in enumerate(rolled_first):
        new = keys[who].rolled(bytes([number]) * 32)
        one, two = Member(ONE, 2 * number), Member(TWO, 2 * number + 1)
        keys[who] = new
        one, two = Member(ONE, 2 * number, keys[who]), Member(TWO, 2 * number + 1, keys[not who])
        assert one.get(two.send(PACKET), TWO) == PACKET, "who is ahead opens what is behind"
        assert two.get(one.send(PACKET)) is None
        keys[not who] = new
        one, two = Member(ONE, 2 * number, new), Member(TWO, 2 * number + 1, new)
        assert two.get(one.send(PACKET)) == PACKET


def test_starts_seal_under_numbers_of_their_own() -> None:
    packets = {Member(ONE, seed).send(PACKET)[4:12] for seed in range(100)}
    assert len(packets) == 100


def independent(packet: bytes, source: Address, to: Address, secret: bytes, header: bytes) -> bytes:
    """docs/security.md's format, written with the `cryptography` package."""
    key = HKDF(hashes.SHA256(), 32, b"canopy seal 1", header[4:12]).derive(secret)
    addresses = b"".join(
        struct.pack("!4BH", *map(int, address.host.split(".")), address.port) for address in (source, to)
    )
    return header + AESGCM(key).encrypt(bytes(8) + header[12:16], packet, header + addresses)


@pytest.mark.parametrize("packet", [PACKET, b"", b"\x10\x00\x03\x04LCT's", bytes(1436)])
def test_the_format_is_what_the_document_says(packet: bytes) -> None:
    seal = Seal(KEYS.epochs, 0x0102030405060708)
    for counter in range(3):
        sealed = seal.seal(packet, ONE, GROUP, 1_800_000_000)
        kind = packet[1:3] if packet[:1] == b"\x01" else bytes(2)
        header = struct.pack("!B2sBQII", 2, kind, 7, 0x0102030405060708, counter, 1_800_000_000)
        assert sealed == independent(packet, ONE, GROUP, SECRET, header)


def test_without_a_number_left_another_one_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = Member(ONE, 1), Member(TWO, 2)
    first = one.send(PACKET)

    class Spent:
        left = 0

        def renew(self, sender: int) -> None:
            one.sealing._seal = Seal(KEYS.epochs, sender)

    monkeypatch.setattr(one.sealing, "_seal", Spent())
    second = one.send(PACKET)
    assert first[4:12] != second[4:12]
    assert two.get(first) == two.get(second) == PACKET


HOST_KEYS = HopKeys(outward=11, inward=22)
CHILD = 3


class Helped(Member):
    """One whose session's switches merge feedback, behind a port with keys."""

    def __init__(
        self, own: Address, seed: int, hop_keys: HopKeys | None = HOST_KEYS, *, is_helped: bool = True
    ) -> None:
        super().__init__(own, seed)
        hops = Hops(hop_keys, lambda: self.time)
        heads = protocols.get("mtcp").open_heads
        self.sealing = Sealing(
            KEYS, random.Random(seed), lambda: self.time, self.counters, heads, hops, is_helped=is_helped
        )
        self.sealing.place(own)


def feedback(**more: object) -> bytes:
    return encode_feedback(7, False, 40, 1, 2, 3, 4, 5, 6, 7, merge=True, number=CHILD, **more)  # type: ignore[arg-type]


def by_a_switch(packet: bytes, source: Address, to: Address, *, key: int = HOST_KEYS.inward, counter: int = 1) -> bytes:
    """What a switch that has merged something makes of sealed feedback, by the model."""
    head = packet[: FEEDBACK.size]
    ends = b"".join(bytes(map(int, address.host.split("."))) for address in (source, to))
    ports = struct.pack("!HH", source.port, to.port)
    tag = halfsiphash.hop_tag(key, counter.to_bytes(8, "big") + ends + ports + head)
    return packet[: -HOP.size] + HOP.pack(Hop(counter, tag))


def test_a_head_is_open_and_the_rest_is_not() -> None:
    one, two = Helped(ONE, 1), Helped(TWO, 2, is_helped=False)
    data = encode_data(7, False, 99, 5, 0, b"what nobody else reads")
    sealed = one.send(data)
    assert (sealed[0], sealed[1:12]) == (HEADED_VERSION, data[1:12])
    assert b"nobody" not in sealed
    assert len(sealed) == len(data) + SEAL_BYTES
    changed = bytearray(sealed)
    changed[10] ^= 1  # the number
    assert two.get(bytes(changed)) is None
    assert two.get(sealed) == data
    assert two.get(sealed) is None
    assert Helped(ONE, 3, is_helped=False).send(data)[0] == SEALED_VERSION, "only where switches help"
    assert one.send(encode_query(7, 1))[0] == SEALED_VERSION, "only what they read"
    assert two.counters == {"drop_forged": 1, "opened": 1, "drop_replayed": 1}


def test_a_repair_may_be_copied_to_others_and_changed_by_nobody() -> None:
    one, two = Helped(ONE, 1), Helped(TWO, 2)
    data = encode_data(7, False, 99, 5, 0, b"x" * 50)
    shared, own = (encode_repair(data, 6, merge=merge) for merge in (True, False))
    sealed = one.send(shared, TWO)
    elsewhere = Address("10.0.0.9", 9)
    third = Helped(elsewhere, 3)
    assert two.get(sealed, to=TWO) == shared
    assert third.get(sealed, to=elsewhere) == shared
    assert third.get(one.send(own, TWO), to=elsewhere) is None


def test_feedback_that_nobody_merged_is_its_authors() -> None:
    child, parent = Helped(ONE, 1), Helped(TWO, 2)
    packet = feedback()
    sealed = child.send(packet, TWO)
    assert len(sealed) == FEEDBACK.size + 40
    for place in range(1, FEEDBACK.size + SEAL.size):
        if place in range(54, 56) or place in (2, 3):
            continue  # `repeats`, and the type and flags that say how it is sealed
        changed = bytearray(sealed)
        changed[place] ^= 0x40
        assert parent.get(bytes(changed), to=TWO) is None, place
    assert parent.get(sealed, to=TWO) == packet
    assert parent.get(sealed, to=TWO) is None
    nobody = Helped(Address("10.0.0.8", 8), 4, None)
    assert parent.get(nobody.send(packet, TWO), nobody.own, TWO) == packet, "without keys it passes as it is"


def test_what_a_switch_changes_in_passing_counts_when_it_vouches_for_that() -> None:
    child, parent = Helped(ONE, 1), Helped(TWO, 2)
    place = protocols.get("mtcp").open_heads[3].changed[0]
    for counter, (key, told) in enumerate([(HOST_KEYS.inward, 5), (99, 0)], start=1):
        changed = bytearray(child.send(feedback(), TWO))
        changed[place] = (5).to_bytes(2, "big")
        opened = parent.get(by_a_switch(bytes(changed), ONE, TWO, key=key, counter=counter), to=TWO)
        assert opened is not None
        assert parse(opened).repeats == told  # type: ignore[union-attr]


def test_what_was_merged_is_taken_from_the_last_switch_alone_and_once() -> None:
    child, parent = Helped(ONE, 1), Helped(TWO, 2)
    summary = bytearray(child.send(feedback(), TWO))
    summary[3] |= FLAG_MERGED
    summary[11] = 77  # what all have
    sealed = by_a_switch(bytes(summary), ONE, TWO, counter=5)
    opened = parent.get(sealed, to=TWO)
    assert opened is not None
    told = parse(opened)
    assert isinstance(told, Feedback)
    assert (told.merged, told.cumulative) == (True, 77)
    for wrong in (
        sealed,
        by_a_switch(bytes(summary), ONE, TWO, counter=4),
        by_a_switch(bytes(summary), ONE, TWO, key=HOST_KEYS.outward, counter=6),
        bytes(summary),
    ):
        assert parent.get(wrong, to=TWO) is None
    assert parent.get(by_a_switch(bytes(summary), ONE, GROUP, counter=7), to=GROUP) is None, "not for a group"
    assert Helped(TWO, 3, None).get(by_a_switch(bytes(summary), ONE, TWO, counter=8), to=TWO) is None
    assert parent.counters == {"opened": 1, "opened_merged": 1, "drop_hop": 5}


def test_runs_of_feedback_come_back_as_runs_and_mixed_ones_one_by_one() -> None:
    child, parent = Helped(ONE, 1), Helped(TWO, 2)
    packets = [feedback(), feedback(), feedback()]
    sealed = [child.send(packet, TWO) for packet in packets]
    size = len(sealed[0])
    run = DatagramRun(b"".join(sealed), size, ONE, TWO, 1.0, 2.0, None, ECT_0)
    assert parent.sealing.open_run(run) == [run._replace(data=b"".join(packets), size=len(packets[0]))]
    other = bytes([VERSION]) + bytes(size - SEAL_BYTES - 1)
    mixed = [child.send(packets[0], TWO), child.send(other, TWO)]
    for order in (mixed, [child.send(other, TWO), child.send(packets[0], TWO)]):
        run = DatagramRun(b"".join(order), size, ONE, TWO, 1.0, 2.0, None, ECT_0)
        found: list[bytes] = []
        for one in parent.sealing.open_run(run):
            found += [one.data] if isinstance(one, Datagram) else [datagram.data for datagram in one.datagrams()]
        assert found == ([packets[0], other] if order is mixed else [other, packets[0]])


@given(st.binary(max_size=300).map(lambda rest: bytes([HEADED_VERSION, 1]) + rest))
def test_anything_with_an_open_head_is_dropped_or_counted(text: bytes) -> None:
    parent = Helped(TWO, 2)
    assert parent.get(text, to=TWO) is None
    assert sum(parent.counters.values()) == 1

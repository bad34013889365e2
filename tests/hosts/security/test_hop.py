"""What a host and its switch vouch by: the tag against the authors' algorithm, counters, and who is believed."""

import random

import pytest
from canopy_engine import hop_tag
from hypothesis import given
from hypothesis import strategies as st

from hosts.endpoint import Address
from hosts.security.hop import COUNTS, HOP_BYTES, HopKeys, Hops
from hosts.wire.sealed import HOP
from tests.p4src.models import halfsiphash

HOST, PARENT = Address("10.0.0.2", 5000), Address("10.0.0.1", 5000)
KEYS = HopKeys(outward=0x0123456789ABCDEF, inward=0xFEDCBA9876543210)
OTHER_END = HopKeys(outward=KEYS.inward, inward=KEYS.outward)
VECTORS = {0: "218d1f59b9b83cc8", 1: "be552412f8387315", 4: "d5e78a175be52ea1", 8: "edfee820bce4858c"}
"""The authors' (vectors_hsip64): the key and the messages are the bytes 0, 1, 2 ..; by the message's length."""


@pytest.mark.parametrize("length", VECTORS)
def test_the_model_is_the_authors(length: int) -> None:
    assert halfsiphash.half_siphash(bytes(range(8)), bytes(range(length))).hex() == VECTORS[length]


def test_the_vector_of_the_documents() -> None:
    """docs/security.md has it."""
    message = bytes(range(172))
    assert hop_tag(0x0001020304050607, message) == halfsiphash.hop_tag(0x0001020304050607, message)


@given(st.integers(0, 2**64 - 1), st.binary(max_size=200).map(lambda text: text[: len(text) // 4 * 4]))
def test_the_engine_s_is_the_model_s(key: int, message: bytes) -> None:
    assert hop_tag(key, message) == halfsiphash.hop_tag(key, message)


def test_parts_of_words_have_no_tag() -> None:
    with pytest.raises(ValueError, match="whole words"):
        hop_tag(1, b"123")


class Ends:
    """A host and its switch, with a clock."""

    def __init__(self) -> None:
        self.time = 1.8e9
        self.host = Hops(KEYS, lambda: self.time)
        self.switch = Hops(OTHER_END, lambda: self.time)


def test_what_one_end_signs_the_other_takes_once() -> None:
    ends = Ends()
    packet = bytes(152)
    hop = ends.host.sign(packet, HOST, PARENT)
    assert len(hop) == HOP_BYTES
    assert not ends.host.is_right(packet, hop, HOST, PARENT), "sent back to where it came from"
    for wrong in ((packet[:-1] + b"x", hop, HOST, PARENT), (packet, hop, PARENT, HOST), (packet, hop, HOST, HOST)):
        assert not ends.switch.is_right(*wrong)
    for place in range(HOP_BYTES):
        changed = bytearray(hop)
        changed[place] ^= 1
        assert not ends.switch.is_right(packet, bytes(changed), HOST, PARENT)
    assert ends.switch.is_right(packet, hop, HOST, PARENT)
    assert not ends.switch.is_right(packet, hop, HOST, PARENT)


def test_counters_rise_over_endpoints_and_restarts() -> None:
    ends = Ends()
    counters = []
    for endpoint in (ends.host, ends.host, Hops(KEYS, lambda: ends.time)):
        ends.time += 1e-6
        counters.append(HOP.made_of(HOP.struct.unpack(endpoint.sign(bytes(8), HOST, PARENT))).counter)
    assert counters == sorted(set(counters))
    assert counters[0] == pytest.approx(ends.time * COUNTS, rel=1e-6)
    ends.time -= 100
    again = HOP.made_of(HOP.struct.unpack(ends.host.sign(bytes(8), HOST, PARENT))).counter
    assert again > counters[1], "a clock that is set back takes no counter back"


def test_who_has_no_keys_vouches_for_nothing() -> None:
    nobody = Hops(None, lambda: 1.8e9)
    assert nobody.sign(bytes(8), HOST, PARENT) == bytes(HOP_BYTES)
    ends = Ends()
    assert not nobody.is_right(bytes(8), ends.switch.sign(bytes(8), HOST, PARENT), HOST, PARENT)
    assert not ends.host.is_right(bytes(8), bytes(HOP_BYTES), HOST, PARENT)


def test_no_guess_is_taken() -> None:
    rng = random.Random(1)
    ends = Ends()
    assert not any(ends.switch.is_right(bytes(8), rng.randbytes(HOP_BYTES), HOST, PARENT) for _ in range(10_000))

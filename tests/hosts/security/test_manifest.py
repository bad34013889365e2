import hashlib
import struct

import pytest
from canopy_engine import Signer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from hosts.endpoint import Address
from hosts.security.manifest import (
    BLOCK,
    HASH_BYTES,
    Manifest,
    Root,
    decode_manifest,
    decode_root,
    encode_manifest,
    encode_root,
    is_manifest,
    packet_hash,
)
from hosts.wire.header import MAX_SEALABLE_BYTES

SIGNER = Signer(bytes(range(32)))
SOURCE, GROUP = Address("10.0.0.1", 5000), Address("239.1.1.1", 5000)
MANIFEST = Manifest(0x0102030405060708, 7, 6, 1_800_000_000, [packet_hash(b"one")], [packet_hash(b"two")] * 2)
PACKET = encode_manifest(MANIFEST, SIGNER, SOURCE, GROUP)


def test_what_was_signed_is_read_by_who_knows_the_signer() -> None:
    assert is_manifest(PACKET)
    assert decode_manifest(PACKET, SIGNER.public, SOURCE, GROUP) == MANIFEST
    assert decode_manifest(PACKET, Signer(bytes(32)).public, SOURCE, GROUP) is None
    assert decode_manifest(PACKET, SIGNER.public, SOURCE, SOURCE) is None
    assert decode_manifest(PACKET, SIGNER.public, GROUP, GROUP) is None


def test_the_largest_fits_a_packet() -> None:
    full = MANIFEST._replace(block=[bytes(8)] * BLOCK, before=[bytes(8)] * BLOCK)
    packet = encode_manifest(full, SIGNER, SOURCE, GROUP)
    assert len(packet) <= MAX_SEALABLE_BYTES
    assert decode_manifest(packet, SIGNER.public, SOURCE, GROUP) == full


@pytest.mark.parametrize("place", range(len(PACKET)))
def test_nothing_else_is(place: int) -> None:
    changed = bytearray(PACKET)
    changed[place] ^= 1 << place % 8
    assert decode_manifest(bytes(changed), SIGNER.public, SOURCE, GROUP) is None
    assert decode_manifest(PACKET[:place], SIGNER.public, SOURCE, GROUP) is None


@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda rest: b"\x03\x01\x01\x00" + rest))
def test_no_bytes_are(data: bytes) -> None:
    assert decode_manifest(data, SIGNER.public, SOURCE, GROUP) is None


def test_a_root_is_read_by_who_knows_the_signer() -> None:
    root = Root(5, 7, 1_800_000_000, bytes(range(32)))
    packet = encode_root(root, SIGNER, SOURCE, GROUP)
    assert is_manifest(packet)
    assert decode_root(packet, SIGNER.public, SOURCE, GROUP) == root
    assert decode_manifest(packet, SIGNER.public, SOURCE, GROUP) is None
    assert decode_root(PACKET, SIGNER.public, SOURCE, GROUP) is None
    assert decode_root(packet, SIGNER.public, GROUP, GROUP) is None
    for place in range(len(packet)):
        changed = bytearray(packet)
        changed[place] ^= 1
        assert decode_root(bytes(changed), SIGNER.public, SOURCE, GROUP) is None
        assert decode_root(packet[:place], SIGNER.public, SOURCE, GROUP) is None


def test_the_format_is_what_the_document_says() -> None:
    """docs/security.md's test vector, made with another implementation of all its parts."""

    def short(packet: bytes) -> bytes:
        return hashlib.sha256(packet).digest()[:HASH_BYTES]

    said = struct.pack("!BBBBQIII", 3, 1, 1, 2, 0x0102030405060708, 7, 6, 1_800_000_000)
    said += short(b"one") + short(b"two") * 2
    addresses = bytes([10, 0, 0, 1, 0x13, 0x88, 239, 1, 1, 1, 0x13, 0x88])
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    assert said + key.sign(b"canopy signed 1" + addresses + said) == PACKET
    assert len(PACKET) == 24 + 3 * HASH_BYTES + 64

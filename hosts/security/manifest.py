"""What a sender signs: which packets went from it to one destination, by their hashes.

A manifest has the hashes of a block of packets and once more those of the block before, so that the loss of one
manifest takes no packet with it. Numbers are in network order; the octets are in docs/security.md.
"""

import hashlib
import socket
import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from canopy_engine import Signer, verify_signature

from hosts.endpoint import Address
from hosts.wire.header import MAX_SEALABLE_BYTES

VERSION: Final = 3
"""The first octet; packets with the common header begin with 1, those of LCT with 0x10 to 0x1f."""
KIND: Final = 1
ROOT_KIND: Final = 2
ROOT_BYTES: Final = 32
"""SHA-256, for it is of the whole session."""
HASH_BYTES: Final = 8
"""Of SHA-256. Whoever would forge a packet must find another one with a hash that the sender has signed, within the
second in which it is owed: 2^64 tries, divided by the packets of that second (ours)."""
SIGNATURE_BYTES: Final = 64
HEAD: Final = struct.Struct("!BBBBQIII")
BLOCK: Final = 64
"""Packets at most: two blocks' hashes have to fit a manifest."""
PURPOSE: Final = b"canopy signed 1"

assert HEAD.size + 2 * BLOCK * HASH_BYTES + SIGNATURE_BYTES <= MAX_SEALABLE_BYTES


class Manifest(NamedTuple):
    """One block and the one before."""

    signer: int
    """64 bits, drawn at each start of a sender."""
    number: int
    """Of the block: a sender's manifests count up, whatever their destination."""
    previous: int
    """Of the block before; the same as `number`: there is none."""
    signed_at: int
    """Unix time, seconds, modulo 2^32."""
    block: Sequence[bytes]
    before: Sequence[bytes]


def is_manifest(packet: bytes) -> bool:
    """Whether a packet is one, by its first octet."""
    return packet[:1] == b"\x03"


def packet_hash(packet: bytes) -> bytes:
    """Of a packet as the protocol made it."""
    return hashlib.sha256(packet).digest()[:HASH_BYTES]


def encode_manifest(manifest: Manifest, signer: Signer, source: Address, destination: Address) -> bytes:
    """A packet from one address to another."""
    head = HEAD.pack(VERSION, KIND, len(manifest.block), len(manifest.before), *manifest[:4])
    said = head + b"".join(manifest.block) + b"".join(manifest.before)
    return said + signer.sign(_signed(said, source, destination))


def decode_manifest(packet: bytes, public: bytes, source: Address, destination: Address) -> Manifest | None:
    """What `public`'s owner has signed for these addresses; None: it has not."""
    end = len(packet) - SIGNATURE_BYTES
    if end < HEAD.size:
        return None
    version, kind, block, before, signer, number, previous, signed_at = HEAD.unpack_from(packet)
    if (version, kind) != (VERSION, KIND) or end != HEAD.size + (block + before) * HASH_BYTES:
        return None
    if not verify_signature(public, _signed(packet[:end], source, destination), packet[end:]):
        return None
    hashes = [packet[at : at + HASH_BYTES] for at in range(HEAD.size, end, HASH_BYTES)]
    return Manifest(signer, number, previous, signed_at, hashes[:block], hashes[block:])


class Root(NamedTuple):
    """Of a stream with a tree of hashes (hosts/wire/tree): what all its packets can be checked by."""

    signer: int
    session: int
    signed_at: int
    digest: bytes
    """Of its first packet's payload."""


def encode_root(root: Root, signer: Signer, source: Address, destination: Address) -> bytes:
    """As `encode_manifest`."""
    said = HEAD.pack(VERSION, ROOT_KIND, 0, 0, *root[:2], 0, root.signed_at) + root.digest
    return said + signer.sign(_signed(said, source, destination))


def decode_root(packet: bytes, public: bytes, source: Address, destination: Address) -> Root | None:
    """As `decode_manifest`."""
    end = HEAD.size + ROOT_BYTES
    if len(packet) != end + SIGNATURE_BYTES or (packet[0], packet[1]) != (VERSION, ROOT_KIND):
        return None
    if not verify_signature(public, _signed(packet[:end], source, destination), packet[end:]):
        return None
    _, _, _, _, signer, session, _, signed_at = HEAD.unpack_from(packet)
    return Root(signer, session, signed_at, packet[HEAD.size : end])


def _signed(said: bytes, source: Address, destination: Address) -> bytes:
    return PURPOSE + _octets(source) + _octets(destination) + said


@lru_cache(maxsize=1024)
def _octets(address: Address) -> bytes:
    return socket.inet_aton(address.host) + address.port.to_bytes(2, "big")

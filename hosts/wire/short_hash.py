"""What tells true bytes from others before they are taken: the first bytes of their SHA-256."""

import hashlib
from typing import Final

HASH_BYTES: Final = 8
"""Others of the same hash take 2^64 trials, and have to be found before the true ones come (ours)."""


def short_hash(data: bytes | memoryview) -> bytes:
    """`HASH_BYTES` of it."""
    return hashlib.sha256(data).digest()[:HASH_BYTES]

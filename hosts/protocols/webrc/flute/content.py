"""Content encodings (RFC 6726, 3.4.2 and 3.4.3), and whether what has come is the file that the FDT describes."""

import base64
import gzip
import hashlib
import zlib
from collections.abc import Iterable
from typing import Final

from hosts.protocols.webrc.flute.fdt import FileEntry

CENC: Final = {0: "", 1: "zlib", 2: "deflate", 3: "gzip"}
"""Algorithms of EXT_CENC (RFC 6726, 3.4.3)."""
GZIP_CENC: Final = 3
MOST_UNKNOWN: Final = 64 << 20
"""Bytes that an object of which nobody said how long it is may become (ours)."""
_WINDOW_BITS: Final = {"gzip": (31,), "zlib": (15,), "deflate": (15, -15)}
"""zlib's; HTTP's `deflate` is RFC 1950's in name (RFC 9110, 8.4.1.2), and RFC 1951's as many senders have it."""


def encoded(data: bytes, encoding: str) -> bytes:
    """A file as it is transferred. ValueError: nothing is sent in this way."""
    if encoding not in ("", "gzip"):
        raise ValueError(f"content encoding {encoding}")
    return gzip.compress(data, mtime=0) if encoding else data


def decoded(data: bytes, encoding: str, length: int | None) -> bytes | None:
    """A file from what was transferred; None: it is damaged, or longer than `length` bytes says."""
    if not encoding:
        return data
    most = MOST_UNKNOWN if length is None else length
    for bits in _WINDOW_BITS.get(encoding, ()):
        reader = zlib.decompressobj(bits)
        try:
            found = reader.decompress(data, most + 1)
        except zlib.error:
            continue
        if reader.eof and len(found) <= most:
            return found
    return None


def matching(candidates: Iterable[bytes], file: FileEntry) -> bytes | None:
    """The file, of the objects that it may be; None: none has the right length and digests."""
    for candidate in candidates:
        data = decoded(candidate, file.content_encoding, file.content_length)
        if data is None or file.content_length not in (None, len(data)):
            continue
        if file.sha256 and hashlib.sha256(data).hexdigest() != file.sha256:
            continue
        # Of the file (flute-alc), or of what is transferred, as HTTP's header was (RFC 2616, 14.15).
        if not file.md5 or file.md5 in (md5(data), md5(candidate)):
            return data
    return None


def md5(data: bytes) -> str:
    """Content-MD5."""
    return base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()

"""Content encodings (RFC 6726, 3.4.2 and 3.4.3), and whether what has come is the file that the FDT describes."""

import base64
import gzip
import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from hosts.protocols.webrc.flute.fdt import FileEntry
from hosts.storage import BytesContent, Content
from hosts.wire.manifest import Manifest

CENC: Final = {0: "", 1: "zlib", 2: "deflate", 3: "gzip"}
"""Algorithms of EXT_CENC (RFC 6726, 3.4.3)."""
GZIP_CENC: Final = 3
MOST_UNKNOWN: Final = 64 << 20
"""Bytes that an object of which nobody said how long it is may become (ours)."""
PIECE_BYTES: Final = 1 << 20
"""Of a file that are decoded at a time (ours)."""
_WINDOW_BITS: Final = {"gzip": (31,), "zlib": (15,), "deflate": (15, -15)}
"""zlib's; HTTP's `deflate` is RFC 1950's in name (RFC 9110, 8.4.1.2), and RFC 1951's as many senders have it."""


def encoded(data: bytes, encoding: str) -> bytes:
    """A file as it is transferred. ValueError: nothing is sent in this way."""
    if encoding not in ("", "gzip"):
        raise ValueError(f"content encoding {encoding}")
    return gzip.compress(data, mtime=0) if encoding else data


def decoded(pieces: Iterable[bytes], encoding: str, length: int | None) -> Iterator[bytes]:
    """A file, in pieces, from what was transferred. DamagedError: it is none, or longer than `length` bytes says."""
    if not encoding:
        yield from pieces
        return
    most = MOST_UNKNOWN if length is None else length
    reader: _Reader | None = None
    for piece in pieces:
        if reader is None:
            reader = _Reader(encoding, piece)
        for found in reader.take(piece):
            most -= len(found)
            if most < 0:
                raise DamagedError
            yield found
    if reader is None or not reader.at_end:
        raise DamagedError


class DamagedError(Exception):
    """What was transferred is not what the FDT says."""


class _Reader:
    """Of one encoding."""

    def __init__(self, encoding: str, first: bytes) -> None:
        for bits in _WINDOW_BITS.get(encoding, ()):
            try:
                zlib.decompressobj(bits).decompress(first, 1)
            except zlib.error:
                continue
            self._inflate = zlib.decompressobj(bits)
            return
        raise DamagedError

    def take(self, piece: bytes) -> Iterator[bytes]:
        try:
            while piece and not self._inflate.eof:
                yield self._inflate.decompress(piece, PIECE_BYTES)
                piece = self._inflate.unconsumed_tail
        except zlib.error:
            raise DamagedError from None

    @property
    def at_end(self) -> bool:
        return self._inflate.eof


class Checked(NamedTuple):
    """A file that is what its FDT says."""

    size: int
    """Bytes."""
    sha256: str


def matching(pieces: Callable[[], Iterable[bytes]], file: FileEntry) -> Checked | None:
    """Whether what was transferred is the file; None: it has not the right length and digests. `pieces` is asked once,
    or twice where the digest may be of the file or of what is transferred.

    Where there is a SHA-256 Content-MD5, which a recipient may check (RFC 2616, 14.15), is not looked at: it would take
    twice as long again, in which packets are lost, and could only say that the description is wrong."""
    checks_md5 = bool(file.md5) and not file.sha256
    sha256, md5_of_file, size = hashlib.sha256(), hashlib.md5(usedforsecurity=False), 0
    try:
        for piece in decoded(pieces(), file.content_encoding, file.content_length):
            sha256.update(piece)
            if checks_md5:
                md5_of_file.update(piece)
            size += len(piece)
    except DamagedError:
        return None
    found = Checked(size, sha256.hexdigest())
    if file.content_length not in (None, size) or file.sha256 not in ("", found.sha256):
        return None
    # Of the file (flute-alc), or of what is transferred, as HTTP's header was (RFC 2616, 14.15).
    if not checks_md5 or file.md5 == in_base64(md5_of_file.digest()):
        return found
    if not file.content_encoding:
        return None
    md5_of_object = hashlib.md5(usedforsecurity=False)
    for piece in pieces():
        md5_of_object.update(piece)
    return found if file.md5 == in_base64(md5_of_object.digest()) else None


def in_base64(digest: bytes) -> str:
    """As Content-MD5 has it."""
    return base64.b64encode(digest).decode()


def content_of(name: str, data: bytes, encoding: str = "", priority: float = 1.0) -> Content:
    """A file in memory, to be sent. ValueError: nothing is sent in this way."""
    manifest = Manifest(name, len(data), hashlib.sha256(data).hexdigest())
    digest = hashlib.md5(data, usedforsecurity=False).digest()
    return Content(manifest, digest, BytesContent(encoded(data, encoding)), encoding, priority)

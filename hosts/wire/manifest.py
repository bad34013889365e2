"""The head of a file's stream: what the receiver is told before the first byte.

magic "CFIL", version (8 bits), reserved (8 bits), manifest length (16 bits), manifest (JSON), file
"""

import json
import re
import struct
from dataclasses import asdict, dataclass
from typing import Final

from hosts.wire.reason import Reason

MAGIC: Final = b"CFIL"
VERSION: Final = 1
PREFIX: Final = struct.Struct("!4sBxH")
NAME_MAX_BYTES: Final = 255 - len(".") - len(".part-") - 8
"""Linux' NAME_MAX less what a part file's name adds."""


class FileError(Exception):
    """A file cannot be sent or stored. The message is one clear line; `reason` tells the other side."""

    def __init__(self, message: str, reason: Reason = Reason.FAILED) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Manifest:
    """What the receiver is told before the first byte."""

    name: str
    size: int
    """Bytes."""
    sha256: str
    """Lower-case hex."""

    def encode(self) -> bytes:
        """The head of the stream."""
        body = json.dumps(asdict(self), ensure_ascii=False).encode()
        return PREFIX.pack(MAGIC, VERSION, len(body)) + body

    @classmethod
    def take(cls, head: bytearray) -> "Manifest | None":
        """Remove the manifest from the head of a stream; None when it is not all there yet. Raises FileError."""
        if len(head) < PREFIX.size:
            return None
        magic, version, length = PREFIX.unpack_from(head)
        if magic != MAGIC or version != VERSION:
            raise FileError("the stream is not a file of this version", Reason.REFUSED_FILE)
        if len(head) < PREFIX.size + length:
            return None
        manifest = cls.decode(bytes(head[PREFIX.size : PREFIX.size + length]))
        del head[: PREFIX.size + length]
        return manifest

    @classmethod
    def decode(cls, body: bytes) -> "Manifest":
        """Read what came after the prefix. Raises FileError."""
        try:
            fields = json.loads(body)
            name, size, sha256 = fields["name"], fields["size"], fields["sha256"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise FileError("the manifest cannot be read", Reason.REFUSED_FILE) from None
        if type(size) is not int or size < 0:
            raise FileError("the manifest's size is not a size", Reason.REFUSED_FILE)
        if not isinstance(sha256, str) or not re.fullmatch("[0-9a-f]{64}", sha256):
            raise FileError("the manifest's hash is not a SHA-256", Reason.REFUSED_FILE)
        problem = unsafe_name(name) if isinstance(name, str) else "it is not text"
        if problem:
            raise FileError(f"the file's name is refused: {problem}", Reason.REFUSED_FILE)
        return cls(name, size, sha256)


def unsafe_name(name: str) -> str | None:
    """Why a name from the network may not be used in a folder; None when it may."""
    try:
        octets = name.encode()
    except UnicodeEncodeError:
        return "it is not text"
    if name.startswith(".") or not name:
        return "it is empty or begins with a dot"
    if "/" in name or "\\" in name:
        return "it contains a path separator"
    if any(not character.isprintable() for character in name):
        return "it contains control characters"
    if len(octets) > NAME_MAX_BYTES:
        return "it is too long"
    return None

"""What a member shows to a group's registrar, and how it knows that registrar: `NAME:TOKEN@HOST:PORT/FINGERPRINT`."""

import base64
import binascii
import hashlib
import hmac
import re
from typing import Final, NamedTuple

from hosts.security.keys import KeysError

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Of members: file names and lines of text have them."""
HOST: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}")
TOKEN_BYTES: Final = 32
"""So that nobody finds one by trying, nor from its hash (ours)."""
FINGERPRINT_BYTES: Final = 32
"""SHA-256, of the registrar's certificate (DER)."""


class Ticket(NamedTuple):
    """One member's."""

    name: str
    token: bytes
    host: str
    port: int
    fingerprint: bytes

    def __repr__(self) -> str:
        return f"Ticket({self.name} at {self.host}:{self.port})"  # tokens are for no log

    @property
    def text(self) -> str:
        """As it is pasted."""
        return f"{self.name}:{encoded(self.token)}@{self.host}:{self.port}/{encoded(self.fingerprint)}"


def parse_ticket(text: str) -> Ticket:
    """KeysError, whose message has nothing of the token in it."""
    member, mark, place = text.strip().partition("@")
    if not mark:
        raise KeysError("not a ticket: NAME:TOKEN@HOST:PORT/FINGERPRINT")
    name, _, token = member.partition(":")
    server, _, fingerprint = place.partition("/")
    host, port = parse_server(server)
    if NAME.fullmatch(name) is None:
        raise KeysError("a ticket begins with a member's name")
    return Ticket(name, decoded(token, TOKEN_BYTES), host, port, decoded(fingerprint, FINGERPRINT_BYTES))


def parse_server(text: str) -> tuple[str, int]:
    """A registrar's `HOST:PORT`. KeysError."""
    host, _, port = text.rpartition(":")
    if HOST.fullmatch(host) is None:
        raise KeysError(f"'{host}' is no host's address or name")
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 1 <= int(port) <= 65535):
        raise KeysError(f"'{port}' is not a TCP port")
    return host, int(port)


def encoded(octets: bytes) -> str:
    """base64url without padding (RFC 4648)."""
    return base64.urlsafe_b64encode(octets).decode().rstrip("=")


def decoded(text: str, length: int) -> bytes:
    """So many bytes. KeysError."""
    try:
        octets = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise KeysError("its letters are not those of base64url (RFC 4648): is it whole?") from None
    if len(octets) != length:
        raise KeysError(f"{length} bytes in base64url (RFC 4648) are wanted, not {len(octets)}: is it whole?")
    return octets


def digest(token: bytes) -> bytes:
    """What a registrar keeps of a token: whoever reads its files has none."""
    return hashlib.sha256(b"canopy token 1" + token).digest()


def is_token(token: bytes, kept: bytes) -> bool:
    """Whether it is the one of which this was kept."""
    return hmac.compare_digest(digest(token), kept)

"""What a member shows to a group's registrar, and how it knows that registrar: `NAME:TOKEN@HOST:PORT/FINGERPRINT`, and
`+PUBLIC` behind it where the sender signs. A member with a key of its own has `~SEED` in place of the token, and `~`
alone in what the registrar makes for it, which is no secret."""

import hashlib
import hmac
import re
from typing import Final, NamedTuple

from hosts.security.keys import KeysError, decoded, encoded, signer_text, split_signer

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""Of members: file names and lines of text have them."""
HOST: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}")
TOKEN_BYTES: Final = 32
"""So that nobody finds one by trying, nor from its hash (ours)."""
OWN: Final = "~"
FINGERPRINT_BYTES: Final = 32
"""SHA-256, of the registrar's certificate (DER)."""


class Ticket(NamedTuple):
    """One member's."""

    name: str
    token: bytes
    host: str
    port: int
    fingerprint: bytes
    signer: bytes | None = None
    """The public key of the sender, where it signs."""
    is_own: bool = False
    """`token` is the seed of the member's own key (Ed25519: RFC 8032), of which the registrar knows the public part;
    empty: not put in yet."""

    def __repr__(self) -> str:
        return f"Ticket({self.name} at {self.host}:{self.port})"  # tokens are for no log

    @property
    def text(self) -> str:
        """As it is pasted."""
        registrar = f"{self.host}:{self.port}/{encoded(self.fingerprint)}"
        return f"{self.name}:{OWN * self.is_own}{encoded(self.token)}@{registrar}{signer_text(self.signer)}"


def parse_ticket(text: str) -> Ticket:
    """KeysError, whose message has nothing of the token in it."""
    ticket, signer = split_signer(text.strip())
    member, mark, place = ticket.partition("@")
    if not mark:
        raise KeysError("not a ticket: NAME:TOKEN@HOST:PORT/FINGERPRINT")
    name, _, token = member.partition(":")
    server, _, fingerprint = place.partition("/")
    host, port = parse_server(server)
    if NAME.fullmatch(name) is None:
        raise KeysError("a ticket begins with a member's name")
    is_own = token.startswith(OWN)
    secret = b"" if token == OWN else decoded(token.removeprefix(OWN), TOKEN_BYTES)
    return Ticket(name, secret, host, port, decoded(fingerprint, FINGERPRINT_BYTES), signer, is_own)


def parse_server(text: str) -> tuple[str, int]:
    """A registrar's `HOST:PORT`. KeysError."""
    host, _, port = text.rpartition(":")
    if HOST.fullmatch(host) is None:
        raise KeysError(f"'{host}' is no host's address or name")
    if not (port.isascii() and port.isdigit() and len(port) <= 5 and 1 <= int(port) <= 65535):
        raise KeysError(f"'{port}' is not a TCP port")
    return host, int(port)


def digest(token: bytes) -> bytes:
    """What a registrar keeps of a token: whoever reads its files has none."""
    return hashlib.sha256(b"canopy token 1" + token).digest()


def is_token(token: bytes, kept: bytes) -> bool:
    """Whether it is the one of which this was kept."""
    return hmac.compare_digest(digest(token), kept)

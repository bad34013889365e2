"""A group's secrets, one for each epoch, and their text: `NUMBER.SECRET`, as in `1.0mJ9..`, an epoch a line,
and `+PUBLIC` behind it, the sender's key, where it signs."""

import base64
import binascii
from collections.abc import Sequence
from typing import Final

SECRET_BYTES: Final = 32
"""A key of AES-256 has so many (FIPS 197), and so has what HKDF with SHA-256 makes it from."""
SIGNER_BYTES: Final = 32
"""Of a public key, and of the seed that it comes from (Ed25519: RFC 8032)."""
MOST_EPOCH: Final = 255
"""A sealed packet's field has 8 bits."""
KEPT: Final = 2
"""Epochs of a group: the newest, which seals, and the one before, for members that have not heard of it yet (ours)."""


class KeysError(ValueError):
    """Not a group's keys. The message never has any of the text in it."""


class GroupKeys:
    """What all members of a group know."""

    version: Final = 0
    """They stay as they are; a KeyRing's do not."""

    def __init__(self, epochs: Sequence[tuple[int, bytes]], signer: bytes | None = None) -> None:
        """`epochs`: number and secret, the newest last; `signer`: the public key of the sender, where it signs.
        KeysError."""
        numbers = [number for number, _ in epochs]
        if not numbers:
            raise KeysError("no secret is in it: is it whole?")
        if len(numbers) > KEPT:
            raise KeysError(f"a group has {KEPT} epochs at most, not {len(numbers)}")
        if len(set(numbers)) < len(numbers) or not all(1 <= number <= MOST_EPOCH for number in numbers):
            raise KeysError(f"epochs have different numbers from 1 to {MOST_EPOCH}")
        if any(len(secret) != SECRET_BYTES for _, secret in epochs):
            raise KeysError(f"a secret has {SECRET_BYTES} bytes")
        if signer is not None and len(signer) != SIGNER_BYTES:
            raise KeysError(f"a sender's key has {SIGNER_BYTES} bytes")
        self.epochs: Final = tuple(epochs)
        self.signer: Final = signer

    def __repr__(self) -> str:
        return f"GroupKeys(epoch {self.epochs[-1][0]})"  # for whatever shows or logs it

    def rolled(self, secret: bytes) -> "GroupKeys":
        """With one more epoch; the oldest may go."""
        number = self.epochs[-1][0] % MOST_EPOCH + 1
        return GroupKeys([*self.epochs, (number, secret)][-KEPT:], self.signer)

    @property
    def newest(self) -> str:
        """The text of the epoch that seals, and of the sender's key."""
        return _text(*self.epochs[-1]) + signer_text(self.signer)

    @property
    def text(self) -> str:
        """Of all epochs."""
        signed = signer_text(self.signer)
        return "".join(_text(number, secret) + signed + "\n" for number, secret in self.epochs)


def parse_keys(text: str) -> GroupKeys:
    """Keys from their text; empty lines and those that begin with `#` do not count. KeysError."""
    signers, epochs = set(), []
    for line in text.splitlines():
        if line.strip() and not line.strip().startswith("#"):
            words, signer = split_signer(line.strip())
            epochs.append(_epoch(words))
            signers.add(signer)
    if len(signers) > 1:
        raise KeysError("epochs of one group have the same sender's key")
    return GroupKeys(epochs, signers.pop() if signers else None)


def split_signer(text: str) -> tuple[str, bytes | None]:
    """What stands before the sender's key, and that, if there is one. KeysError."""
    before, mark, signer = text.partition("+")
    return before, decoded(signer, SIGNER_BYTES) if mark else None


def signer_text(signer: bytes | None) -> str:
    """Behind an epoch, or a ticket: `+PUBLIC`, or nothing."""
    return "" if signer is None else f"+{encoded(signer)}"


def encoded(octets: bytes) -> str:
    """base64url without padding (RFC 4648)."""
    return base64.urlsafe_b64encode(octets).decode().rstrip("=")


def decoded(text: str, length: int) -> bytes:
    """So many bytes. KeysError, which says nothing of them."""
    try:
        octets = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise KeysError("its letters are not those of base64url (RFC 4648): is it whole?") from None
    if len(octets) != length:
        raise KeysError(f"{length} bytes in base64url (RFC 4648) are wanted, not {len(octets)}: is it whole?")
    return octets


def _epoch(text: str) -> tuple[int, bytes]:
    number, point, secret = text.partition(".")
    if not point or not number.isascii() or not number.isdigit() or len(number) > len(str(MOST_EPOCH)):
        raise KeysError("not a group's secret: it looks like 1.0mJ9..")
    return int(number), decoded(secret, SECRET_BYTES)


def _text(number: int, secret: bytes) -> str:
    return f"{number}.{encoded(secret)}"

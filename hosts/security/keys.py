"""A group's secrets, one for each epoch, and their text: `NUMBER.SECRET`, as in `1.0mJ9..`, an epoch a line."""

import base64
import binascii
from collections.abc import Iterator, Sequence
from typing import Final

SECRET_BYTES: Final = 32
"""A key of AES-256 has so many (FIPS 197), and so has what HKDF with SHA-256 makes it from."""
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

    def __init__(self, epochs: Sequence[tuple[int, bytes]]) -> None:
        """`epochs`: number and secret, the newest last. KeysError."""
        numbers = [number for number, _ in epochs]
        if not 1 <= len(numbers) <= KEPT:
            raise KeysError(f"a group has 1 to {KEPT} epochs, not {len(numbers)}")
        if len(set(numbers)) < len(numbers) or not all(1 <= number <= MOST_EPOCH for number in numbers):
            raise KeysError(f"epochs have different numbers from 1 to {MOST_EPOCH}")
        if any(len(secret) != SECRET_BYTES for _, secret in epochs):
            raise KeysError(f"a secret has {SECRET_BYTES} bytes")
        self.epochs: Final = tuple(epochs)

    def __repr__(self) -> str:
        return f"GroupKeys(epoch {self.epochs[-1][0]})"  # for whatever shows or logs it

    def rolled(self, secret: bytes) -> "GroupKeys":
        """With one more epoch; the oldest may go."""
        number = self.epochs[-1][0] % MOST_EPOCH + 1
        return GroupKeys([*self.epochs, (number, secret)][-KEPT:])

    @property
    def newest(self) -> str:
        """The text of the epoch that seals."""
        return _text(*self.epochs[-1])

    @property
    def text(self) -> str:
        """Of all epochs."""
        return "".join(_text(number, secret) + "\n" for number, secret in self.epochs)


def parse_keys(text: str) -> GroupKeys:
    """Keys from their text; empty lines and those that begin with `#` do not count. KeysError."""
    return GroupKeys(list(_epochs(text)))


def _epochs(text: str) -> Iterator[tuple[int, bytes]]:
    for line in text.splitlines():
        words = line.strip()
        if not words or words.startswith("#"):
            continue
        number, point, secret = words.partition(".")
        if not point or not number.isascii() or not number.isdigit() or len(number) > len(str(MOST_EPOCH)):
            raise KeysError("not a group's secret: it looks like 1.0mJ9..")
        try:
            octets = base64.b64decode(secret + "=" * (-len(secret) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise KeysError("a secret's letters are those of base64url (RFC 4648): is it whole?") from None
        yield int(number), octets


def _text(number: int, secret: bytes) -> str:
    return f"{number}.{base64.urlsafe_b64encode(secret).decode().rstrip('=')}"

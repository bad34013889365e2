"""What a registrar and a member say to each other, over TLS: lines of JSON.

The registrar begins with a challenge. A member says who it is, with its token or, if it has a key of its own, with the
challenge signed, and later that it wants the keys `again`; the registrar answers each with the group's epochs, says
them again whenever they change, or says why it refuses. Times are in seconds from now, for clocks may differ.
"""

import json
import math
from typing import Any, Final, NamedTuple, TypeGuard

from hosts.security.keys import SECRET_BYTES, KeysError, decoded, encoded
from hosts.security.schedule import Epoch, Schedule
from hosts.security.ticket import NAME, TOKEN_BYTES

MOST_BYTES: Final = 2048
"""Of a line; what is longer is none of ours."""
FORMAT: Final = 1
CHALLENGE_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
"""Ed25519: RFC 8032."""
AGAIN: Final = b'{"again": true}\n'


class Hello(NamedTuple):
    """A member's first words."""

    name: str
    token: bytes
    """Or the signature, if it has a key of its own."""
    is_signed: bool = False

    def __repr__(self) -> str:
        return f"Hello({self.name})"


class Challenge(NamedTuple):
    """What a member with a key of its own signs, drawn for one connection."""

    octets: bytes

    def message(self, name: str, fingerprint: bytes) -> bytes:
        """What is signed: for one registrar, so that it cannot pass itself off as the member at another."""
        return b"canopy member 1" + fingerprint + self.octets + name.encode()


class Refusal(NamedTuple):
    """A registrar's, with its reason."""

    reason: str


def encode_hello(hello: Hello) -> bytes:
    """A line."""
    shown = "signature" if hello.is_signed else "token"
    return _line({"canopy": FORMAT, "name": hello.name, shown: encoded(hello.token)})


def decode_hello(line: bytes) -> Hello:
    """KeysError."""
    said = _object(line)
    is_signed = "signature" in said
    name, token = said.get("name"), said.get("signature" if is_signed else "token")
    if said.get("canopy") != FORMAT or not isinstance(name, str) or not isinstance(token, str):
        raise KeysError("not a member's first words")
    if NAME.fullmatch(name) is None:
        raise KeysError("not a member's name")
    return Hello(name, decoded(token, SIGNATURE_BYTES if is_signed else TOKEN_BYTES), is_signed)


def encode_challenge(challenge: Challenge) -> bytes:
    """A line."""
    return _line({"canopy": FORMAT, "challenge": encoded(challenge.octets)})


def is_again(line: bytes) -> bool:
    """Whether a member asks for the keys. KeysError: it says anything else."""
    if _object(line) != {"again": True}:
        raise KeysError("not a member's words")
    return True


def encode_keys(schedule: Schedule, now: float) -> bytes:
    """A line that has the epochs in it, as they stand now."""
    epochs = [
        {
            "serial": epoch.serial,
            "secret": encoded(epoch.secret),
            "seals_in_s": round(max(0.0, epoch.seals_at - now), 3),
            "closes_in_s": None if math.isinf(epoch.closes_at) else round(epoch.closes_at - now, 3),
        }
        for epoch in schedule.epochs
        if now < epoch.closes_at
    ]
    return _line({"canopy": FORMAT, "epochs": epochs})


def encode_refusal(refusal: Refusal) -> bytes:
    """A line."""
    return _line({"canopy": FORMAT, "refused": refusal.reason})


def decode_answer(line: bytes, now: float) -> Schedule | Refusal | Challenge:
    """A registrar's words, with times of the clock of `now`. KeysError."""
    said = _object(line)
    if said.get("canopy") != FORMAT:
        raise KeysError("not a registrar's words")
    challenge, reason, epochs = said.get("challenge"), said.get("refused"), said.get("epochs")
    if isinstance(challenge, str):
        return Challenge(decoded(challenge, CHALLENGE_BYTES))
    if isinstance(reason, str):
        return Refusal(reason[:200])
    if not isinstance(epochs, list):
        raise KeysError("not a registrar's words")
    return Schedule([_epoch(epoch, now) for epoch in epochs])


def _epoch(said: Any, now: float) -> Epoch:
    if not isinstance(said, dict):
        raise KeysError("not an epoch")
    serial, secret = said.get("serial"), said.get("secret")
    seals, closes = said.get("seals_in_s"), said.get("closes_in_s", "absent")
    if type(serial) is not int or not isinstance(secret, str) or not _is_number(seals):
        raise KeysError("not an epoch")
    if closes is not None and not _is_number(closes):
        raise KeysError("not an epoch")
    closes_at = math.inf if closes is None else now + closes
    return Epoch(serial, decoded(secret, SECRET_BYTES), now + seals if seals > 0 else -math.inf, closes_at)


def _is_number(said: Any) -> TypeGuard[float]:
    return type(said) in (int, float) and abs(said) < 1e9  # what is more is nobody's time, and NaN is not less


def _line(said: dict[str, Any]) -> bytes:
    return json.dumps(said).encode() + b"\n"


def _object(line: bytes) -> dict[str, Any]:
    if len(line) > MOST_BYTES:
        raise KeysError("a line is too long")
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        raise KeysError("a line is no JSON") from None
    if not isinstance(said, dict):
        raise KeysError("a line is no object")
    return said

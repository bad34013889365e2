"""Files with a group's keys, which only their owner may read."""

import os
import secrets
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from canopy_engine import Signer

from hosts.security.hop import HopKeys
from hosts.security.keys import SECRET_BYTES, SIGNER_BYTES, GroupKeys, KeysError, decoded, encoded, parse_keys
from hosts.security.link import SCHEME, Link, parse_link

ParsedT = TypeVar("ParsedT")

NOTED_EVERY_S: Final = 1.0
"""Of a port's counters (hosts/security/hop.py): so much later than the last note they may be."""
ROUNDED_S: Final = 0.01
"""By so much a file's time may differ from what it was set to (ours)."""
MOST_BYTES: Final = 1 << 16
"""A file that is longer is no key file (ours)."""
HEAD: Final = "# canopy: a group's keys. Whoever has them takes part, and reads all that is sent.\n"

HOP: Final = "# canopy: what a host vouches by to its switch, and the switch to it.\n"
SIGNING: Final = "# canopy: what a session's sender signs with. Whoever has it is the sender.\n"


def new_keys(signer: bytes | None = None) -> GroupKeys:
    """Of a group that does not exist yet; `signer` as GroupKeys has it."""
    return GroupKeys([(1, secrets.token_bytes(SECRET_BYTES))], signer)


def new_seed() -> bytes:
    """What a new sender signs with."""
    return secrets.token_bytes(SIGNER_BYTES)


def public(seed: bytes) -> bytes:
    """By which others check."""
    return Signer(seed).public


def read_seed(path: Path) -> bytes:
    """From a file. KeysError, OSError."""
    lines = [line.strip() for line in read_private(path, MOST_BYTES).splitlines() if not line.startswith("#")]
    return _parsed(str(path), "".join(lines), lambda text: decoded(text, SIGNER_BYTES))


def write_seed(path: Path, seed: bytes) -> None:
    """As `write_keys`."""
    write_private(path, f"{SIGNING}{encoded(seed)}\n")


def read_hop_keys(path: Path) -> HopKeys:
    """What a host's port vouches by, from a file, whose time of modification is when that was used last, if it may be
    set. KeysError, OSError."""
    words = [
        word
        for line in read_private(path, MOST_BYTES).splitlines()
        if not line.startswith("#")
        for word in line.split()
    ]
    try:
        outward, inward = (int(word, 16) for word in words)
    except ValueError:
        raise KeysError(f"{path}: not the two keys of a port, of 16 hexadecimal digits each") from None
    if not 0 <= min(outward, inward) <= max(outward, inward) < 1 << 64:
        raise KeysError(f"{path}: a port's keys have 64 bits")

    def used(until_s: float) -> None:
        with suppress(OSError):
            os.utime(path, (until_s, until_s))

    behind = path.stat().st_mtime - time.time()
    return HopKeys(outward, inward, behind + NOTED_EVERY_S if behind > ROUNDED_S else 0.0, used)


def write_hop_keys(path: Path, keys: HopKeys) -> None:
    """As `write_keys`."""
    write_private(path, f"{HOP}{keys.outward:016x} {keys.inward:016x}\n")


def roll(keys: GroupKeys) -> GroupKeys:
    """With a new epoch."""
    return keys.rolled(secrets.token_bytes(SECRET_BYTES))


def read_keys(path: Path) -> GroupKeys:
    """Keys from a file, `-`: from standard input. KeysError: others could read it, or it has no keys; OSError."""
    if str(path) == "-":
        return _parsed("standard input", sys.stdin.read(MOST_BYTES), parse_keys)
    return _parsed(str(path), read_private(path, MOST_BYTES), parse_keys)


def read_secret(path: Path) -> GroupKeys | Link:
    """Likewise, or a line that was given to one member."""
    name = "standard input" if str(path) == "-" else str(path)
    text = sys.stdin.read(MOST_BYTES) if str(path) == "-" else read_private(path, MOST_BYTES)
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if len(lines) == 1 and lines[0].startswith(SCHEME):
        return _parsed(name, lines[0], parse_link)
    return _parsed(name, text, parse_keys)


def read_private(path: Path, most_bytes: int) -> str:
    """A file's text. KeysError: others could read or change it, or it is too long; OSError."""
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        if status.st_uid not in (os.geteuid(), 0):
            raise KeysError(f"{path}: not yours, so its owner could change it")
        if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise KeysError(f"{path}: others may read or write it (mode {status.st_mode & 0o777:o}): chmod 600 {path}")
        text = file.read(most_bytes + 1)
    if len(text) > most_bytes:
        raise KeysError(f"{path}: too long for a key file")
    return text.decode("utf-8", errors="replace")


def write_keys(path: Path, keys: GroupKeys, *, replace: bool = False) -> None:
    """For its owner only; whole or not at all. FileExistsError, unless it is to `replace` one; OSError."""
    write_private(path, HEAD + keys.text, replace=replace)


def write_private(path: Path, text: str, *, replace: bool = False) -> None:
    """Likewise of any text."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")  # a killed one's never is in the way
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            partial.replace(path)
        else:
            os.link(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _parsed(name: str, text: str, parse: Callable[[str], ParsedT]) -> ParsedT:
    try:
        return parse(text)
    except KeysError as error:
        raise KeysError(f"{name}: {error}") from None

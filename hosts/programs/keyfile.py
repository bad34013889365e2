"""Files with a group's keys, which only their owner may read."""

import os
import secrets
import stat
import sys
from pathlib import Path
from typing import Final

from hosts.security.keys import SECRET_BYTES, GroupKeys, KeysError, parse_keys

MOST_BYTES: Final = 1 << 16
"""A file that is longer is no key file (ours)."""
HEAD: Final = "# canopy: a group's keys. Whoever has them takes part, and reads all that is sent.\n"


def new_keys() -> GroupKeys:
    """Of a group that does not exist yet."""
    return GroupKeys([(1, secrets.token_bytes(SECRET_BYTES))])


def roll(keys: GroupKeys) -> GroupKeys:
    """With a new epoch."""
    return keys.rolled(secrets.token_bytes(SECRET_BYTES))


def read_keys(path: Path) -> GroupKeys:
    """Keys from a file, `-`: from standard input. KeysError: others could read it, or it has no keys; OSError."""
    if str(path) == "-":
        return _parsed("standard input", sys.stdin.read(MOST_BYTES))
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        if status.st_uid not in (os.geteuid(), 0):
            raise KeysError(f"{path}: not yours, so its owner could change it")
        if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            raise KeysError(f"{path}: others may read or write it (mode {status.st_mode & 0o777:o}): chmod 600 {path}")
        text = file.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise KeysError(f"{path}: too long for a key file")
    return _parsed(str(path), text.decode("utf-8", errors="replace"))


def write_keys(path: Path, keys: GroupKeys, *, replace: bool = False) -> None:
    """For its owner only; whole or not at all. FileExistsError, unless it is to `replace` one; OSError."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(HEAD + keys.text)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            partial.replace(path)
        else:
            os.link(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _parsed(name: str, text: str) -> GroupKeys:
    try:
        return parse_keys(text)
    except KeysError as error:
        raise KeysError(f"{name}: {error}") from None

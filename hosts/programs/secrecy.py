"""What the command line says of who may take part: `--secure`, `--secret-file`, and the line that receivers paste."""

import getpass
import random
import secrets
import sys
import time
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer

from hosts.endpoint import Address
from hosts.programs.keyfile import new_keys, read_keys
from hosts.protocol import Protocol
from hosts.security.keys import GroupKeys, KeysError, parse_keys
from hosts.security.link import Link, parse_link
from hosts.security.secured import secure

FIRST_DYNAMIC_PORT: Final = 49152
"""RFC 6335, section 6."""

SecureOption = Annotated[
    bool, typer.Option("--secure", help="Only who has the secret takes part; says what receivers paste.")
]
AskOption = Annotated[bool, typer.Option("--secure", help="Ask for the secret, which takes no part in the command.")]
SecretFileOption = Annotated[
    Path | None,
    typer.Option(help="Only who has the keys in this file takes part (canopy keys new); -: standard input."),
]
LinkArgument = Annotated[
    str | None, typer.Argument(help="What the sender printed: canopy://GROUP:PORT#SECRET.", show_default=False)
]


class Place(NamedTuple):
    """Where a session is, and who takes part."""

    group: str
    port: int
    keys: GroupKeys | None
    """None: whoever reaches the group."""
    is_new: bool = False
    """Keys that nobody else has yet."""


def sender_place(group: str | None, port: int | None, *, asked: bool, secret_file: Path | None, quiet: bool) -> Place:
    """A sender's; a session that is sealed may have a group and port of chance. KeysError, OSError."""
    keys = None if secret_file is None else read_keys(secret_file)
    is_new = asked and keys is None
    if is_new:
        if quiet:
            raise KeysError("--secure: --quiet would hide the secret; use --secret-file")
        keys = new_keys()
    if keys is not None:
        # RFC 2365, 6.1: 239.255.0.0/16 does not leave the site.
        group = group or f"239.255.{secrets.randbelow(256)}.{1 + secrets.randbelow(254)}"
        port = port or FIRST_DYNAMIC_PORT + secrets.randbelow(65536 - FIRST_DYNAMIC_PORT)
    if group is None or port is None:
        raise KeysError("give --group and --port; with --secure they may be left out")
    return Place(group, port, keys, is_new)


def receiver_place(
    link: str | None, group: str | None, port: int | None, *, asked: bool, secret_file: Path | None
) -> Place:
    """A receiver's. KeysError, OSError."""
    keys = None if secret_file is None else read_keys(secret_file)
    if link is not None:
        if group is not None or port is not None:
            raise KeysError(f"--{'port' if group is None else 'group'}: the line that begins with canopy:// has it")
        found = parse_link(link)
        group, port, keys = found.group.host, found.group.port, keys or found.keys
    if group is None or port is None:
        raise KeysError("give what the sender printed (canopy://..), or --group and --port")
    if asked and keys is None:
        keys = parse_keys(_ask())
    return Place(group, port, keys)


def _ask() -> str:
    """The secret, from a terminal where nobody sees it, or from standard input."""
    if sys.stdin is not None and sys.stdin.isatty():
        return getpass.getpass("secret: ")
    return sys.stdin.readline() if sys.stdin is not None else ""


def secured(protocol: Protocol[Any], keys: GroupKeys | None) -> Protocol[Any]:
    """The protocol as a session's members run it."""
    return protocol if keys is None else secure(protocol, keys, random.SystemRandom(), time.time)


def who(place: Place, command: str = "", source: str | None = None, protocol: str = "") -> str:
    """One line: what receivers paste behind `command`, or that the session is open; empty when all know. `source`: the
    sender's address, where receivers have to name it; `protocol`: likewise, unless it is the default."""
    if place.keys is None:
        return f"open to whoever reaches {place.group}:{place.port} (--secure closes it)"
    if not place.is_new:
        return ""
    words = ["receivers:", command, Link(Address(place.group, place.port), place.keys).text]
    words += ["--protocol", protocol] if protocol else []
    words += ["--source", source] if source is not None else []
    return " ".join(words)

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
from hosts.programs.concealment import conceal
from hosts.programs.keyfile import new_keys, new_seed, public, read_hop_keys, read_secret, read_seed
from hosts.programs.progress import Display
from hosts.programs.registration import Registration
from hosts.protocol import Protocol
from hosts.security.hop import HopKeys
from hosts.security.keyring import KeyRing
from hosts.security.keys import GroupKeys, KeysError
from hosts.security.link import Link, parse_link, parse_secret
from hosts.security.secured import secure
from hosts.security.ticket import Ticket

FIRST_DYNAMIC_PORT: Final = 49152
"""RFC 6335, section 6."""

SecureOption = Annotated[
    bool, typer.Option("--secure", help="Only who has the secret takes part; says what receivers paste.")
]
AskOption = Annotated[bool, typer.Option("--secure", help="Ask for the secret, which takes no part in the command.")]
SecretFileOption = Annotated[
    Path | None,
    typer.Option(help="Only who has the keys or a ticket (canopy keys new, enroll) takes part; -: standard input."),
]
SignedOption = Annotated[
    bool, typer.Option("--signed", help="As --secure, and sign: no other member can pose as the sender.")
]
SignFileOption = Annotated[
    Path | None, typer.Option(help="Sign with what is in this file (canopy keys new --signed).", show_default=False)
]
HopFileOption = Annotated[
    Path | None,
    typer.Option(help="Vouch for feedback that switches merge with the keys in this file.", show_default=False),
]
LinkArgument = Annotated[
    str | None, typer.Argument(help="What the sender printed: canopy://GROUP:PORT#SECRET.", show_default=False)
]


class Secrecy(NamedTuple):
    """What a sender's command line says of it."""

    asked: bool
    signed: bool = False
    secret_file: Path | None = None
    sign_file: Path | None = None
    hop_file: Path | None = None


class Place(NamedTuple):
    """Where a session is, and who takes part."""

    group: str
    port: int
    keys: GroupKeys | KeyRing | None
    """None: whoever reaches the group."""
    is_new: bool = False
    """Keys that nobody else has yet."""
    signer: bytes | None = None
    """The sender's public key, where it signs."""
    seed: bytes | None = None
    """What the sender signs with."""
    hop_keys: HopKeys | None = None
    """Of the host's port, where switches merge feedback."""


def chance_group() -> str:
    """One that does not leave the site: RFC 2365, 6.1."""
    return f"239.255.{secrets.randbelow(256)}.{1 + secrets.randbelow(254)}"


def chance_port() -> int:
    """Of those that nobody is assigned."""
    return FIRST_DYNAMIC_PORT + secrets.randbelow(65536 - FIRST_DYNAMIC_PORT)


def sender_place(group: str | None, port: int | None, secrecy: Secrecy, display: Display) -> Place:
    """A sender's; a session that is sealed may have a group and port of chance. KeysError, OSError."""
    asked, signed, secret_file, sign_file, hop_file = secrecy
    hop_keys = _hop_keys(hop_file, display)
    seed = None if sign_file is None else read_seed(sign_file)
    if signed and secret_file is None and seed is None:
        seed = new_seed()
    signer = None if seed is None else public(seed)
    link = None if secret_file is None else _from_file(secret_file)
    if link is not None and link.group is not None:
        group, port = _only(link.group, group, port)
    if link is not None and link.keys is not None and link.keys.signer != signer:
        raise KeysError(
            "--sign-file: "
            + (
                "who has these keys takes only what is signed"
                if seed is None
                else "not what the members of these keys check by"
            )
        )
    if signed and seed is None:
        raise KeysError("--signed: give --sign-file, which belongs to the keys (canopy keys new --signed)")
    keys = None if link is None else _keys(link.keys, display)
    is_new = keys is None and (asked or seed is not None)
    if is_new:
        if display.is_quiet:
            raise KeysError("--secure: --quiet would hide the secret; use --secret-file")
        keys = new_keys(signer)
    if keys is not None:
        group, port = group or chance_group(), port or chance_port()
    if group is None or port is None:
        raise KeysError("give --group and --port; with --secure they may be left out")
    return Place(group, port, keys, is_new, signer, seed, hop_keys)


def receiver_place(
    link: str | None,
    group: str | None,
    port: int | None,
    *,
    asked: bool,
    secret_file: Path | None,
    display: Display,
    hop_file: Path | None = None,
) -> Place:
    """A receiver's. What is secret of `link` is no longer shown among the process's arguments. KeysError, OSError."""
    filed = None if secret_file is None else _from_file(secret_file)
    found = None if link is None else parse_link(link)
    if link is not None:
        conceal(link.partition("#")[2])
    for said in (found, filed):
        if said is not None and said.group is not None:
            group, port = _only(said.group, group, port)
    if group is None or port is None:
        raise KeysError("give what the sender printed (canopy://..), or --group and --port")
    secret = (filed.keys if filed is not None else None) or (found.keys if found is not None else None)
    if asked and secret is None:
        secret = parse_secret(_ask())
    signer = None if secret is None else secret.signer
    hop_keys = _hop_keys(hop_file, display)
    return Place(group, port, _keys(secret, display), signer=signer, hop_keys=hop_keys)


def _hop_keys(path: Path | None, display: Display) -> HopKeys | None:
    """KeysError, OSError."""
    keys = None if path is None else read_hop_keys(path)
    if keys is not None and keys.later_s:
        display.say(
            f"the clock has been set back since {path} was used last: feedback counts on from then, "
            f"{keys.later_s:.0f} s ahead, for switches take no counter twice"
        )
    return keys


class _Filed(NamedTuple):
    """What a file says, which may be where the session is, too."""

    group: Address | None
    keys: GroupKeys | Ticket | None


def _from_file(path: Path) -> _Filed:
    said = read_secret(path)
    if isinstance(said, GroupKeys):
        return _Filed(None, said)
    if said.keys is None:
        raise KeysError(f"{path}: says where a session is, but has no secret")
    return _Filed(said.group, said.keys)


def _only(said: Address, group: str | None, port: int | None) -> tuple[str, int]:
    """Where the line says that the session is, unless somebody else says otherwise."""
    for option, given, known in (("group", group, said.host), ("port", port, said.port)):
        if given not in (None, known):
            raise KeysError(f"--{option} {given}: the line that begins with canopy:// says {known}")
    return said.host, said.port


def _keys(secret: GroupKeys | Ticket | None, display: Display) -> GroupKeys | KeyRing | None:
    """What endpoints seal with: of a ticket, what its registrar says, now and from now on. KeysError."""
    if isinstance(secret, Ticket) and not secret.token:
        raise KeysError(
            f"{secret.name} has a key of its own: canopy keys accept KEYFILE LINE -o FILE, --secret-file FILE"
        )
    return Registration(secret, display.fail).begin() if isinstance(secret, Ticket) else secret


def _ask() -> str:
    """The secret, from a terminal where nobody sees it, or from standard input."""
    if sys.stdin is not None and sys.stdin.isatty():
        return getpass.getpass("secret: ")
    return sys.stdin.readline() if sys.stdin is not None else ""


def secured(protocol: Protocol[Any], place: Place) -> Protocol[Any]:
    """The protocol as a session's members run it."""
    if place.keys is None:
        return protocol
    return secure(
        protocol,
        place.keys,
        random.SystemRandom(),
        time.time,
        signer=place.signer,
        seed=place.seed,
        hop_keys=place.hop_keys,
    )


def who(place: Place, command: str = "", source: str | None = None, protocol: str = "") -> str:
    """One line: what receivers paste behind `command`, or that the session is open; empty when all know. `source`: the
    sender's address, where receivers have to name it; `protocol`: likewise, unless it is the default."""
    if place.keys is None:
        return f"open to whoever reaches {place.group}:{place.port} (--secure closes it)"
    if not place.is_new or isinstance(place.keys, KeyRing):
        return ""
    words = ["receivers:", command, Link(Address(place.group, place.port), place.keys).text]
    words += ["--protocol", protocol] if protocol else []
    words += ["--source", source] if source is not None else []
    return " ".join(words)

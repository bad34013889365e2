"""A group's registrar on disk: a folder that only its owner may enter.

`registrar.json` says where it listens and where the session is, `registrar.pem` and `.key` are what members know it by.
Commands write `members.json`, the registrar alone `epochs.json`, each as a whole, so that a kill at any moment leaves
either what was or what is. An epoch is on disk before any member hears of it, and a roll that was asked for is done
when the registrar runs again.
"""

import contextlib
import datetime
import errno
import fcntl
import hashlib
import json
import math
import os
import secrets
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from hosts.endpoint import Address
from hosts.programs.keyfile import read_private, write_private
from hosts.security.keys import SECRET_BYTES, SIGNER_BYTES, KeysError, decoded, encoded
from hosts.security.link import Link, parse_link
from hosts.security.registrar import MOST_MEMBERS, Member, Members
from hosts.security.schedule import LEAD_S, OVERLAP_S, Epoch, Schedule
from hosts.security.ticket import NAME, TOKEN_BYTES, Ticket, digest, parse_server

MOST_BYTES: Final = 4 << 20
"""Of a file: 16,384 members take 2.5 MB (ours)."""
VALID: Final = datetime.timedelta(days=3650)
"""Of the registrar's certificate, which members compare byte by byte and which nobody else relies on (ours)."""


class Place(NamedTuple):
    """What does not change about a registrar."""

    host: str
    port: int
    session: Address
    every_s: float
    signer: bytes | None = None
    """The public key of the sender, where it signs."""


class Registry:
    """One folder. Methods raise KeysError, which names the file, and OSError."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.certificate = folder / "registrar.pem"
        self.key = folder / "registrar.key"
        self._place = folder / "registrar.json"
        self._members = folder / "members.json"
        self._epochs = folder / "epochs.json"

    @property
    def is_there(self) -> bool:
        """Whether the folder is a registrar's."""
        return self._place.is_file()

    def create(self, place: Place) -> None:
        """Make it, with a first epoch and no members; whole or not at all."""
        if self.folder.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(self.folder))
        made = Registry(self.folder.with_name(f".{self.folder.name}.{secrets.token_hex(8)}.tmp"))
        made._fill(place)
        made.folder.rename(self.folder)

    def _fill(self, place: Place) -> None:
        self.folder.mkdir(mode=0o700)
        _make_certificate(self.certificate, self.key)
        self.keep_members(Members({}))
        self.keep_epochs(Schedule([Epoch(1, secrets.token_bytes(SECRET_BYTES), time.time())]), 0, 0.0)
        config = {"at": f"{place.host}:{place.port}", "session": Link(place.session, None).text}
        signer = None if place.signer is None else encoded(place.signer)
        said = config | {"every_s": place.every_s, "signer": signer}
        write_private(self._place, json.dumps(said, indent=2))

    def place(self) -> Place:
        """Where it is."""
        said = _read(self._place)
        with _named(self._place):
            host, port = parse_server(str(said["at"]))
            session, signer = parse_link(str(said["session"])).group, said["signer"]
            known = None if signer is None else decoded(signer, SIGNER_BYTES)
            return Place(host, port, session, _number(said["every_s"]), known)

    def fingerprint(self) -> bytes:
        """What members know it by."""
        text = read_private(self.certificate, MOST_BYTES)
        with _named(self.certificate):
            return hashlib.sha256(ssl.PEM_cert_to_DER_cert(text)).digest()

    # --- members

    @property
    def members_changed_at(self) -> int:
        """Differs when the members do."""
        status = self._members.stat()
        return hash((status.st_mtime_ns, status.st_ino))

    def members(self) -> Members:
        """As they are now."""
        said = _read(self._members)
        with _named(self._members):
            found = {
                str(name): Member(
                    decoded(one["key" if "key" in one else "token"], SECRET_BYTES), bool(one["expelled"]), "key" in one
                )
                for name, one in said["members"].items()
            }
            return Members(found, int(said["turns"]))

    def keep_members(self, members: Members) -> None:
        """Instead of those that are there."""
        said = {
            "turns": members.turns,
            "members": {
                name: {"key" if one.is_own else "token": encoded(one.kept), "expelled": one.expelled}
                for name, one in members.members.items()
            },
        }
        write_private(self._members, json.dumps(said, indent=1), replace=True)

    def enroll(self, name: str, key: bytes | None = None) -> Link:
        """One more member, or a new ticket for one whose old one is void from now on; what it is to be given. `key`:
        its own, the public part; then that is no secret."""
        if NAME.fullmatch(name) is None:
            raise KeysError(f"'{name}': a member's name has letters, digits, '.', '_' and '-', 64 at most")
        place, token = self.place(), secrets.token_bytes(TOKEN_BYTES) if key is None else b""
        member = Member(digest(token)) if key is None else Member(key, is_own=True)
        with self._locked():
            members = self.members()
            if len(members.members) >= MOST_MEMBERS and name not in members.members:
                raise KeysError(f"a group has {MOST_MEMBERS} members at most")
            turns = members.turns + (name in members.members)  # who has the old ticket may still know the epoch
            self.keep_members(Members({**members.members, name: member}, turns))
        ticket = Ticket(name, token, place.host, place.port, self.fingerprint(), place.signer, key is not None)
        return Link(place.session, ticket)

    def expel(self, name: str) -> None:
        """A member gets no later epoch, and there will be one soon."""
        with self._locked():
            members = self.members()
            if name not in members.members:
                raise KeysError(f"{self._members}: no member '{name}'")
            gone = members.members[name]._replace(expelled=True)
            self.keep_members(Members({**members.members, name: gone}, members.turns + 1))

    def ask_roll(self) -> None:
        """A new epoch soon."""
        with self._locked():
            members = self.members()
            self.keep_members(members._replace(turns=members.turns + 1))

    # --- epochs

    def epochs(self, now: float) -> tuple[Schedule, int]:
        """The epochs, with times of the clock of `now`, and the count of rolls before them. A clock that went back
        delays nothing by more than a roll takes."""
        said = _read(self._epochs)
        ahead = now - time.time()
        with _named(self._epochs):
            epochs = [
                Epoch(
                    int(one["serial"]),
                    decoded(one["secret"], SECRET_BYTES),
                    min(_number(one["seals_at"]) + ahead, now + LEAD_S),
                    math.inf
                    if one["closes_at"] is None
                    else min(_number(one["closes_at"]) + ahead, now + LEAD_S + OVERLAP_S),
                )
                for one in said["epochs"]
            ]
            return Schedule(epochs), int(said["turns"])

    def keep_epochs(self, schedule: Schedule, turns: int, ahead: float) -> None:
        """`ahead`: what the clock of the schedule's times shows more than the time since 1970, seconds."""
        epochs = [
            {
                "serial": one.serial,
                "secret": encoded(one.secret),
                "seals_at": one.seals_at - ahead,
                "closes_at": None if math.isinf(one.closes_at) else one.closes_at - ahead,
            }
            for one in schedule.epochs
        ]
        write_private(self._epochs, json.dumps({"turns": turns, "epochs": epochs}, indent=1), replace=True)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Two commands at once do one after the other."""
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            for left in self.folder.glob(f".{self._members.name}.*.tmp"):  # by one that was killed
                left.unlink()
            yield
        finally:
            os.close(descriptor)


def _read(path: Path) -> dict[str, Any]:
    text = read_private(path, MOST_BYTES)
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        raise KeysError(f"{path}: not whole, or no registrar's file") from None
    if not isinstance(said, dict):
        raise KeysError(f"{path}: no registrar's file")
    return said


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Errors that say which file is wrong, and nothing of what is in it."""
    try:
        yield
    except KeysError as error:
        raise KeysError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise KeysError(f"{path}: no registrar's file") from None


def _number(said: Any) -> float:
    number = float(said)
    if not math.isfinite(number):
        raise ValueError(said)
    return number


def _make_certificate(certificate: Path, key: Path) -> None:
    """One that it signs itself: members know it by its fingerprint."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "canopy registrar")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, private.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + VALID)
        .sign(private, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    pem = private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    write_private(key, pem.decode())
    write_private(certificate, made.public_bytes(serialization.Encoding.PEM).decode())

"""Accounts of packets at switches, kept in a file beside a run: what a switch did, and when, in its trace's lines."""

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class ExplainError(Exception):
    """A run or a packet cannot be explained; one line for the user."""


INGRESS = 0
"""Stands for the port in the account of what came before a packet was copied."""

LONGEST_WAIT_US = 10_000_000
"""In a queue: no packet is looked for that left later."""

_TABLES = """
CREATE TABLE blocks (id INTEGER PRIMARY KEY, text BLOB NOT NULL);
CREATE TABLE accounts (
    switch TEXT NOT NULL, number INTEGER NOT NULL, out INTEGER NOT NULL, us INTEGER NOT NULL, came INTEGER NOT NULL,
    size INTEGER NOT NULL, kind TEXT NOT NULL, block INTEGER NOT NULL, start INTEGER NOT NULL, length INTEGER NOT NULL
);
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
_INDEXES = """
CREATE INDEX by_number ON accounts (switch, number);
CREATE INDEX by_time ON accounts (switch, out, us);
"""
_COLUMNS = "switch, number, out, us, came, size, kind, block, start, length"


@dataclass(frozen=True, slots=True)
class Account:
    """One packet in a switch: from its arrival until it was copied, or (`out`) one copy from its queue on."""

    switch: str
    number: int
    """The switch's own, from 1."""
    out: int
    """The port that the copy leaves by; INGRESS: it is the packet before that."""
    us: int
    """Microseconds in the run: arrival, or the end of waiting in the port's queue."""
    came: int
    """The port that the packet came in by."""
    size: int
    """Bytes, with the Ethernet header; of a copy that was dropped 0."""
    kind: str
    """The last thing that the parser knew it for."""
    block: int
    start: int
    length: int

    @property
    def name(self) -> str:
        """What a person calls the packet at this switch."""
        return f"{self.switch}:{self.number}"


class Store:
    """The accounts of a run. What reads a damaged file, or none of ours, raises whatever it may: read `intact`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = sqlite3.connect(path, check_same_thread=False)
        self._block: tuple[int, str] = (-1, "")

    def create(self) -> None:
        """Make the tables. To be followed by `add` and, at the end, `finish`."""
        self._database.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;" + _TABLES)

    def add(self, text: str, accounts: Iterable[Sequence[object]]) -> None:
        """Add a block of text and the accounts in it, each with its columns but the block."""
        block = self._database.execute(
            "INSERT INTO blocks (text) VALUES (?)", (zlib.compress(text.encode(), 1),)
        ).lastrowid
        self._database.executemany(
            f"INSERT INTO accounts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, {block}, ?, ?)", accounts
        )

    def finish(self, facts: Iterable[tuple[str, str]]) -> None:
        """Say what is known of the whole."""
        self._database.executescript(_INDEXES)
        self._database.executemany("INSERT INTO facts VALUES (?, ?)", facts)
        self._database.commit()

    def close(self) -> None:
        """Let the file go."""
        self._database.close()

    def fact(self, name: str) -> str:
        """Something known of the whole; empty when it is not."""
        row = self._database.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return "" if row is None else str(row[0])

    def packet(self, switch: str, number: int) -> list[Account]:
        """A packet's accounts: its arrival, and its copies as they left."""
        return self._find("switch = ? AND number = ? ORDER BY out", switch, number)

    def arrivals(self, switch: str, since_us: int, until_us: int, limit: int) -> list[Account]:
        """Packets that came to a switch between two times."""
        where = "switch = ? AND out = 0 AND us BETWEEN ? AND ? ORDER BY us LIMIT ?"
        return self._find(where, switch, since_us, until_us, limit)

    def departures(self, switch: str, out: int, since_us: int, until_us: int, limit: int = 100) -> list[Account]:
        """Copies that left by a port between two times."""
        where = "switch = ? AND out = ? AND us BETWEEN ? AND ? ORDER BY us LIMIT ?"
        return self._find(where, switch, out, since_us, until_us, limit)

    def waiting(self, switch: str, out: int, number: int, us: int) -> int:
        """How many copies stood in a port's queue, or were being sent, when packet `number` came at `us`."""
        copies = self._database.execute(
            "SELECT copy.number FROM accounts AS copy JOIN accounts AS packet ON packet.switch = copy.switch AND "
            "packet.number = copy.number AND packet.out = 0 WHERE copy.switch = ? AND copy.out = ? AND copy.us > ? "
            "AND copy.us <= ? AND packet.us <= ? AND copy.number < ?",
            (switch, out, us, us + LONGEST_WAIT_US, us, number),
        )
        return sum(1 for _ in copies)

    def text(self, account: Account) -> str:
        """An account's lines."""
        if self._block[0] != account.block:
            row = self._database.execute("SELECT text FROM blocks WHERE id = ?", (account.block,)).fetchone()
            self._block = (account.block, zlib.decompress(row[0]).decode())
        return self._block[1][account.start : account.start + account.length]

    def _find(self, where: str, *values: object) -> list[Account]:
        with closing(self._database.execute(f"SELECT {_COLUMNS} FROM accounts WHERE {where}", values)) as cursor:
            return [_account(*row) for row in cursor]


def _account(switch: object, *numbers_and_kind: Any) -> Account:
    """From a row, whose columns may be of any type, whatever the table says."""
    *before, kind, block, start, length = numbers_and_kind
    number, out, us, came, size = map(int, before)
    return Account(str(switch), number, out, us, came, size, str(kind), int(block), int(start), int(length))


@contextmanager
def intact(path: Path) -> Iterator[None]:
    """While the accounts in a file are read: whatever is wrong there is an ExplainError that says so."""
    try:
        yield
    except (sqlite3.Error, zlib.error, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ExplainError(f"{path}: damaged ({error}); without this file the run is played again") from None

"""What a switch did with a packet, from the lines of its trace."""

import re
from dataclasses import dataclass, field

_TABLE = re.compile(r"Table '(.+)': (?:hit with handle (\d+)|(miss))")
_ACTION = re.compile(r"Action ([\w.]+)\((.*)\)")
_HEADER = re.compile(r"\s+header '(\w+)' is valid: (.*)")
_CHANGE = re.compile(r"\s+(\w+)\.(\w+) = (\w+) \(was (\w+)\)")
_REGISTER = re.compile(r"\s+register (\w+)\[(\d+)\] = (\w+)")
_READ = re.compile(r"\s+register (\w+)\[(\d+)\] is read")
_COUNTER = re.compile(r"\s+counter (\w+)\[(\d+)\] counts")
_SMALL = 1 << 16
_MOST_DIGITS = 16
"""Of a value in full: a register's word. Of a longer one, beginning and end tell it from others."""
_KEPT_DIGITS = 6


@dataclass(slots=True)
class Passage:
    """A packet's way through one control of a switch, or through several."""

    headers: dict[str, dict[str, int]] = field(default_factory=dict)
    """What the parser found: header -> field -> value."""
    tables: list[str] = field(default_factory=list)
    """Tables that were looked up, and what came of it."""
    written: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    """Registers."""
    counted: list[tuple[str, int]] = field(default_factory=list)
    """Counters and their cells."""
    changes: list[str] = field(default_factory=list)
    """Fields of the packet that are other than they were."""
    ends: list[str] = field(default_factory=list)
    """What became of it: copies, a drop."""


def read_passage(text: str) -> Passage:
    """The account of a packet's arrival, or of a copy."""
    passage = Passage()
    changed: dict[tuple[str, str], tuple[str, str]] = {}
    waiting: str | None = None
    for line in text.splitlines():
        if match := _TABLE.match(line):
            waiting = f"{match[1]} {'missed' if match[3] else f'hit entry {match[2]}'}"
            passage.tables.append(waiting)
        elif match := _ACTION.match(line):
            if waiting is not None and passage.tables:
                passage.tables[-1] = f"{waiting}: {match[1].rpartition('.')[2]}({match[2]})"
            waiting = None
        elif match := _REGISTER.match(line):
            passage.written.append(f"{match[1]}[{match[2]}] = {_shortened(match[3])}")
        elif match := _READ.match(line):
            passage.read.append(f"{match[1]}[{match[2]}]")
        elif match := _COUNTER.match(line):
            passage.counted.append((match[1], int(match[2])))
        elif match := _HEADER.match(line):
            passage.headers.setdefault(match[1], _fields(match[2]))
        elif match := _CHANGE.match(line):
            key = (match[1], match[2])
            changed[key] = (changed.get(key, (match[4], ""))[0], match[3])
        elif line.startswith(
            ("Multicast group", "Dropping", "Cloning", "Resubmitting", "Recirculating", "Egress port")
        ):
            passage.ends.append(line)
    for (header, member), (before, after) in changed.items():
        name = f"{header}.{member}"
        if header in passage.headers and member != "checksum":  # others are the program's own variables
            passage.changes.append(f"{name} {_value(name, before)} → {_value(name, after)}")
    return passage


def _fields(text: str) -> dict[str, int]:
    found = {}
    for part in text.split(", "):
        name, _, value = part.partition(" ")
        try:
            found[name] = int(value, 0)
        except ValueError:
            continue
    return found


def _value(name: str, text: str) -> str:
    """A field's value as people write it: addresses, and small numbers."""
    value = int(text, 0)
    if name in ("ethernet.source", "ethernet.destination"):
        return ":".join(f"{octet:02x}" for octet in value.to_bytes(6, "big"))
    if name in ("ipv4.source", "ipv4.destination"):
        return dotted(value)
    return str(value) if value < _SMALL else _shortened(text)


def _shortened(text: str) -> str:
    """A value of many digits by its first and last ones, and how many there are."""
    digits = len(text) - len("0x")
    if digits <= _MOST_DIGITS:
        return text
    return f"{text[: _KEPT_DIGITS + len('0x')]}…{text[-_KEPT_DIGITS:]} ({digits} digits)"


def dotted(address: int) -> str:
    """An IPv4 address."""
    return ".".join(str(address >> shift & 0xFF) for shift in (24, 16, 8, 0))

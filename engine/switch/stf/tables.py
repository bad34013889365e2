"""Table statements: `add`, `setdefault`, `remove all`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.switch.p4runtime.bytestrings import padded
from engine.switch.p4runtime.program import Action, KeyField, Program, Table
from engine.switch.stf import values
from engine.switch.stf.errors import StfError
from engine.switch.stf.names import find, find_key_field

if TYPE_CHECKING:
    from canopy_engine import MatchKey, Switch

# `add TABLE [PRIORITY] FIELD:VALUE... ACTION(PARAM:VALUE, ...) [= $HANDLE]`
ADD = re.compile(
    r"(?P<table>\S+)\s+(?:(?P<priority>\d+)\s+)?(?P<keys>[^()]*?)(?P<action>[^\s()]+)\s*\((?P<args>[^()]*)\)"
    r"(?:\s*=\s*\$?(?P<handle>\w+))?"
)
SETDEFAULT = re.compile(r"(?P<table>\S+)\s+(?P<action>[^\s()]+)\s*\((?P<args>[^()]*)\)")

# An entry of a table that needs priorities, written without one, comes after all that have one.
NO_PRIORITY = 0


@dataclass(frozen=True, slots=True)
class Handle:
    """An entry that the test has given a name, for `check_counter`."""

    table: str
    key: list[MatchKey]
    priority: int


class Tables:
    def __init__(self, switch: Switch, program: Program) -> None:
        self.handles: dict[str, Handle] = {}
        self._switch = switch
        self._program = program

    def add(self, rest: str) -> None:
        parts = ADD.fullmatch(rest)
        if parts is None:
            raise StfError(
                "add needs a table, its key and an action: `add TABLE [PRIORITY] FIELD:VALUE... ACTION(...)`"
            )
        table = self._table(parts["table"])
        key = _key(table, parts["keys"].split())
        action, params = _call(table, parts["action"], parts["args"])
        # Tests say it as the engine does: the larger priority wins.
        priority = int(parts["priority"] or NO_PRIORITY) if _needs_priority(table) else 0
        self._switch.table_add(table.name, key, action.name, params, priority)
        if parts["handle"]:
            self.handles[parts["handle"]] = Handle(table.name, key, priority)

    def set_default(self, rest: str) -> None:
        parts = SETDEFAULT.fullmatch(rest)
        if parts is None:
            raise StfError("setdefault needs a table and an action: `setdefault TABLE ACTION(...)`")
        table = self._table(parts["table"])
        action, params = _call(table, parts["action"], parts["args"])
        self._switch.table_set_default(table.name, action.name, params)

    def remove(self, rest: str) -> None:
        if rest != "all":
            raise StfError("only `remove all` is known")
        for name in self._program.tables:
            for entry in self._switch.table_entries(name):
                if not entry["is_const"]:
                    self._switch.table_delete(name, entry["match"], entry["priority"])
        self.handles.clear()

    def _table(self, name: str) -> Table:
        return self._program.tables[find(name, self._program.tables, "table")]


def _needs_priority(table: Table) -> bool:
    return any(field.kind in ("ternary", "range", "optional") for field in table.key)


def _key(table: Table, words: list[str]) -> list[MatchKey]:
    key = [_default(field) for field in table.key]
    for word in words:
        name, separator, text = word.rpartition(":")
        if not separator:
            raise StfError(f"`{word}` is not FIELD:VALUE")
        position = find_key_field(name, table)
        key[position] = _match(table.key[position], text)
    return key


def _default(field: KeyField) -> MatchKey:
    """What a field that the test leaves out matches: everything, or 0 where the match is exact."""
    zero = padded(0, field.width)
    match field.kind:
        case "lpm":
            return zero, 0
        case "ternary":
            return zero, zero
        case "range":
            return zero, padded((1 << field.width) - 1, field.width)
        case "optional":
            return None
        case _:
            return zero


def _match(field: KeyField, text: str) -> MatchKey:
    what, width = field.name, field.width
    match field.kind:
        case "lpm":
            value, length = values.prefix(text, width, what)
            return padded(value, width), length
        case "ternary":
            value, mask = values.ternary(text, width, what)
            return padded(value & mask, width), padded(mask, width)
        case "range":
            low, high = values.interval(text, width, what)
            return padded(low, width), padded(high, width)
        case _:
            return padded(values.number(text, width, what), width)


def _call(table: Table, name: str, args: str) -> tuple[Action, list[bytes]]:
    action = table.actions[find(name, table.actions, f"action in table {table.name},")]
    given = {}
    for part in filter(None, (part.strip() for part in args.split(","))):
        param, separator, text = part.partition(":")
        if not separator or param.strip() not in action.param_names:
            known = ", ".join(action.param_names) or "none"
            raise StfError(f"`{part}` is not PARAMETER:VALUE for {action.name}, whose parameters are {known}")
        given[param.strip()] = text.strip()
    if missing := [param for param in action.param_names if param not in given]:
        raise StfError(f"action {action.name} needs {', '.join(missing)}")
    widths = zip(action.param_names, action.param_widths, strict=True)
    return action, [padded(values.number(given[param], width, param), width) for param, width in widths]

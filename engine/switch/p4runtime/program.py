"""What the server has to know of p4c's BMv2 JSON, and the check that a P4Info describes the same program."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from finsy.proto import p4i

from engine.switch.p4runtime.errors import invalid_argument
from engine.switch.p4runtime.p4info import MATCH_TYPE_NAMES, ActionInfo, MatchFieldInfo, P4InfoIndex
from engine.switch.p4runtime.p4info import TableInfo as TableOfP4Info

if TYPE_CHECKING:
    from canopy_engine import Switch, TableInfo

# The JSON's match kinds that can stand for one of P4Info's. p4c writes `optional` as `ternary`.
JSON_KINDS_OF: dict[int, frozenset[str]] = {
    p4i.MatchField.EXACT: frozenset({"exact", "valid"}),
    p4i.MatchField.LPM: frozenset({"lpm"}),
    p4i.MatchField.TERNARY: frozenset({"ternary"}),
    p4i.MatchField.RANGE: frozenset({"range"}),
    p4i.MatchField.OPTIONAL: frozenset({"optional", "ternary"}),
}

ANONYMOUS_DIGEST = re.compile(r"digest_\d+")
TUPLE_DIGEST = re.compile(r"tuple_\d+")


@dataclass(frozen=True, slots=True)
class KeyField:
    """One field of a table's key. `width` in bits; `kind` is the JSON's match kind."""

    name: str
    width: int
    kind: str


@dataclass(frozen=True, slots=True)
class Action:
    """One version of an action: p4c writes an action once per use, always with the same parameters."""

    name: str
    param_names: tuple[str, ...]
    param_widths: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """`is_filled`: the program brings its entries along, constant or not."""

    name: str
    key: tuple[KeyField, ...]
    actions: dict[str, Action]
    profile: str | None
    has_counters: bool
    direct_meter: str | None
    idle_timeout: bool
    is_filled: bool


@dataclass(frozen=True, slots=True)
class Program:
    """The objects of a BMv2 JSON that P4Info can name, by name; sizes in cells.

    `headers`: the widths of each header type's fields, in bits, by the fields' names."""

    tables: dict[str, Table]
    actions: dict[str, Action]
    profiles: frozenset[str]
    counters: dict[str, int]
    meters: dict[str, int]
    registers: dict[str, int]
    digests: dict[str, int]
    value_sets: frozenset[str]
    enums: dict[str, dict[int, str]]
    errors: dict[int, str]
    headers: dict[tuple[str, ...], tuple[int, ...]]


def read_program(switch: Switch, text: str) -> Program:
    """What `switch`, which has loaded the JSON `text`, says of its tables, and the JSON of the rest.

    Raises INVALID_ARGUMENT."""
    tables = {name: _table(switch.table_info(name)) for name in switch.tables()}
    actions = {action.name: action for table in tables.values() for action in table.actions.values()}
    try:
        return replace(_without_tables(text), tables=tables, actions=actions)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise invalid_argument(f"the device config is not p4c's BMv2 JSON: {error!r}") from error


@lru_cache(maxsize=1)  # a network's switches all run the same program
def _without_tables(text: str) -> Program:
    root: dict[str, Any] = json.loads(text)
    return Program(
        tables={},
        actions={},
        profiles=frozenset(p["name"] for pipe in root["pipelines"] for p in pipe.get("action_profiles", ())),
        counters={c["name"]: c["size"] for c in root.get("counter_arrays", ()) if not c["is_direct"]},
        meters={m["name"]: m["size"] for m in root.get("meter_arrays", ()) if not m["is_direct"]},
        registers={r["name"]: r["size"] for r in root.get("register_arrays", ())},
        digests={d["name"]: len(d["elements"]) for d in root.get("learn_lists", ())},
        value_sets=frozenset(v["name"] for v in root.get("parse_vsets", ())),
        enums={e["name"]: {value: name for name, value in e["entries"]} for e in root.get("enums", ())},
        errors={value: name for name, value in root.get("errors", ())},
        headers={
            tuple(field[0] for field in header["fields"]): tuple(field[1] for field in header["fields"])
            for header in root["header_types"]
            if all(isinstance(field[1], int) for field in header["fields"])
        },
    )


def _table(info: TableInfo) -> Table:
    actions = (
        Action(action["name"], tuple(p[0] for p in action["params"]), tuple(p[1] for p in action["params"]))
        for action in info["actions"]
    )
    return Table(
        name=info["name"],
        key=tuple(KeyField(field["name"], field["bits"], field["kind"]) for field in info["key"]),
        actions={action.name: action for action in actions},
        profile=info["profile"],
        has_counters=info["has_counters"],
        direct_meter=info["meter"],
        idle_timeout=info["supports_timeout"],
        is_filled=info["is_const"],
    )


def check_consistency(info: P4InfoIndex, program: Program) -> None:
    """Raises INVALID_ARGUMENT, naming the object, when the P4Info is not that of the program."""
    for action in info.actions:
        if (json_action := program.actions.get(action.name)) is not None:
            _check_action(action, json_action)
    for table in info.tables:
        json_table = program.tables.get(table.name)
        if json_table is None:
            raise _mismatch("table", table.name, "is not in the device config")
        _check_table(table, json_table, info)
    # p4c leaves a profile that no table uses out of the JSON.
    _check_names("action profile", [p.name for p in info.profiles if p.table_ids], program.profiles)
    _check_names("value set", [v.name for v in info.value_sets], program.value_sets)
    digest_names(info, program)
    _check_sizes("counter", [(c.name, c.size) for c in info.counters], program.counters)
    _check_sizes("meter", [(m.name, m.size) for m in info.meters], program.meters)
    _check_sizes("register", [(r.name, r.size) for r in info.registers], program.registers)


def digest_names(info: P4InfoIndex, program: Program) -> dict[str, str]:
    """The device config's name for each of P4Info's digests. Raises INVALID_ARGUMENT when one has none.

    p4c calls the digests of anonymous tuples digest_0, digest_1, ... in the P4Info and tuple_0, ... in the JSON."""
    tuples = iter(sorted(name for name in program.digests if TUPLE_DIGEST.fullmatch(name)))
    names = {}
    for digest in info.digests:
        name = digest.name
        if name not in program.digests and ANONYMOUS_DIGEST.fullmatch(name):
            name = next(tuples, name)
        if name not in program.digests:
            raise _mismatch("digest", digest.name, "is not in the device config")
        names[digest.name] = name
    return names


def _mismatch(kind: str, name: str, why: str) -> Exception:
    return invalid_argument(f"P4Info and device config disagree: {kind} {name!r} {why}")


def _check_names(kind: str, names: Sequence[str], known: frozenset[str] | dict[str, int]) -> None:
    for name in names:
        if name not in known:
            raise _mismatch(kind, name, "is not in the device config")


def _check_sizes(kind: str, sizes: Sequence[tuple[str, int]], known: dict[str, int]) -> None:
    for name, size in sizes:
        if name not in known:
            raise _mismatch(kind, name, "is not in the device config")
        if size != known[name]:
            raise _mismatch(kind, name, f"has {size} cells in the P4Info and {known[name]} in the device config")


def _check_action(action: ActionInfo, json_action: Action) -> None:
    names = tuple(p.name for p in action.params)
    if len(names) != len(json_action.param_names):
        raise _mismatch(
            "action", action.name, f"has {len(names)} parameters, not the {len(json_action.param_names)} of the program"
        )
    for param, name, width in zip(action.params, json_action.param_names, json_action.param_widths, strict=True):
        if param.name != name:
            raise _mismatch("action", action.name, f"has a parameter {param.name!r} where the program has {name!r}")
        # A translated type has another width for the controller than for the program; values have to fit both.
        if param.width != width and not param.translated:
            raise _mismatch("action", action.name, f"has {param.width} bits for {name!r}, the program {width}")


def _check_table(table: TableOfP4Info, json_table: Table, info: P4InfoIndex) -> None:
    if len(table.fields) != len(json_table.key):
        raise _mismatch("table", table.name, f"has {len(table.fields)} match fields, not {len(json_table.key)}")
    for field, json_field in zip(table.fields, json_table.key, strict=True):
        _check_field(table, field, json_field)
    for id_ in table.action_scopes:
        if info.actions[id_].name not in json_table.actions:
            raise _mismatch("table", table.name, f"does not have the action {info.actions[id_].name!r} in the program")
    profile = info.profiles[table.profile_id].name if table.profile_id else None
    if profile != json_table.profile:
        raise _mismatch("table", table.name, f"is implemented by {profile!r}, not {json_table.profile!r}")
    if table.direct_counter_id and not json_table.has_counters:
        raise _mismatch("table", table.name, "has a direct counter that the program lacks")
    if table.direct_meter_id and json_table.direct_meter is None:
        raise _mismatch("table", table.name, "has a direct meter that the program lacks")
    if table.idle_timeout and not json_table.idle_timeout:
        raise _mismatch("table", table.name, "supports idle timeouts, the program's does not")


def _check_field(table: TableOfP4Info, field: MatchFieldInfo, json_field: KeyField) -> None:
    if field.name != json_field.name:
        raise _mismatch("table", table.name, f"matches {field.name!r} where the program has {json_field.name!r}")
    # P4Info has no width for a field of type error.
    if field.width not in (0, json_field.width) and not field.translated:
        raise _mismatch("table", table.name, f"has {field.width} bits for {field.name!r}, not {json_field.width}")
    if json_field.kind not in JSON_KINDS_OF[field.match_type]:
        kind = MATCH_TYPE_NAMES[field.match_type]
        raise _mismatch("table", table.name, f"matches {field.name!r} as {kind}, the program as {json_field.kind}")

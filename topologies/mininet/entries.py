"""Writes a switch's entries over P4Runtime, from a JSON file of the form that p4lang's tutorials use:

    {"table_entries": [
        {"table": "BasicIngress.route.routes", "match": {"ipv4.destination": ["10.0.0.1", 32]},
         "action_name": "BasicIngress.route.forward", "action_params": {"next_hop": "00:00:00:00:00:01", "port": 1}},
        {"table": "...", "default_action": true, "action_name": "...", "action_params": {}}],
     "multicast_group_entries": [{"multicast_group_id": 1, "replicas": [{"egress_port": 1, "instance": 1}]}],
     "clone_session_entries": [{"clone_session_id": 5, "replicas": [{"egress_port": 1, "instance": 1}]}]}

A match is a value; a list of value and prefix length (lpm), of value and mask (ternary), or of the least and the
greatest value (range). `python -m topologies.mininet.entries ADDRESS DEVICE_ID FILE ...`, the three for each switch,
writes them as primary controller, and leaves.
"""

import asyncio
import json
import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import finsy as fy

ELECTION_ID = 1
"""Low, so that any controller that comes takes over."""
KINDS = ("table_entries", "multicast_group_entries", "clone_session_entries")
NOT_ENTRIES = ("target", "p4info", "bmv2_json")
"""What the tutorials' files say besides; CanopySwitch is told it otherwise."""
BETWEEN = {"lpm": "{}/{}", "ternary": "{}/&{}", "range": "{}...{}"}
"""Kind of match -> how finsy writes a pair of values."""


class EntriesError(Exception):
    """The file is no list of entries; one line for the user."""


def read_entries(path: Path) -> dict[str, list[dict[str, Any]]]:
    """The file's entries by kind. EntriesError."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EntriesError(f"{path}: {error}") from None
    if not isinstance(found, dict):
        raise EntriesError(f"{path}: not an object with {', '.join(KINDS)}")
    if unknown := sorted(found.keys() - {*KINDS, *NOT_ENTRIES}):
        raise EntriesError(f"{path}: unknown: {', '.join(unknown)} (known: {', '.join(KINDS)})")
    for kind in KINDS:
        entries = found.setdefault(kind, [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise EntriesError(f"{path}: {kind}: not a list of objects")
    return found


def describe(entries: Mapping[str, Sequence[Mapping[str, Any]]], p4info: fy.P4Schema) -> list[Any]:
    """The entries as finsy's updates. EntriesError names the one that is wrong."""
    updates = []
    makers = {"table_entries": _table_entry, "multicast_group_entries": _group, "clone_session_entries": _session}
    for kind, make in makers.items():
        for number, entry in enumerate(entries[kind]):
            try:
                updates.append(make(entry, p4info))
                updates[-1].encode_update(p4info)
            except KeyError as error:
                raise EntriesError(f"{kind}[{number}]: {error} is missing") from None
            except (ValueError, TypeError, AttributeError) as error:
                raise EntriesError(f"{kind}[{number}]: {error}") from None
    return updates


def _table_entry(entry: Mapping[str, Any], p4info: fy.P4Schema) -> Any:
    name = entry["table"]
    try:
        table = p4info.tables[name]
    except ValueError as error:
        raise ValueError(f"{error} (the program has {', '.join(one.name for one in p4info.tables)})") from None
    action = fy.Action(entry["action_name"], **dict(entry.get("action_params", {})))
    if entry.get("default_action", False):
        return ~fy.P4TableEntry(name, is_default_action=True, action=action)
    match = {key: _match(table.match_fields[key], value) for key, value in dict(entry.get("match", {})).items()}
    priority = entry.get("priority", 0)
    return +fy.P4TableEntry(name, match=fy.Match(match), action=action, priority=priority)


def _match(field: Any, value: Any) -> Any:
    """A field's value as finsy takes it."""
    if not isinstance(value, list):
        return value
    form = BETWEEN.get(field.match_type.name.lower())
    if len(value) == 1:
        return value[0]
    if form is None or len(value) != 2:
        raise ValueError(f"`{field.name}` takes one value, or a pair for a prefix, mask or range")
    return form.format(*value)


def _replicas(entry: Mapping[str, Any]) -> list[tuple[int, int]]:
    return [(replica["egress_port"], replica.get("instance", 0)) for replica in entry["replicas"]]


def _group(entry: Mapping[str, Any], _p4info: fy.P4Schema) -> Any:
    return +fy.P4MulticastGroupEntry(entry["multicast_group_id"], replicas=_replicas(entry))


def _session(entry: Mapping[str, Any], _p4info: fy.P4Schema) -> Any:
    length = entry.get("packet_length_bytes", 0)
    return +fy.P4CloneSessionEntry(entry["clone_session_id"], replicas=_replicas(entry), packet_length_bytes=length)


async def write_entries(address: str, device_id: int, path: Path) -> int:
    """Write a file's entries to a switch that has its program already; how many. EntriesError."""
    entries = read_entries(path)
    options = fy.SwitchOptions(device_id=device_id, initial_election_id=ELECTION_ID, fail_fast=True)
    async with fy.Switch("switch", address, options) as switch:
        try:
            updates = describe(entries, switch.p4info)
        except EntriesError as error:
            raise EntriesError(f"{path}: {error}") from None
        try:
            await switch.write(updates)
        except fy.P4ClientError as error:
            raise EntriesError(f"{path}: the switch refuses: {error}") from None
    return len(updates)


async def _write_all(places: Sequence[Sequence[str]]) -> None:
    for address, device_id, path in places:
        await write_entries(address, int(device_id), Path(path))


def main(arguments: Sequence[str]) -> int:
    """The exit status: 0, or 1 with a line that says why."""
    logging.disable(logging.CRITICAL)
    try:
        asyncio.run(_write_all([arguments[first : first + 3] for first in range(0, len(arguments), 3)]))
    except EntriesError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

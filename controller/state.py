"""A switch's control state as a set of entries, and the difference between what it has and what it should have.

An entry is a finsy entity with a key (what it is about) and a value (what it says), both readable text. Equality of two
states is equality of those texts, so a test can assert a switch's whole state as a set of strings.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import finsy as fy

Entity = fy.P4TableEntry | fy.P4MulticastGroupEntry | fy.P4CloneSessionEntry | fy.P4DigestEntry | fy.P4MeterEntry


@dataclass(frozen=True)
class Entry:
    """One entity with its comparable texts."""

    key: str
    value: str
    entity: Entity

    def __str__(self) -> str:
        return f"{self.key} -> {self.value}"


State = dict[str, Entry]


def describe(entity: Entity, schema: fy.P4Schema) -> Entry:
    """The texts of an entity. One that came from a switch and one made here give the same texts for the same meaning:
    values are formatted by the schema, replicas and parameters are put in order."""
    if isinstance(entity, fy.P4TableEntry):
        entity_again = fy.P4TableEntry.decode(entity.encode(schema), schema)
        what = "default" if entity.is_default_action else entity_again.match_str(schema)
        priority = f" priority={entity.priority}" if entity.priority else ""
        return Entry(f"{entity_again.table_id} {what}{priority}", _action_text(entity_again, schema), entity)
    if isinstance(entity, fy.P4MulticastGroupEntry):
        decoded = fy.P4MulticastGroupEntry.decode(entity.encode(schema), schema)
        return Entry(f"multicast_group {decoded.multicast_group_id}", _replicas_text(decoded), entity)
    if isinstance(entity, fy.P4CloneSessionEntry):
        session = fy.P4CloneSessionEntry.decode(entity.encode(schema), schema)
        value = f"{_replicas_text(session)} class={session.class_of_service} bytes={session.packet_length_bytes}"
        return Entry(f"clone_session {session.session_id}", value, entity)
    if isinstance(entity, fy.P4MeterEntry):
        config = entity.config
        value = f"cir={config.cir}/{config.cburst} pir={config.pir}/{config.pburst}" if config else "none"
        return Entry(f"meter {entity.meter_id}[{entity.index}]", value, entity)
    value = f"list={entity.max_list_size} timeout={entity.max_timeout_ns} ack={entity.ack_timeout_ns}"
    return Entry(f"digest {entity.digest_id}", value, entity)


def make_state(entries: Iterable[Entry]) -> State:
    """Entries by key. Two of the same key are a defect of the caller: ValueError."""
    state: State = {}
    for entry in entries:
        if entry.key in state:
            raise ValueError(f"two entries for {entry.key}")
        state[entry.key] = entry
    return state


@dataclass(frozen=True)
class Difference:
    """What to write, in the order in which it disturbs traffic least: a group exists before an entry points to it, and
    nothing is taken away before its replacement is there."""

    inserts: tuple[Entry, ...]
    modifies: tuple[Entry, ...]
    deletes: tuple[Entry, ...]

    def __len__(self) -> int:
        return len(self.inserts) + len(self.modifies) + len(self.deletes)

    def __str__(self) -> str:
        return f"{len(self.inserts)} inserted, {len(self.modifies)} modified, {len(self.deletes)} deleted"


def difference(have: State, want: State) -> Difference:
    """What turns `have` into `want`."""
    inserts: list[Entry] = []
    modifies: list[Entry] = []
    for key, entry in want.items():
        had = have.get(key)
        if had is None:
            (modifies if _always_there(entry) else inserts).append(entry)
        elif had is not entry and had.value != entry.value:
            modifies.append(entry)
    deletes = [entry for key, entry in have.items() if key not in want and not _always_there(entry)]
    return Difference(
        tuple(sorted(inserts, key=_groups_first)),
        tuple(sorted(modifies, key=_groups_first)),
        tuple(sorted(deletes, key=_groups_first, reverse=True)),
    )


def _groups_first(entry: Entry) -> bool:
    return not isinstance(entry.entity, fy.P4MulticastGroupEntry | fy.P4CloneSessionEntry)


def _always_there(entry: Entry) -> bool:
    """A table's default action and a meter's cells are only ever modified (P4Runtime, sections 9.1 and 9.4)."""
    entity = entry.entity
    return isinstance(entity, fy.P4MeterEntry) or (isinstance(entity, fy.P4TableEntry) and entity.is_default_action)


def _replicas_text(entity: fy.P4MulticastGroupEntry | fy.P4CloneSessionEntry) -> str:
    return " ".join(sorted(entity.replicas_str().split(), key=lambda replica: (len(replica), replica)))


def _action_text(entry: fy.P4TableEntry, schema: fy.P4Schema) -> str:
    action = entry.action
    if isinstance(action, fy.P4TableAction):
        action = fy.P4TableAction(action.name, **dict(sorted(action.args.items())))
        return action.format_str(schema.tables[entry.table_id])
    return entry.action_str(schema)

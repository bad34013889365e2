"""The kinds of entities that this target has, in one table: what writes each, and what a Read selects of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeAlias

from finsy.proto import p4r

from engine.switch.p4runtime import meters, selection
from engine.switch.p4runtime.errors import invalid_argument, unimplemented
from engine.switch.p4runtime.pipeline import Pipeline, by_id, direct_target
from engine.switch.p4runtime.tables import check_counts
from engine.switch.p4runtime.undo import Undo, nothing

Operation: TypeAlias = Callable[[], Undo]


@dataclass(frozen=True, slots=True)
class Writer:
    """What each type of update does with one entity; None for types that its kind does not have."""

    modify: Operation
    insert: Operation | None = None
    delete: Operation | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of entity. Both raise P4RuntimeError for a message that names what there is not."""

    writer: Callable[[Pipeline, p4r.Entity], Writer]
    select: Callable[[Pipeline, p4r.Entity], Iterator[p4r.Entity]]


def kind_of(entity: p4r.Entity) -> Kind:
    """Raises INVALID_ARGUMENT for an empty entity, UNIMPLEMENTED for registers and externs."""
    name = entity.WhichOneof("entity")
    if name is None:
        raise invalid_argument("the message has no entity")
    if name not in KINDS:
        raise unimplemented(f"{name} is not supported by this target")
    return KINDS[name]


class _Container(Protocol):
    """Where entities come and go."""

    def insert(self, message: Any, /) -> Undo: ...
    def modify(self, message: Any, /) -> Undo: ...
    def delete(self, message: Any, /) -> Undo: ...


def _in_container(container: _Container, message: object) -> Writer:
    return Writer(
        modify=partial(container.modify, message),
        insert=partial(container.insert, message),
        delete=partial(container.delete, message),
    )


def _table_entry(pipeline: Pipeline, entity: p4r.Entity) -> Writer:
    message = entity.table_entry
    return _in_container(by_id(pipeline.tables, message.table_id, "table"), message)


def _member(pipeline: Pipeline, entity: p4r.Entity) -> Writer:
    message = entity.action_profile_member
    profile = by_id(pipeline.profiles, message.action_profile_id, "action profile")
    return Writer(
        modify=partial(profile.member_modify, message),
        insert=partial(profile.member_insert, message),
        delete=partial(profile.member_delete, message),
    )


def _group(pipeline: Pipeline, entity: p4r.Entity) -> Writer:
    message = entity.action_profile_group
    profile = by_id(pipeline.profiles, message.action_profile_id, "action profile")
    return Writer(
        modify=partial(profile.group_modify, message),
        insert=partial(profile.group_insert, message),
        delete=partial(profile.group_delete, message),
    )


def _replication(pipeline: Pipeline, entity: p4r.Entity) -> Writer:
    entry = entity.packet_replication_engine_entry
    match entry.WhichOneof("type"):
        case "multicast_group_entry":
            return _in_container(pipeline.groups, entry.multicast_group_entry)
        case "clone_session_entry":
            return _in_container(pipeline.clone_sessions, entry.clone_session_entry)
        case _:
            raise invalid_argument("the packet replication engine entry is empty")


def _digest(pipeline: Pipeline, entity: p4r.Entity) -> Writer:
    message = entity.digest_entry
    digest = by_id(pipeline.digests, message.digest_id, "digest")
    return Writer(modify=partial(digest.modify, message), insert=partial(digest.insert, message), delete=digest.delete)


def _counter(pipeline: Pipeline, entity: p4r.Entity) -> Writer:
    message = entity.counter_entry
    return Writer(modify=partial(by_id(pipeline.counters, message.counter_id, "counter").modify, message))


def _meter(pipeline: Pipeline, entity: p4r.Entity) -> Writer:
    message = entity.meter_entry
    return Writer(modify=partial(by_id(pipeline.meters, message.meter_id, "meter").modify, message))


def _value_set(pipeline: Pipeline, entity: p4r.Entity) -> Writer:
    message = entity.value_set_entry
    return Writer(modify=partial(by_id(pipeline.value_sets, message.value_set_id, "value set").modify, message))


def _direct_counter(pipeline: Pipeline, entity: p4r.Entity) -> Writer:
    return Writer(modify=partial(_set_direct_counter, pipeline, entity.direct_counter_entry))


def _direct_meter(pipeline: Pipeline, entity: p4r.Entity) -> Writer:
    return Writer(modify=partial(_set_direct_meter, pipeline, entity.direct_meter_entry))


def _set_direct_counter(pipeline: Pipeline, message: p4r.DirectCounterEntry) -> Undo:
    table, entry = direct_target(pipeline, message.table_entry, "counter")
    if not message.HasField("data"):
        return nothing
    check_counts(message.data, table.what)
    old = table.read_counter(entry)
    table.write_counter(entry, message.data)
    return lambda: table.write_counter(entry, old)


def _set_direct_meter(pipeline: Pipeline, message: p4r.DirectMeterEntry) -> Undo:
    table, entry = direct_target(pipeline, message.table_entry, "meter")
    if message.HasField("counter_data"):
        raise unimplemented(f"{table.what}: meters have no counters per color")
    if not message.HasField("config"):
        return table.set_meter(entry, None)
    meters.check_config(message.config, table.meter_kind, table.what)
    config = p4r.MeterConfig()
    config.CopyFrom(message.config)
    return table.set_meter(entry, config)


# By their names in p4.v1.Entity. Registers and externs are missing, as in BMv2's P4Runtime service.
KINDS: dict[str, Kind] = {
    "table_entry": Kind(_table_entry, selection.tables),
    "action_profile_member": Kind(_member, selection.members),
    "action_profile_group": Kind(_group, selection.groups),
    "meter_entry": Kind(_meter, selection.meters),
    "direct_meter_entry": Kind(_direct_meter, selection.direct_meters),
    "counter_entry": Kind(_counter, selection.counters),
    "direct_counter_entry": Kind(_direct_counter, selection.direct_counters),
    "packet_replication_engine_entry": Kind(_replication, selection.replication),
    "value_set_entry": Kind(_value_set, selection.value_sets),
    "digest_entry": Kind(_digest, selection.digests),
}

"""What a request of a Read selects, kind by kind: a field at its default value is a wildcard, the others filter."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from finsy.proto import p4r

from engine.switch.p4runtime.errors import invalid_argument, unimplemented
from engine.switch.p4runtime.match import Key
from engine.switch.p4runtime.pipeline import Pipeline, by_id, direct_table, direct_target
from engine.switch.p4runtime.tables import Entry, Table

T = TypeVar("T")


def tables(pipeline: Pipeline, request: p4r.Entity) -> Iterator[p4r.Entity]:
    message = request.table_entry
    if message.table_id:
        yield from _table(by_id(pipeline.tables, message.table_id, "table"), message)
        return
    if message.match or message.HasField("action"):
        raise invalid_argument("a read of all tables cannot be filtered by match or action")
    for table in pipeline.tables.values():
        yield from _table(table, message)


def _table(table: Table, message: p4r.TableEntry) -> Iterator[p4r.Entity]:
    if message.table_id:
        _check_table_request(table, message)
    if message.is_default_action:
        if message.match or message.priority:
            raise invalid_argument(f"{table.what}: the default entry has no match fields and no priority")
        default = table.default.message()
        if _selected(default, message):
            yield p4r.Entity(table_entry=default)
        return
    key = table.codec.parse(message.match) if message.match else None
    for entry in _candidates(table, key, message):
        if _selected(entry.message, message):
            yield p4r.Entity(table_entry=_with_volatile(table, entry, message))


def _check_table_request(table: Table, message: p4r.TableEntry) -> None:
    """Fields that ask for something which this table does not have."""
    if message.HasField("time_since_last_hit") and not table.info.idle_timeout:
        raise invalid_argument(f"{table.what} does not support idle timeouts")
    if message.HasField("time_since_last_hit") and message.is_default_action:
        raise invalid_argument(f"{table.what}: the default entry has no idle timeout")
    if message.HasField("meter_counter_data"):
        raise unimplemented(f"{table.what}: meters have no counters per color")
    if message.HasField("action") and message.action.WhichOneof("type") != "action":
        raise invalid_argument(f"{table.what}: entries can be filtered by action id only")


def _candidates(table: Table, key: Key | None, message: p4r.TableEntry) -> list[Entry]:
    if key is None:
        return list(table.entries.values())
    if message.priority or not table.info.needs_priority:
        entry = table.entries.get((key, message.priority))
        return [] if entry is None else [entry]
    return [entry for (entry_key, _), entry in table.entries.items() if entry_key == key]


def _selected(entry: p4r.TableEntry, request: p4r.TableEntry) -> bool:
    """Whether an entry passes the filters; a field at its default value does not filter."""
    if request.HasField("action") and request.action.action.action_id != entry.action.action.action_id:
        return False
    return (
        request.priority in (0, entry.priority)
        and request.controller_metadata in (0, entry.controller_metadata)
        and request.metadata in (b"", entry.metadata)
    )


def _with_volatile(table: Table, entry: Entry, request: p4r.TableEntry) -> p4r.TableEntry:
    """The entry with what the request asks for besides."""
    wants_counter = request.HasField("counter_data") and table.info.direct_counter_id
    wants_meter = request.HasField("meter_config")
    wants_idle = request.HasField("time_since_last_hit") and table.info.idle_timeout
    if not (wants_counter or wants_meter or wants_idle):
        return entry.message
    message = p4r.TableEntry()
    message.CopyFrom(entry.message)
    if wants_counter:
        message.counter_data.CopyFrom(table.read_counter(entry))
    if wants_meter and entry.meter is not None:
        message.meter_config.CopyFrom(entry.meter)
    if wants_idle:
        message.time_since_last_hit.elapsed_ns = table.idle_for_ns(entry)
    return message


def members(pipeline: Pipeline, request: p4r.Entity) -> Iterator[p4r.Entity]:
    message = request.action_profile_member
    if message.member_id and not message.action_profile_id:
        raise invalid_argument("a member is named without its action profile")
    for profile in _one_or_all(pipeline.profiles, message.action_profile_id, "action profile"):
        for id_ in [message.member_id] if message.member_id else list(profile.members):
            yield p4r.Entity(action_profile_member=profile.member_message(id_))


def groups(pipeline: Pipeline, request: p4r.Entity) -> Iterator[p4r.Entity]:
    message = request.action_profile_group
    if message.group_id and not message.action_profile_id:
        raise invalid_argument("a group is named without its action profile")
    for profile in _one_or_all(pipeline.profiles, message.action_profile_id, "action profile"):
        for id_ in [message.group_id] if message.group_id else list(profile.groups):
            yield p4r.Entity(action_profile_group=profile.group_message(id_))


def counters(pipeline: Pipeline, request: p4r.Entity) -> Iterator[p4r.Entity]:
    message = request.counter_entry
    if message.HasField("index") and not message.counter_id:
        raise invalid_argument("a cell is named without its counter")
    for counter in _one_or_all(pipeline.counters, message.counter_id, "counter"):
        for entry in counter.read(message):
            yield p4r.Entity(counter_entry=entry)


def meters(pipeline: Pipeline, request: p4r.Entity) -> Iterator[p4r.Entity]:
    message = request.meter_entry
    if message.HasField("index") and not message.meter_id:
        raise invalid_argument("a cell is named without its meter")
    for meter in _one_or_all(pipeline.meters, message.meter_id, "meter"):
        for entry in meter.read(message):
            yield p4r.Entity(meter_entry=entry)


def direct_counters(pipeline: Pipeline, request: p4r.Entity) -> Iterator[p4r.Entity]:
    for table, entry in _direct(pipeline, request.direct_counter_entry.table_entry, "counter"):
        yield p4r.Entity(
            direct_counter_entry=p4r.DirectCounterEntry(table_entry=_key_of(entry), data=table.read_counter(entry))
        )


def direct_meters(pipeline: Pipeline, request: p4r.Entity) -> Iterator[p4r.Entity]:
    if request.direct_meter_entry.HasField("counter_data"):
        raise unimplemented("meters have no counters per color")
    for _, entry in _direct(pipeline, request.direct_meter_entry.table_entry, "meter"):
        yield p4r.Entity(direct_meter_entry=p4r.DirectMeterEntry(table_entry=_key_of(entry), config=entry.meter))


def _direct(pipeline: Pipeline, message: p4r.TableEntry, resource: str) -> Iterator[tuple[Table, Entry]]:
    """The entries whose direct counter or meter is read: all, a table's, or one."""
    if message.table_id and (message.match or message.is_default_action):
        yield direct_target(pipeline, message, resource)
        return
    if message.match:
        raise invalid_argument("an entry is named without its table")
    chosen = [direct_table(pipeline, message.table_id, resource)] if message.table_id else pipeline.tables.values()
    for table in chosen:
        if table.info.direct_counter_id if resource == "counter" else table.info.direct_meter_id:
            for entry in list(table.entries.values()):
                if message.priority in (0, entry.priority):
                    yield table, entry


def _key_of(entry: Entry) -> p4r.TableEntry:
    """The entry's identity, which is all that a direct resource tells of it."""
    message = entry.message
    return p4r.TableEntry(table_id=message.table_id, match=message.match, priority=message.priority)


def replication(pipeline: Pipeline, request: p4r.Entity) -> Iterator[p4r.Entity]:
    entry = request.packet_replication_engine_entry
    kind = entry.WhichOneof("type")
    if kind is None:
        raise invalid_argument("the packet replication engine entry is empty")
    if kind == "multicast_group_entry":
        group_id = entry.multicast_group_entry.multicast_group_id
        for id_ in [group_id] if group_id else pipeline.groups.ids():
            group = pipeline.groups.message(id_)
            yield p4r.Entity(
                packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(multicast_group_entry=group)
            )
        return
    session_id = entry.clone_session_entry.session_id
    for id_ in [session_id] if session_id else pipeline.clone_sessions.ids():
        session = pipeline.clone_sessions.message(id_)
        yield p4r.Entity(packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(clone_session_entry=session))


def value_sets(pipeline: Pipeline, request: p4r.Entity) -> Iterator[p4r.Entity]:
    message = request.value_set_entry
    if message.members:
        raise invalid_argument("a value set is read as a whole, without members in the request")
    for value_set in _one_or_all(pipeline.value_sets, message.value_set_id, "value set"):
        yield p4r.Entity(value_set_entry=value_set.message())


def digests(pipeline: Pipeline, request: p4r.Entity) -> Iterator[p4r.Entity]:
    digest_id = request.digest_entry.digest_id
    if digest_id:
        yield p4r.Entity(digest_entry=by_id(pipeline.digests, digest_id, "digest").message())
        return
    for digest in pipeline.digests.values():
        if digest.config is not None:
            yield p4r.Entity(digest_entry=digest.message())


def _one_or_all(entities: dict[int, T], id_: int, kind: str) -> Iterable[T]:
    return [by_id(entities, id_, kind)] if id_ else entities.values()

"""The Write RPC's batches (specification, "Write RPC")."""

import asyncio
from collections.abc import Callable, Sequence

import canopy_engine
from finsy.proto import p4r, rpc_code

from engine.p4runtime.errors import (
    BatchError,
    P4RuntimeError,
    from_engine,
    invalid_argument,
    unimplemented,
)
from engine.p4runtime.meters import check_config
from engine.p4runtime.pipeline import Pipeline, by_id, direct_target
from engine.p4runtime.tables import check_counts
from engine.p4runtime.undo import Undo, nothing

INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE

# A large batch gives way to stream messages after so many updates; other writes still wait for its end.
UPDATES_PER_TURN = 128


async def write_batch(
    pipeline: Pipeline,
    updates: Sequence[p4r.Update],
    atomicity: p4r.WriteRequest.Atomicity.ValueType,
    check_allowed: Callable[[p4r.Entity], None],
) -> None:
    """Apply the updates in order. Raises BatchError if some failed, P4RuntimeError if the atomicity cannot be had.

    The caller keeps other writers out. `check_allowed` raises PERMISSION_DENIED for what the role may not write."""
    if atomicity == p4r.WriteRequest.DATAPLANE_ATOMIC and len(updates) > 1:
        raise unimplemented("DATAPLANE_ATOMIC is supported for a single update only")
    rollback = atomicity == p4r.WriteRequest.ROLLBACK_ON_ERROR
    errors: list[P4RuntimeError | None] = []
    undos: list[Undo] = []
    for number, update in enumerate(updates, 1):
        try:
            check_allowed(update.entity)
            undo = apply_update(pipeline, update)
            if rollback:
                undos.append(undo)
            errors.append(None)
        except P4RuntimeError as error:
            errors.append(error)
            if rollback:
                _roll_back(undos)
                raise BatchError("Write failed and was rolled back", _aborted(errors, len(updates))) from None
        if number % UPDATES_PER_TURN == 0:
            await asyncio.sleep(0)
    if any(errors):
        raise BatchError("Write failed in part", errors)


def _roll_back(undos: list[Undo]) -> None:
    while undos:
        undos.pop()()


def _aborted(errors: list[P4RuntimeError | None], total: int) -> list[P4RuntimeError | None]:
    """The failed update keeps its error; the others were undone or never tried."""
    aborted = P4RuntimeError(rpc_code.ABORTED, "not applied: another update of the batch failed")
    return [*(error or aborted for error in errors), *[aborted] * (total - len(errors))]


def apply_update(pipeline: Pipeline, update: p4r.Update) -> Undo:
    """One update, in the data plane and in the server; raises P4RuntimeError and then has changed nothing."""
    if update.type not in (INSERT, MODIFY, DELETE):
        raise invalid_argument(f"update type {update.type} is none")
    kind = update.entity.WhichOneof("entity")
    if kind is None:
        raise invalid_argument("the update has no entity")
    handler = _HANDLERS.get(kind)
    if handler is None:
        raise unimplemented(f"{kind} is not supported by this target")
    try:
        return handler(pipeline, update)
    except canopy_engine.EngineError as error:
        raise from_engine(error) from None


def _modify_only(update: p4r.Update) -> None:
    if update.type != MODIFY:
        kind = update.entity.WhichOneof("entity")
        raise invalid_argument(f"{kind} can only be modified")


def _table_entry(pipeline: Pipeline, update: p4r.Update) -> Undo:
    message = update.entity.table_entry
    table = by_id(pipeline.tables, message.table_id, "table")
    if update.type == INSERT:
        return table.insert(message)
    return table.modify(message) if update.type == MODIFY else table.delete(message)


def _member(pipeline: Pipeline, update: p4r.Update) -> Undo:
    message = update.entity.action_profile_member
    profile = by_id(pipeline.profiles, message.action_profile_id, "action profile")
    if update.type == INSERT:
        return profile.member_insert(message)
    return profile.member_modify(message) if update.type == MODIFY else profile.member_delete(message)


def _group(pipeline: Pipeline, update: p4r.Update) -> Undo:
    message = update.entity.action_profile_group
    profile = by_id(pipeline.profiles, message.action_profile_id, "action profile")
    if update.type == INSERT:
        return profile.group_insert(message)
    return profile.group_modify(message) if update.type == MODIFY else profile.group_delete(message)


def _replication(pipeline: Pipeline, update: p4r.Update) -> Undo:
    entry = update.entity.packet_replication_engine_entry
    match entry.WhichOneof("type"):
        case "multicast_group_entry":
            group, groups = entry.multicast_group_entry, pipeline.groups
            if update.type == INSERT:
                return groups.insert(group)
            return groups.modify(group) if update.type == MODIFY else groups.delete(group)
        case "clone_session_entry":
            session, sessions = entry.clone_session_entry, pipeline.clone_sessions
            if update.type == INSERT:
                return sessions.insert(session)
            return sessions.modify(session) if update.type == MODIFY else sessions.delete(session)
        case _:
            raise invalid_argument("the packet replication engine entry is empty")


def _counter(pipeline: Pipeline, update: p4r.Update) -> Undo:
    _modify_only(update)
    message = update.entity.counter_entry
    return by_id(pipeline.counters, message.counter_id, "counter").modify(message)


def _meter(pipeline: Pipeline, update: p4r.Update) -> Undo:
    _modify_only(update)
    message = update.entity.meter_entry
    return by_id(pipeline.meters, message.meter_id, "meter").modify(message)


def _direct_counter(pipeline: Pipeline, update: p4r.Update) -> Undo:
    _modify_only(update)
    message = update.entity.direct_counter_entry
    table, entry = direct_target(pipeline, message.table_entry, "counter")
    if not message.HasField("data"):
        return nothing
    check_counts(message.data, table.what)
    old = table.read_counter(entry)
    table.write_counter(entry, message.data)
    return lambda: table.write_counter(entry, old)


def _direct_meter(pipeline: Pipeline, update: p4r.Update) -> Undo:
    _modify_only(update)
    message = update.entity.direct_meter_entry
    table, entry = direct_target(pipeline, message.table_entry, "meter")
    if message.HasField("counter_data"):
        raise unimplemented(f"{table.what}: meters have no counters per color")
    if not message.HasField("config"):
        return table.set_meter(entry, None)
    check_config(message.config, table.meter_kind, table.what)
    config = p4r.MeterConfig()
    config.CopyFrom(message.config)
    return table.set_meter(entry, config)


def _value_set(pipeline: Pipeline, update: p4r.Update) -> Undo:
    _modify_only(update)
    message = update.entity.value_set_entry
    return by_id(pipeline.value_sets, message.value_set_id, "value set").modify(message)


def _digest(pipeline: Pipeline, update: p4r.Update) -> Undo:
    message = update.entity.digest_entry
    digest = by_id(pipeline.digests, message.digest_id, "digest")
    if update.type == INSERT:
        return digest.insert(message)
    return digest.modify(message) if update.type == MODIFY else digest.delete()


# Registers and externs are missing, as in BMv2's P4Runtime service.
_HANDLERS: dict[str, Callable[[Pipeline, p4r.Update], Undo]] = {
    "table_entry": _table_entry,
    "action_profile_member": _member,
    "action_profile_group": _group,
    "meter_entry": _meter,
    "direct_meter_entry": _direct_meter,
    "counter_entry": _counter,
    "direct_counter_entry": _direct_counter,
    "packet_replication_engine_entry": _replication,
    "value_set_entry": _value_set,
    "digest_entry": _digest,
}

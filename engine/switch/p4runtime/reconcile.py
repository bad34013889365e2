"""RECONCILE_AND_COMMIT: the state of one pipeline, written into another (specification, "SetForwardingPipelineConfig").

What has the same id in both P4Infos is carried over, as if the controller had written it anew; counters and registers
keep their values. Anything that the new program cannot hold refuses the whole config.
"""

from collections.abc import Iterator

from finsy.proto import p4r

from engine.switch.p4runtime.errors import P4RuntimeError, invalid_argument
from engine.switch.p4runtime.pipeline import Pipeline
from engine.switch.p4runtime.read import read_entity
from engine.switch.p4runtime.tables import Entry, Table
from engine.switch.p4runtime.translation import take_over
from engine.switch.p4runtime.write import apply_update

INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE


def carry_over(old: Pipeline, new: Pipeline) -> None:
    """Write the state of `old` into `new`, which is fresh. Raises INVALID_ARGUMENT, and `new` is then of no use."""
    take_over(new.info.names, old.info.names)
    for update in _updates(old, new):
        try:
            apply_update(new, update)
        except P4RuntimeError as error:
            raise invalid_argument(f"the forwarding state cannot be preserved: {error.message}") from None
    _carry_registers(old, new)


def _updates(old: Pipeline, new: Pipeline) -> Iterator[p4r.Update]:
    """The order respects references: members, groups, entries."""
    yield from _inserts(old, p4r.Entity(action_profile_member=p4r.ActionProfileMember()))
    yield from _inserts(old, p4r.Entity(action_profile_group=p4r.ActionProfileGroup()))
    for table in old.tables.values():
        yield from _table_updates(table, new.tables.get(table.info.id))
    groups = p4r.PacketReplicationEngineEntry(multicast_group_entry=p4r.MulticastGroupEntry())
    sessions = p4r.PacketReplicationEngineEntry(clone_session_entry=p4r.CloneSessionEntry())
    yield from _inserts(old, p4r.Entity(packet_replication_engine_entry=groups))
    yield from _inserts(old, p4r.Entity(packet_replication_engine_entry=sessions))
    yield from _inserts(old, p4r.Entity(digest_entry=p4r.DigestEntry()))
    for value_set in old.value_sets.values():
        if value_set.members:
            yield p4r.Update(type=MODIFY, entity=p4r.Entity(value_set_entry=value_set.message()))
    for meter in old.meters.values():
        for index, config in meter.configs.items():
            entry = p4r.MeterEntry(meter_id=meter.info.id, index=p4r.Index(index=index), config=config)
            yield p4r.Update(type=MODIFY, entity=p4r.Entity(meter_entry=entry))
    for counter in old.counters.values():
        for cell in counter.read(p4r.CounterEntry(counter_id=counter.info.id)):
            if cell.data.packet_count or cell.data.byte_count:
                yield p4r.Update(type=MODIFY, entity=p4r.Entity(counter_entry=cell))


def _inserts(old: Pipeline, wildcard: p4r.Entity) -> Iterator[p4r.Update]:
    for entity in read_entity(old, wildcard):
        yield p4r.Update(type=INSERT, entity=entity)


def _table_updates(old: Table, new: Table | None) -> Iterator[p4r.Update]:
    for place, entry in (new.entries if new is not None else {}).items():
        if place not in old.entries and not entry.message.is_const:
            # The program brings this entry along, and the controller has deleted it.
            yield p4r.Update(type=DELETE, entity=p4r.Entity(table_entry=entry.message))
    for place, entry in old.entries.items():
        message = _with_direct_resources(old, entry)
        if entry.message.is_const:
            if new is None or place not in new.entries:
                # A constant entry belongs to the program, not to the state.
                continue
            message.ClearField("action")
            message.is_const = False
        exists = new is not None and place in new.entries
        yield p4r.Update(type=MODIFY if exists else INSERT, entity=p4r.Entity(table_entry=message))
    if old.default.action is not None:
        yield p4r.Update(type=MODIFY, entity=p4r.Entity(table_entry=old.default.message()))


def _with_direct_resources(table: Table, entry: Entry) -> p4r.TableEntry:
    message = p4r.TableEntry()
    message.CopyFrom(entry.message)
    if table.info.direct_counter_id:
        message.counter_data.CopyFrom(table.read_counter(entry))
    if entry.meter is not None:
        message.meter_config.CopyFrom(entry.meter)
    return message


def _carry_registers(old: Pipeline, new: Pipeline) -> None:
    """Registers are not in BMv2's P4Runtime service, but they are forwarding state."""
    for register in old.info.registers:
        successor = new.info.registers.get(register.id)
        size = min(register.size, successor.size) if successor is not None else 0
        for index in range(size):
            value = old.switch.register_read(register.name, index)
            if value and successor is not None:
                new.switch.register_write(successor.name, index, value)

"""Table entries and default entries (specification, "TableEntry"), and the state that the data plane does not keep."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from finsy.proto import p4r

from engine.switch.p4runtime import meters
from engine.switch.p4runtime.action_profiles import Profile
from engine.switch.p4runtime.actions import ActionCodec
from engine.switch.p4runtime.bindings import Binding, BindingCodec, Direct, Reference, acquired
from engine.switch.p4runtime.default_entry import DefaultEntry
from engine.switch.p4runtime.errors import already_exists, invalid_argument, not_found, permission_denied, unimplemented
from engine.switch.p4runtime.match import Key, KeyCodec
from engine.switch.p4runtime.p4info import P4InfoIndex, TableInfo
from engine.switch.p4runtime.program import Program
from engine.switch.p4runtime.restrictions import INT, PRIORITY, checked_restriction
from engine.switch.p4runtime.undo import Undo

if TYPE_CHECKING:
    from canopy_engine import MatchKey, Switch
    from canopy_engine import TableEntry as EngineEntry

NS_PER_US = 1000


@dataclass(slots=True)
class Entry:
    """One entry. `message` is what a Read answers with, apart from direct resources and the time since the last hit."""

    message: p4r.TableEntry
    key: list[MatchKey]
    binding: Binding
    meter: p4r.MeterConfig | None = None

    @property
    def priority(self) -> int:
        return self.message.priority

    @property
    def idle_timeout_us(self) -> int:
        """The timeout in the data plane's unit, rounded up so that a short one stays one."""
        return -(-self.message.idle_timeout_ns // NS_PER_US)


class Table:
    """One table of the P4Info."""

    def __init__(
        self,
        info: TableInfo,
        p4info: P4InfoIndex,
        program: Program,
        actions: ActionCodec,
        profile: Profile | None,
        switch: Switch,
    ) -> None:
        json_table = program.tables[info.name]
        self.info = info
        self.what = f"table {info.name!r}"
        self.meter_kind = p4info.direct_meters[info.direct_meter_id].kind if info.direct_meter_id else 0
        self.codec = KeyCodec(info.fields, [(f.width, f.kind) for f in json_table.key], self.what)
        types = self.codec.types() | {PRIORITY: INT}
        self._restriction = checked_restriction(info.restriction, types, self.what)
        self.entries: dict[tuple[Key, int], Entry] = {}
        self.default = DefaultEntry(info, actions, switch)
        self._bindings = BindingCodec(info, actions, profile)
        self._profile = profile
        self._actions = actions
        self._switch = switch
        if json_table.is_filled and not info.is_const:
            switch.table_open(info.name, info.size)
        for entry in switch.table_entries(info.name):
            self._load(entry)

    # Writing.

    def insert(self, message: p4r.TableEntry) -> Undo:
        if message.is_default_action:
            raise invalid_argument(f"{self.what}: the default entry always exists; modify it")
        place = self._place(message)
        if self.info.is_const:
            raise permission_denied(f"{self.what} is constant")
        if not self.info.fields:
            raise invalid_argument(f"{self.what} has no key, and so no entries")
        if not message.HasField("action"):
            raise invalid_argument(f"{self.what}: an entry needs an action")
        self._check_options(message)
        key, priority = place
        self._restriction.check(self.codec.values(key) | {PRIORITY: priority})
        binding = self._bindings.parse(message.action)
        if place in self.entries:
            raise already_exists(f"{self.what}: the entry exists")
        entry = self._entry(place, message, binding)
        counts = message.counter_data if message.HasField("counter_data") else None
        return self._add(place, entry, counts)

    def modify(self, message: p4r.TableEntry) -> Undo:
        if message.is_default_action:
            return self.default.modify(message)
        place = self._place(message)
        old = self._existing(place)
        if message.HasField("action") and (self.info.is_const or old.message.is_const):
            raise permission_denied(f"{self.what}: the entry is constant")
        self._check_options(message)
        binding = self._bindings.parse(message.action) if message.HasField("action") else old.binding
        new = self._entry(place, message, binding)
        new.message.is_const = old.message.is_const
        with ExitStack() as undo:
            if binding is not old.binding:
                acquired(binding, undo)
            if binding is not old.binding or new.idle_timeout_us != old.idle_timeout_us:
                self._engine_modify(new)
                undo.callback(self._engine_modify, old)
            if self.info.direct_meter_id:
                self._write_meter(new)
                undo.callback(self._write_meter, old)
            if message.HasField("counter_data"):
                undo.callback(self.write_counter, old, self.read_counter(old))
                self.write_counter(new, message.counter_data)
            self.entries[place] = new
            undo.callback(self.entries.__setitem__, place, old)
            if binding is not old.binding:
                old.binding.release()
                # Runs first when undone: the old binding is there again before the data plane refers to it.
                undo.callback(old.binding.acquire)
            return undo.pop_all().close

    def delete(self, message: p4r.TableEntry) -> Undo:
        if message.is_default_action:
            raise invalid_argument(f"{self.what}: the default entry cannot be deleted; modify it without an action")
        place = self._place(message)
        if self.info.is_const:
            raise permission_denied(f"{self.what} is constant")
        entry = self._existing(place)
        if entry.message.is_const:
            raise permission_denied(f"{self.what}: the entry is constant")
        counts = self.read_counter(entry) if self.info.direct_counter_id else None
        self._remove(place, entry)
        return lambda: self._add(place, entry, counts)

    def find(self, message: p4r.TableEntry) -> Entry:
        """The entry with the message's key. Raises NOT_FOUND."""
        return self._existing(self._place(message))

    def entry_of(self, key: list[MatchKey], priority: int) -> Entry | None:
        """The entry that the data plane names, None when it is gone by now."""
        return self.entries.get((self.codec.from_engine(key), priority))

    # Direct resources.

    def read_counter(self, entry: Entry) -> p4r.CounterData:
        packets, octets = self._switch.direct_counter_read(self.info.name, entry.key, entry.priority)
        return p4r.CounterData(packet_count=packets, byte_count=octets)

    def write_counter(self, entry: Entry, data: p4r.CounterData) -> None:
        self._switch.direct_counter_write(self.info.name, entry.key, entry.priority, data.packet_count, data.byte_count)

    def set_meter(self, entry: Entry, config: p4r.MeterConfig | None) -> Undo:
        """Configure the entry's direct meter, None for always green."""
        old = entry.meter
        self._switch.direct_meter_write(
            self.info.name, entry.key, entry.priority, meters.to_engine(config, self.meter_kind)
        )
        entry.meter = config
        return lambda: self.set_meter(entry, old)

    def idle_for_ns(self, entry: Entry) -> int:
        state = self._switch.table_get(self.info.name, entry.key, entry.priority)
        return state["idle_for_us"] * NS_PER_US

    # Parts.

    def _place(self, message: p4r.TableEntry) -> tuple[Key, int]:
        """The entry's identity: its key and its priority."""
        if message.is_const:
            raise invalid_argument(f"{self.what}: is_const may not be set in a write")
        return self.codec.parse(message.match), self._checked_priority(message.priority)

    def _checked_priority(self, priority: int) -> int:
        needs_priority = self.info.needs_priority
        if needs_priority and priority <= 0:
            raise invalid_argument(f"{self.what}: the key needs a priority above 0, not {priority}")
        if not needs_priority and priority:
            raise invalid_argument(f"{self.what}: the key takes no priority, so it must be 0, not {priority}")
        return priority

    def _existing(self, place: tuple[Key, int]) -> Entry:
        entry = self.entries.get(place)
        if entry is None:
            raise not_found(f"{self.what}: no such entry")
        return entry

    def _check_options(self, message: p4r.TableEntry) -> None:
        """Direct resources and timeouts may be given only where the table has them."""
        if message.HasField("counter_data"):
            if not self.info.direct_counter_id:
                raise invalid_argument(f"{self.what} has no direct counter")
            check_counts(message.counter_data, self.what)
        if message.HasField("meter_config"):
            if not self.info.direct_meter_id:
                raise invalid_argument(f"{self.what} has no direct meter")
            meters.check_config(message.meter_config, self.meter_kind, self.what)
        if message.HasField("meter_counter_data"):
            if not self.info.direct_meter_id:
                raise invalid_argument(f"{self.what} has no direct meter")
            raise unimplemented(f"{self.what}: meters have no counters per color")
        if message.idle_timeout_ns and not self.info.idle_timeout:
            raise invalid_argument(f"{self.what} does not support idle timeouts")
        if message.idle_timeout_ns < 0:
            raise invalid_argument(f"{self.what}: idle timeout {message.idle_timeout_ns} ns is negative")
        if message.HasField("time_since_last_hit"):
            raise invalid_argument(f"{self.what}: time_since_last_hit may not be set in a write")

    def _entry(self, place: tuple[Key, int], message: p4r.TableEntry, binding: Binding) -> Entry:
        key, priority = place
        canonical = p4r.TableEntry(
            table_id=self.info.id,
            match=self.codec.to_proto(key),
            action=binding.to_proto(),
            priority=priority,
            controller_metadata=message.controller_metadata,
            metadata=message.metadata,
            idle_timeout_ns=message.idle_timeout_ns,
        )
        meter = None
        if message.HasField("meter_config"):
            meter = p4r.MeterConfig()
            meter.CopyFrom(message.meter_config)
        return Entry(canonical, self.codec.to_engine(key), binding, meter)

    def _add(self, place: tuple[Key, int], entry: Entry, counts: p4r.CounterData | None) -> Undo:
        with ExitStack() as undo:
            binding = acquired(entry.binding, undo)
            self._switch.table_add(
                self.info.name,
                entry.key,
                priority=entry.priority,
                idle_timeout_us=entry.idle_timeout_us,
                **binding.engine_target(),
            )
            undo.callback(self._switch.table_delete, self.info.name, entry.key, entry.priority)
            if entry.meter is not None:
                self._write_meter(entry)
            if counts is not None:
                self.write_counter(entry, counts)
            self.entries[place] = entry
            undo.callback(self.entries.pop, place)
            return undo.pop_all().close

    def _remove(self, place: tuple[Key, int], entry: Entry) -> None:
        self._switch.table_delete(self.info.name, entry.key, entry.priority)
        del self.entries[place]
        entry.binding.release()

    def _engine_modify(self, entry: Entry) -> None:
        self._switch.table_modify(
            self.info.name,
            entry.key,
            priority=entry.priority,
            idle_timeout_us=entry.idle_timeout_us,
            **entry.binding.engine_target(),
        )

    def _write_meter(self, entry: Entry) -> None:
        self.set_meter(entry, entry.meter)

    def _load(self, entry: EngineEntry) -> None:
        """Take over an entry that the program brought."""
        key = self.codec.from_engine(entry["match"])
        place = (key, entry["priority"])
        binding = self._load_binding(entry)
        if binding is None:
            return
        loaded = self._entry(place, p4r.TableEntry(), binding)
        loaded.message.is_const = entry["is_const"]
        self.entries[place] = loaded

    def _load_binding(self, entry: EngineEntry) -> Binding | None:
        if self._profile is not None:
            member, group = entry["member"] or 0, entry["group"] or 0
            return Reference(self._profile, member, group) if member or group else None
        action = self._actions.from_name(entry["action"] or "", entry["params"])
        return None if action is None else Direct(action)


def check_counts(data: p4r.CounterData, what: str) -> None:
    if data.packet_count < 0 or data.byte_count < 0:
        raise invalid_argument(f"{what}: a counter may not be negative")

"""The test program entities.p4: its P4Info, messages by name, and the control plane without gRPC around it."""

import atexit
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import pytest
from finsy.proto import p4i, p4r, rpc_code
from google.protobuf import text_format

from engine.switch.p4runtime import bytestrings
from engine.switch.p4runtime.datapath import MemoryDataPath
from engine.switch.p4runtime.errors import P4RuntimeError
from engine.switch.p4runtime.pipeline import Pipeline, build_pipeline
from engine.switch.p4runtime.read import read_entity
from engine.switch.p4runtime.undo import Undo
from engine.switch.p4runtime.write import apply_update

DATA = Path(__file__).parent / "data"
JSON = (DATA / "entities.json").read_text()
"""What p4c made of it."""
CPU_PORT = 510

INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE

# The same classes, which also take nested messages as dictionaries; mypy-protobuf's types do not know that.
raw: Any = p4r

# A field's value: a number for exact and optional; (value, mask), (value, prefix length) or (low, high) for the others.
MatchValue: TypeAlias = int | tuple[int, int]


@cache
def program_file() -> Path:
    """The JSON as a file, which is there until the tests end."""
    folder = TemporaryDirectory(prefix="canopy-entities-")
    atexit.register(folder.cleanup)
    path = Path(folder.name) / "entities.json"
    path.write_text(JSON)
    return path


def p4info() -> p4i.P4Info:
    return text_format.Parse((DATA / "entities.p4info.txtpb").read_text(), p4i.P4Info())


def config(cookie: int | None = None) -> p4r.ForwardingPipelineConfig:
    message = p4r.ForwardingPipelineConfig(p4info=p4info(), p4_device_config=JSON.encode())
    if cookie is not None:
        message.cookie.cookie = cookie
    return message


INFO = p4info()
_OBJECTS = {
    item.preamble.alias: item
    for kind in ("tables", "actions", "action_profiles", "counters", "direct_counters", "meters", "direct_meters")
    for item in getattr(INFO, kind)
} | {item.preamble.alias: item for kind in ("value_sets", "registers", "digests") for item in getattr(INFO, kind)}


def id_of(alias: str) -> int:
    """The P4 id of a table, action, counter, ... of the program."""
    id_: int = _OBJECTS[alias].preamble.id
    return id_


def action(name: str, **params: int) -> p4r.Action:
    message = p4r.Action(action_id=id_of(name))
    for param in _OBJECTS[name].params:
        if param.name in params:
            message.params.add(param_id=param.id, value=bytestrings.encode(params[param.name]))
    return message


def field_match(table: str, name: str, value: MatchValue) -> p4r.FieldMatch:
    """A match of the field whose name ends in `name`."""
    field = next(f for f in _OBJECTS[table].match_fields if f.name.endswith(name))
    first, second = value if isinstance(value, tuple) else (value, 0)
    match = p4r.FieldMatch(field_id=field.id)
    value_bytes, second_bytes = bytestrings.encode(first), bytestrings.encode(second)
    match field.match_type:
        case p4i.MatchField.EXACT:
            match.exact.value = value_bytes
        case p4i.MatchField.OPTIONAL:
            match.optional.value = value_bytes
        case p4i.MatchField.LPM:
            match.lpm.value, match.lpm.prefix_len = value_bytes, second
        case p4i.MatchField.TERNARY:
            match.ternary.value, match.ternary.mask = value_bytes, second_bytes
        case _:
            match.range.low, match.range.high = value_bytes, second_bytes
    return match


def table_entry(
    table: str, match: Mapping[str, MatchValue], act: p4r.Action | p4r.TableAction | None = None, priority: int = 0
) -> p4r.TableEntry:
    entry = p4r.TableEntry(table_id=id_of(table), priority=priority)
    entry.match.extend(field_match(table, name, value) for name, value in match.items())
    if isinstance(act, p4r.Action):
        entry.action.action.CopyFrom(act)
    elif act is not None:
        entry.action.CopyFrom(act)
    return entry


def member(id_: int, act: p4r.Action | None, profile: str = "spread") -> p4r.ActionProfileMember:
    return p4r.ActionProfileMember(action_profile_id=id_of(profile), member_id=id_, action=act)


def group(id_: int, members: Mapping[int, int], profile: str = "spread", **fields: int) -> p4r.ActionProfileGroup:
    message = p4r.ActionProfileGroup(action_profile_id=id_of(profile), group_id=id_, **fields)  # type: ignore[arg-type]
    for member_id, weight in members.items():
        message.members.add(member_id=member_id, weight=weight)
    return message


def multicast_group(id_: int, *replicas: tuple[int, int], metadata: bytes = b"") -> p4r.MulticastGroupEntry:
    message = p4r.MulticastGroupEntry(multicast_group_id=id_, metadata=metadata)
    for port, instance in replicas:
        message.replicas.add(port=bytestrings.encode(port), instance=instance)
    return message


Entry: TypeAlias = (
    p4r.TableEntry
    | p4r.ActionProfileMember
    | p4r.ActionProfileGroup
    | p4r.MulticastGroupEntry
    | p4r.CloneSessionEntry
    | p4r.CounterEntry
    | p4r.DirectCounterEntry
    | p4r.MeterEntry
    | p4r.DirectMeterEntry
    | p4r.ValueSetEntry
    | p4r.DigestEntry
    | p4r.RegisterEntry
    | p4r.ExternEntry
)

_MEMBER_OF = {
    "TableEntry": "table_entry",
    "ActionProfileMember": "action_profile_member",
    "ActionProfileGroup": "action_profile_group",
    "CounterEntry": "counter_entry",
    "DirectCounterEntry": "direct_counter_entry",
    "MeterEntry": "meter_entry",
    "DirectMeterEntry": "direct_meter_entry",
    "ValueSetEntry": "value_set_entry",
    "DigestEntry": "digest_entry",
    "RegisterEntry": "register_entry",
    "ExternEntry": "extern_entry",
}


def entity(entry: Entry) -> p4r.Entity:
    """The entity around any of its kinds."""
    message = p4r.Entity()
    name = type(entry).__name__
    if name in _MEMBER_OF:
        getattr(message, _MEMBER_OF[name]).CopyFrom(entry)
    elif isinstance(entry, p4r.MulticastGroupEntry):
        message.packet_replication_engine_entry.multicast_group_entry.CopyFrom(entry)
    elif isinstance(entry, p4r.CloneSessionEntry):
        message.packet_replication_engine_entry.clone_session_entry.CopyFrom(entry)
    return message


def update(kind: p4r.Update.Type.ValueType, entry: Entry) -> p4r.Update:
    return p4r.Update(type=kind, entity=entity(entry))


def frame(dst: int, src: int = 0xAA, ethertype: int = 0x0800, payload: bytes = b"payload") -> bytes:
    return dst.to_bytes(6, "big") + src.to_bytes(6, "big") + ethertype.to_bytes(2, "big") + payload


@dataclass
class Bench:
    """The program's pipeline on a data path in memory, without gRPC."""

    pipeline: Pipeline
    path: MemoryDataPath

    def insert(self, *entries: Entry) -> None:
        for entry in entries:
            apply_update(self.pipeline, update(INSERT, entry))

    def modify(self, *entries: Entry) -> None:
        for entry in entries:
            apply_update(self.pipeline, update(MODIFY, entry))

    def delete(self, *entries: Entry) -> None:
        for entry in entries:
            apply_update(self.pipeline, update(DELETE, entry))

    def apply(self, kind: p4r.Update.Type.ValueType, entry: Entry) -> Undo:
        return apply_update(self.pipeline, update(kind, entry))

    def read(self, entry: Entry) -> list[p4r.Entity]:
        return list(read_entity(self.pipeline, entity(entry)))

    def read_table(self, request: p4r.TableEntry) -> list[p4r.TableEntry]:
        return [found.table_entry for found in self.read(request)]

    def ports(self, dst: int, src: int = 0xAA, ethertype: int = 0x0800, port: int = 1) -> list[int]:
        """Where a frame leaves that arrives at `port`."""
        return [out for out, _ in self.path.process(port, frame(dst, src, ethertype))]

    def state(self) -> list[bytes]:
        """Everything that a controller can read, in a form that can be compared."""
        wildcards: list[Entry] = [
            p4r.TableEntry(),
            p4r.ActionProfileMember(),
            p4r.ActionProfileGroup(),
            p4r.MulticastGroupEntry(),
            p4r.CloneSessionEntry(),
            p4r.CounterEntry(),
            p4r.DirectCounterEntry(),
            p4r.MeterEntry(),
            p4r.DirectMeterEntry(),
            p4r.ValueSetEntry(),
            p4r.DigestEntry(),
            *(p4r.TableEntry(table_id=t.preamble.id, is_default_action=True) for t in INFO.tables),
        ]
        found = [item.SerializeToString(deterministic=True) for wildcard in wildcards for item in self.read(wildcard)]
        return sorted(found)


def new_bench(pipeline_config: p4r.ForwardingPipelineConfig | None = None) -> Bench:
    path = MemoryDataPath(cpu_port=CPU_PORT)
    pipeline = build_pipeline(pipeline_config or config(), path)
    path.install(pipeline.switch)
    return Bench(pipeline, path)


@contextmanager
def refused(code: int, message: str | None = None) -> Iterator[None]:
    """The block raises a P4RuntimeError with this code; `message` is a regular expression for its text."""
    with pytest.raises(P4RuntimeError, match=message) as caught:
        yield
    assert rpc_code.Code.Name(caught.value.code) == rpc_code.Code.Name(code)  # type: ignore[arg-type]

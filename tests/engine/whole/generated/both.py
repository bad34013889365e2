"""A test on the embedded switch and on simple_switch_grpc: what is seen of either.

Both have as much of a P4Info as that needs, made from the program: not all have theirs kept. BMv2 writes no registers
over P4Runtime, and over Thrift those of 64 bits: its program does, for a packet at a port of its own.
"""

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from canopy_engine import Switch
from finsy.proto import p4d, p4i, p4r

from engine.switch.p4runtime.actions import ActionCodec
from engine.switch.p4runtime.program import Program as Names
from engine.switch.p4runtime.program import read_program
from engine.switch.stf.names import find
from engine.switch.stf.script import parse_script
from engine.switch.stf.tables import Tables
from tests.engine.whole.differential.programs import Program
from tests.engine.whole.differential.switches import Embedded, Output, Reference, Side

if TYPE_CHECKING:
    from canopy_engine import MatchKey

PRIMING_PORT: Final = 511
"""No test's port: a packet that arrives there writes the registers, and is dropped."""
PRIMING_PACKET: Final = bytes(300)
"""Longer than all headers together."""
MOST_CELLS: Final = 512
"""Of a counter that is looked at: one for each port."""
_NAME, _ID = "priming", 1 << 20
"""Of what writes the registers; p4c counts from 0."""


@dataclass(frozen=True)
class Seen:
    """What leaves a switch, in order of ports, and its digests and counters."""

    sent: list[Output]
    digests: list[bytes]
    counters: list[p4r.Entity]

    def digests_without_time(self) -> list[list[bytes]]:
        """Their members but the last."""
        data = [p4d.P4Data.FromString(digest.split(b" ", 2)[2]) for digest in self.digests]
        return [[member.bitstring for member in one.tuple.members[:-1]] for one in data]


def simple_switch(text: str, executable: str) -> Reference:
    """One for all tests of a program, given as JSON."""
    return Reference(Program("", text, _described(text)[1]), executable, cpu_port=None)


def run(text: str, test: str, theirs: Reference) -> tuple[Seen, Seen]:
    """What is seen of the embedded switch, and of simple_switch_grpc, in a test of a program, given as JSON."""
    names, p4info = _described(text)
    lines = parse_script(test)
    ours = Embedded(Program("", text, p4info), cpu_port=None)
    told = _Told(ours)
    tables = Tables(cast(Switch, told), names)
    statements = {"add": tables.add, "setdefault": tables.set_default, "register_write": told.register_write}
    packets = []
    for line in lines:
        if line.command == "packet":
            port, digits = line.rest.split()
            packets.append((int(port), bytes.fromhex(digits)))
        elif line.command != "expect":
            statements[line.command](line.rest)
    theirs.load(Program("", _primed(text, told.cells) if told.cells else text, p4info))
    if p4info.digests:
        theirs.told()
    assert not any([*ours.write(told.updates), *theirs.write(told.updates)]), "an entry is refused"
    assert not told.cells or not theirs.send(PRIMING_PORT, PRIMING_PACKET)
    return _seen(ours, p4info, packets), _seen(theirs, p4info, packets)


class _Told:
    """What a test says before its packets: in place of a switch's, its methods make P4Runtime's updates."""

    def __init__(self, switch: Embedded) -> None:
        self.updates = [
            p4r.Update(type=p4r.Update.INSERT, entity=p4r.Entity(digest_entry=_at_once(digest)))
            for digest in switch.pipeline.digests
        ]
        self.cells: list[tuple[str, int, int]] = []
        self._pipeline = switch.pipeline
        self._actions = ActionCodec(self._pipeline.info, self._pipeline.program)

    def table_add(self, name: str, key: Sequence["MatchKey"], action: str, params: list[bytes], priority: int) -> None:
        codec = self._pipeline.tables[self._id(name)].codec
        match = codec.to_proto(codec.from_engine(key))
        self._update(
            p4r.Update.INSERT, action, params, p4r.TableEntry(table_id=self._id(name), match=match, priority=priority)
        )

    def table_set_default(self, name: str, action: str, params: list[bytes]) -> None:
        self._update(p4r.Update.MODIFY, action, params, p4r.TableEntry(table_id=self._id(name), is_default_action=True))

    def register_write(self, rest: str) -> None:
        name, index, value = rest.split()
        cell = find(name, self._pipeline.program.registers, "register"), int(index), int(value, 16)
        self._pipeline.switch.register_write(*cell)
        self.cells.append(cell)

    def _id(self, name: str) -> int:
        table = self._pipeline.table_named(name)
        assert table is not None
        return table.info.id

    def _update(self, kind: p4r.Update.Type.ValueType, action: str, params: list[bytes], entry: p4r.TableEntry) -> None:
        bound = self._actions.from_name(action, params)
        assert bound is not None
        entry.action.action.CopyFrom(bound.to_proto())
        self.updates.append(p4r.Update(type=kind, entity=p4r.Entity(table_entry=entry)))


def _seen(side: Side, p4info: p4i.P4Info, packets: Sequence[Output]) -> Seen:
    sent = [output for port, packet in packets for output in side.send(port, packet)]
    digests = side.told() if p4info.digests else []
    requests = (p4r.CounterEntry(counter_id=counter.preamble.id) for counter in p4info.counters)
    counters = [entity for request in requests for entity in side.read(p4r.Entity(counter_entry=request)) or ()]
    # simple_switch_grpc has several egress threads: the order of a packet's copies is by chance.
    return Seen(sorted(sent), digests, counters)


def _at_once(digest: int) -> p4r.DigestEntry:
    return p4r.DigestEntry(digest_id=digest, config=p4r.DigestEntry.Config(max_list_size=1))


@functools.lru_cache(maxsize=1)
def _described(text: str) -> tuple[Names, p4i.P4Info]:
    """A program, and its tables, actions, small counters and digests as P4Info."""
    names = read_program(Switch(text), text)
    p4info = p4i.P4Info()
    actions = {}
    for number, action in enumerate(names.actions.values(), start=1):
        info = p4info.actions.add(preamble=_preamble(p4i.P4Ids.ACTION, number, action.name))
        actions[action.name] = info.preamble.id
        for param, (name, width) in enumerate(zip(action.param_names, action.param_widths, strict=True), start=1):
            info.params.add(id=param, name=name, bitwidth=width)
    for number, table in enumerate(names.tables.values(), start=1):
        if table.profile is not None:
            continue
        of_table = p4info.tables.add(preamble=_preamble(p4i.P4Ids.TABLE, number, table.name), size=1024)
        for place, field in enumerate(table.key, start=1):
            kind = p4i.MatchField.MatchType.Value(field.kind.upper())
            of_table.match_fields.add(id=place, name=field.name, bitwidth=field.width, match_type=kind)
        for name in table.actions:
            of_table.action_refs.add(id=actions[name])
    for number, (name, size) in enumerate(names.counters.items(), start=1):
        if size <= MOST_CELLS:
            spec = p4i.CounterSpec(unit=p4i.CounterSpec.BOTH)
            p4info.counters.add(preamble=_preamble(p4i.P4Ids.COUNTER, number, name), spec=spec, size=size)
    program = json.loads(text)
    types = {kind["name"]: {field[0]: field[1] for field in kind["fields"]} for kind in program["header_types"]}
    headers = {header["name"]: types[header["header_type"]] for header in program["headers"]}
    for number, digest in enumerate(program["learn_lists"], start=1):
        told = p4info.digests.add(preamble=_preamble(p4i.P4Ids.DIGEST, number, digest["name"]))
        for element in digest["elements"]:
            header, member = element["value"]
            told.type_spec.tuple.members.add().bitstring.bit.bitwidth = headers[header][member]
    return names, p4info


def _preamble(prefix: p4i.P4Ids.Prefix.ValueType, number: int, name: str) -> p4i.Preamble:
    return p4i.Preamble(id=prefix << 24 | number, name=name, alias=name)


def _primed(text: str, cells: Sequence[tuple[str, int, int]]) -> str:
    """The program with a table in front that writes registers, for what comes at the priming port alone."""
    program: dict[str, Any] = json.loads(text)
    writes = [
        {"op": "register_write", "parameters": [{"type": "register_array", "value": name}, _hex(index), _hex(value)]}
        for name, index, value in cells
    ]
    drop = {"op": "mark_to_drop", "parameters": [{"type": "header", "value": "standard_metadata"}]}
    program["actions"].append({"name": _NAME, "id": _ID, "runtime_data": [], "primitives": [*writes, drop]})
    ingress = next(pipeline for pipeline in program["pipelines"] if pipeline["name"] == "ingress")
    port = {"type": "field", "value": ["standard_metadata", "ingress_port"]}
    here = {"type": "expression", "value": {"op": "==", "left": port, "right": _hex(PRIMING_PORT)}}
    ways = {"true_next": _NAME, "false_next": ingress["init_table"]}
    ingress["conditionals"].append({"name": f"{_NAME}?", "id": _ID, "expression": here, **ways})
    ingress["init_table"] = f"{_NAME}?"
    table = {"name": _NAME, "id": _ID, "key": [], "match_type": "exact", "type": "simple", "max_size": 1}
    table |= {"with_counters": False, "support_timeout": False, "direct_meters": None, "base_default_next": None}
    table |= {"actions": [_NAME], "action_ids": [_ID], "next_tables": {_NAME: None}}
    default = {"action_id": _ID, "action_const": True, "action_data": [], "action_entry_const": True}
    ingress["tables"].append({**table, "default_entry": default})
    return json.dumps(program)


def _hex(value: int) -> dict[str, str]:
    return {"type": "hexstr", "value": hex(value)}

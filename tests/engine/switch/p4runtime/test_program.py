"""The check that a P4Info and a device config describe the same program, and P4Info's own consistency."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import canopy_engine
import pytest
from finsy.proto import p4i, rpc_code

from engine.switch.p4runtime.datapath import MemoryDataPath
from engine.switch.p4runtime.p4info import P4InfoIndex
from engine.switch.p4runtime.pipeline import build_pipeline
from engine.switch.p4runtime.program import check_consistency, read_program
from tests.engine.entities import DATA, JSON, Bench, action, config, p4info, refused, table_entry


def table(info: p4i.P4Info, alias: str) -> p4i.Table:
    return next(t for t in info.tables if t.preamble.alias == alias)


def rename(items: Any) -> None:
    items[0].preamble.name = "Pipe.other"


CHANGES: list[tuple[str, Callable[[p4i.P4Info], object]]] = [
    ("table 'Pipe.other' is not in", lambda i: rename(i.tables)),
    ("counter 'Pipe.other' is not in", lambda i: rename(i.counters)),
    ("meter 'Pipe.other' is not in", lambda i: rename(i.meters)),
    ("register 'Pipe.other' is not in", lambda i: rename(i.registers)),
    ("digest 'Pipe.other' is not in", lambda i: rename(i.digests)),
    ("value set 'Pipe.other' is not in", lambda i: rename(i.value_sets)),
    ("counter 'Pipe.port_counter' has 9 cells in the P4Info and 512", lambda i: setattr(i.counters[0], "size", 9)),
    ("table 'Pipe.l2' has 0 match fields, not 1", lambda i: table(i, "l2").ClearField("match_fields")),
    (
        "table 'Pipe.l2' has 40 bits for 'hdr.ethernet.dst', not 48",
        lambda i: setattr(table(i, "l2").match_fields[0], "bitwidth", 40),
    ),
    (
        "table 'Pipe.l2' matches 'dst' where the program has",
        lambda i: setattr(table(i, "l2").match_fields[0], "name", "dst"),
    ),
    (
        "table 'Pipe.l2' matches 'hdr.ethernet.dst' as LPM, the program as exact",
        lambda i: setattr(table(i, "l2").match_fields[0], "match_type", p4i.MatchField.LPM),
    ),
    ("table 'Pipe.routes' is implemented by None", lambda i: setattr(table(i, "routes"), "implementation_id", 0)),
    (
        "table 'Pipe.keyless' has a direct counter that the program lacks",
        lambda i: table(i, "keyless").direct_resource_ids.append(i.direct_counters[0].preamble.id),
    ),
    (
        "table 'Pipe.l2' supports idle timeouts",
        lambda i: setattr(table(i, "l2"), "idle_timeout_behavior", p4i.Table.NOTIFY_CONTROL),
    ),
    (
        "table 'Pipe.keyless' does not have the action 'Pipe.drop'",
        lambda i: table(i, "keyless").action_refs.add(id=_action_id(i, "drop")),
    ),
    ("action 'Pipe.forward' has 0 parameters", lambda i: _action(i, "forward").ClearField("params")),
    (
        "action 'Pipe.forward' has a parameter 'p' where the program has 'port'",
        lambda i: setattr(_action(i, "forward").params[0], "name", "p"),
    ),
    (
        "action 'Pipe.forward' has 8 bits for 'port', the program 9",
        lambda i: setattr(_action(i, "forward").params[0], "bitwidth", 8),
    ),
]


def _action(info: p4i.P4Info, alias: str) -> p4i.Action:
    return next(a for a in info.actions if a.preamble.alias == alias)


def _action_id(info: p4i.P4Info, alias: str) -> int:
    return _action(info, alias).preamble.id


def test_the_test_program_was_compiled_since_it_changed() -> None:
    """Otherwise run tests/engine/compile."""
    digest, name = (DATA / "entities.sha256").read_text().split()
    assert hashlib.sha256((DATA / name).read_bytes()).hexdigest() == digest


def test_the_programs_own_p4info_is_consistent() -> None:
    check_consistency(P4InfoIndex(p4info()), read_program(canopy_engine.Switch(JSON), JSON))


@pytest.mark.parametrize(("message", "change"), CHANGES, ids=[message[:40] for message, _ in CHANGES])
def test_a_difference_is_refused_with_the_objects_name(message: str, change: Callable[[p4i.P4Info], object]) -> None:
    changed = config()
    change(changed.p4info)
    with refused(rpc_code.INVALID_ARGUMENT, message):
        build_pipeline(changed, MemoryDataPath())


@pytest.mark.parametrize(
    ("message", "change"),
    [
        ("same id", lambda i: i.tables.add().CopyFrom(i.tables[0])),
        ("has id 0", lambda i: setattr(i.tables[0].preamble, "id", 0)),
        ("undeclared action 0x5", lambda i: i.tables[0].action_refs.add(id=5)),
        ("undeclared action profile 0x5", lambda i: setattr(i.tables[0], "implementation_id", 5)),
        ("direct resource 0x5 that is not declared", lambda i: i.tables[0].direct_resource_ids.append(5)),
        ("bound to an undeclared table", lambda i: setattr(i.direct_counters[0], "direct_table_id", 5)),
        ("match kind 'hash' of field", lambda i: setattr(i.tables[0].match_fields[0], "other_match_type", "hash")),
        ("match kind 1 of field", lambda i: setattr(i.tables[0].match_fields[0], "match_type", 1)),  # none has it
    ],
)
def test_a_p4info_with_a_contradiction_is_refused(message: str, change: Callable[[p4i.P4Info], object]) -> None:
    changed = config()
    change(changed.p4info)
    with refused(rpc_code.INVALID_ARGUMENT, message):
        build_pipeline(changed, MemoryDataPath())


def test_a_translated_type_has_a_width_of_its_own() -> None:
    """Values have to fit both the controller's and the program's."""
    changed = config()
    changed.p4info.type_info.new_types["address_t"].translated_type.sdn_bitwidth = 32
    field, param = table(changed.p4info, "l2").match_fields[0], _action(changed.p4info, "forward").params[0]
    field.type_name.name, field.bitwidth = "address_t", 32
    param.type_name.name, param.bitwidth = "address_t", 32
    path = MemoryDataPath()
    bench = Bench(build_pipeline(changed, path), path)
    path.install(bench.pipeline.switch)
    bench.insert(table_entry("l2", {"dst": 1}, action("forward", port=3)))
    assert bench.ports(1) == [3]
    for entry in (
        table_entry("l2", {"dst": 1 << 32}, action("forward", port=3)),
        table_entry("l2", {"dst": 2}, action("forward", port=512)),
    ):
        with refused(rpc_code.OUT_OF_RANGE):
            bench.insert(entry)


def test_a_digest_of_an_anonymous_tuple_has_two_names() -> None:
    """p4c's JSON calls it tuple_0."""
    changed = config()
    changed.p4info.digests[0].preamble.name = "digest_0"
    changed.p4_device_config = changed.p4_device_config.replace(b'"learned_t"', b'"tuple_0"')
    pipeline = build_pipeline(changed, MemoryDataPath())
    assert pipeline.digest_named("tuple_0") is not None


@pytest.mark.parametrize(
    ("blob", "message"),
    [
        (b"", "no device config"),
        (b"\xff\xfe", "not UTF-8"),
        (b"{", "not p4c's BMv2 JSON"),
        (b"[]", "not p4c's BMv2 JSON"),
        (b"{}", "not p4c's BMv2 JSON"),
    ],
)
def test_a_bad_device_config_is_refused(blob: bytes, message: str) -> None:
    changed = config()
    changed.p4_device_config = blob
    with refused(rpc_code.INVALID_ARGUMENT, message):
        build_pipeline(changed, MemoryDataPath())


def test_a_config_without_p4info_is_refused() -> None:
    changed = config()
    changed.ClearField("p4info")
    with refused(rpc_code.INVALID_ARGUMENT, "no P4Info"):
        build_pipeline(changed, MemoryDataPath())


def test_a_json_of_another_shape_is_an_error_and_no_exception() -> None:
    root = json.loads(JSON)
    root["counter_arrays"] = {"size": 1}
    with refused(rpc_code.INVALID_ARGUMENT, "not p4c's BMv2 JSON"):
        read_program(canopy_engine.Switch(JSON), json.dumps(root))


def test_what_p4c_leaves_out_is_no_difference() -> None:
    """A profile that no table uses, and the width of a field of type error."""
    changed = config()
    unused = changed.p4info.action_profiles.add()
    unused.preamble.id, unused.preamble.name = 5, "Pipe.unused"
    table(changed.p4info, "l2").match_fields[0].bitwidth = 0
    build_pipeline(changed, MemoryDataPath())

"""Table entries and default entries, and what packets do then."""

import pytest
from finsy.proto import p4r, rpc_code

from tests.engine.entities import (
    DELETE,
    INSERT,
    MODIFY,
    Bench,
    action,
    config,
    id_of,
    new_bench,
    raw,
    refused,
    table_entry,
)

FORWARD_3 = action("forward", port=3)
FORWARD_4 = action("forward", port=4)


def l2(dst: int, act: p4r.Action | None = None, **fields: object) -> p4r.TableEntry:
    entry = table_entry("l2", {"dst": dst}, act)
    for name, value in fields.items():
        setattr(entry, name, value)
    return entry


def acl(act: str = "deny", priority: int = 1, **match: int | tuple[int, int]) -> p4r.TableEntry:
    return table_entry("acl", match, action(act), priority)


def test_an_entry_is_read_back_as_it_was_written_and_forwards(bench: Bench) -> None:
    entry = l2(1, FORWARD_3, metadata=b"mine", controller_metadata=77)
    bench.insert(entry)
    assert bench.read_table(p4r.TableEntry(table_id=id_of("l2"))) == [entry]
    assert bench.ports(1) == [3]
    assert bench.ports(2) == []


def test_values_are_answered_in_canonical_form(bench: Bench) -> None:
    entry = l2(1, FORWARD_3)
    entry.match[0].exact.value = bytes(4) + b"\x01"
    entry.action.action.params[0].value = b"\0\0\x03"
    bench.insert(entry)
    assert bench.read_table(p4r.TableEntry(table_id=id_of("l2"))) == [l2(1, FORWARD_3)]


def test_modify_changes_action_and_metadata(bench: Bench) -> None:
    bench.insert(l2(1, FORWARD_3, metadata=b"a"))
    bench.modify(l2(1, FORWARD_4, metadata=b"b"))
    assert bench.read_table(l2(1)) == [l2(1, FORWARD_4, metadata=b"b")]
    assert bench.ports(1) == [4]


def test_modify_without_action_keeps_the_action(bench: Bench) -> None:
    bench.insert(l2(1, FORWARD_3, metadata=b"a"))
    bench.modify(l2(1, metadata=b"b"))
    assert bench.read_table(l2(1)) == [l2(1, FORWARD_3, metadata=b"b")]
    assert bench.ports(1) == [3]


def test_delete_looks_at_the_key_only(bench: Bench) -> None:
    bench.insert(l2(1, FORWARD_3))
    nonsense = l2(1, p4r.Action(action_id=0xDEAD), metadata=b"?", idle_timeout_ns=-1)
    bench.delete(nonsense)
    assert bench.read_table(l2(1)) == []
    assert bench.ports(1) == []


def test_existence(bench: Bench) -> None:
    with refused(rpc_code.NOT_FOUND):
        bench.modify(l2(1, FORWARD_3))
    with refused(rpc_code.NOT_FOUND):
        bench.delete(l2(1))
    bench.insert(l2(1, FORWARD_3))
    with refused(rpc_code.ALREADY_EXISTS):
        bench.insert(l2(1, FORWARD_4))
    assert bench.ports(1) == [3]


def test_a_full_table(bench: Bench) -> None:
    """p4c's JSON says 64 entries."""
    bench.insert(*(l2(dst, FORWARD_3) for dst in range(64)))
    with refused(rpc_code.RESOURCE_EXHAUSTED):
        bench.insert(l2(64, FORWARD_3))
    assert len(bench.read_table(p4r.TableEntry(table_id=id_of("l2")))) == 64


@pytest.mark.parametrize(
    ("entry", "code", "message"),
    [
        (p4r.TableEntry(), rpc_code.INVALID_ARGUMENT, "the table's id is missing"),
        (p4r.TableEntry(table_id=5), rpc_code.INVALID_ARGUMENT, "no table has id 0x5"),
        (l2(1), rpc_code.INVALID_ARGUMENT, "needs an action"),
        (l2(1, FORWARD_3, priority=1), rpc_code.INVALID_ARGUMENT, "takes no priority"),
        (l2(1, FORWARD_3, is_const=True), rpc_code.INVALID_ARGUMENT, "is_const"),
        (l2(1, action("learn")), rpc_code.INVALID_ARGUMENT, "has no action with id"),
        (l2(1, p4r.Action(action_id=9)), rpc_code.INVALID_ARGUMENT, "has no action with id 0x9"),
        (l2(1, action("NoAction")), rpc_code.PERMISSION_DENIED, "may only be its default action"),
        (l2(1, action("forward")), rpc_code.INVALID_ARGUMENT, "parameter 'port' is missing"),
        (l2(1, action("forward", port=512)), rpc_code.OUT_OF_RANGE, "does not fit 9 bits"),
        (l2(1, FORWARD_3, idle_timeout_ns=1), rpc_code.INVALID_ARGUMENT, "does not support idle timeouts"),
        (acl(priority=0), rpc_code.INVALID_ARGUMENT, "needs a priority above 0"),
        (acl(priority=-1), rpc_code.INVALID_ARGUMENT, "needs a priority above 0"),
        (table_entry("keyless", {}, FORWARD_3), rpc_code.INVALID_ARGUMENT, "has no key"),
        (table_entry("fixed", {"type": (1, 1)}, action("drop"), 9), rpc_code.PERMISSION_DENIED, "constant"),
        (
            table_entry("l2", {"dst": 1}, p4r.TableAction(action_profile_member_id=1)),
            rpc_code.INVALID_ARGUMENT,
            "plain actions only",
        ),
        (table_entry("l2", {"dst": 1}, p4r.TableAction()), rpc_code.INVALID_ARGUMENT, "the action is empty"),
        (table_entry("routes", {"dst": (0, 0)}, FORWARD_3), rpc_code.INVALID_ARGUMENT, "prefix length 0"),
        (table_entry("routes", {}, FORWARD_3), rpc_code.INVALID_ARGUMENT, "no plain actions"),
    ],
)
def test_refused_inserts(bench: Bench, entry: p4r.TableEntry, code: int, message: str) -> None:
    before = bench.state()
    with refused(code, message):
        bench.insert(entry)
    assert bench.state() == before


def test_parameters_may_not_be_unknown_or_twice(bench: Bench) -> None:
    unknown, twice = action("forward", port=3), action("forward", port=3)
    unknown.params.add(param_id=7, value=b"\x01")
    twice.params.add(param_id=1, value=b"\x01")
    for act, message in ((unknown, "no parameter has id 7"), (twice, "given twice")):
        with refused(rpc_code.INVALID_ARGUMENT, message):
            bench.insert(l2(1, act))


def test_a_higher_priority_wins(bench: Bench) -> None:
    bench.insert(l2(1, FORWARD_3), acl("deny", 10, type=0x800))
    assert bench.ports(1) == []
    bench.insert(acl("pass", 11, type=0x800, ingress_port=(1, 1)))
    assert bench.ports(1, port=1) == [3]
    assert bench.ports(1, port=2) == []
    bench.insert(acl("deny", 2**31 - 1, src=(0xAA, 0xFF)))
    assert bench.ports(1, port=1) == []
    assert bench.ports(1, src=0xAB, port=1) == [3]


def test_entries_that_differ_in_priority_only_are_different(bench: Bench) -> None:
    bench.insert(acl("deny", 1, type=5), acl("pass", 2, type=5))
    assert len(bench.read_table(p4r.TableEntry(table_id=id_of("acl")))) == 2
    bench.delete(acl("pass", 2, type=5))
    assert bench.read_table(p4r.TableEntry(table_id=id_of("acl"))) == [acl("deny", 1, type=5)]


def test_a_constant_table_shows_its_entries_and_refuses_changes(bench: Bench) -> None:
    entries = bench.read_table(p4r.TableEntry(table_id=id_of("fixed")))
    assert [(e.priority, e.is_const) for e in entries] == [(2, True), (1, True)]
    assert entries[0].match[0].ternary == p4r.FieldMatch.Ternary(value=b"\xde\xad", mask=b"\xff\xff")
    assert entries[0].action.action.action_id == id_of("drop")
    key = table_entry("fixed", {"type": (0xDEAD, 0xFFFF)}, None, 2)
    with refused(rpc_code.PERMISSION_DENIED):
        bench.delete(key)
    with refused(rpc_code.PERMISSION_DENIED):
        bench.modify(table_entry("fixed", {"type": (0xDEAD, 0xFFFF)}, action("drop"), 2))
    bench.modify(key)


def preinitialized() -> Bench:
    """The program as if table `fixed` had been declared with `entries` in place of `const entries`."""
    changed = config()
    table = next(t for t in changed.p4info.tables if t.preamble.alias == "fixed")
    table.is_const_table, table.size = False, 3
    return new_bench(changed)


def test_a_preinitialized_table_shows_its_entries_and_takes_changes() -> None:
    bench = preinitialized()
    request = p4r.TableEntry(table_id=id_of("fixed"))
    assert [(e.priority, e.is_const) for e in bench.read_table(request)] == [(2, False), (1, False)]
    bench.insert(table_entry("l2", {"dst": 1}, action("forward", port=3)))
    assert bench.ports(1, ethertype=0xDEAD) == []
    bench.modify(table_entry("fixed", {"type": (0xDEAD, 0xFFFF)}, action("known"), 2))
    assert bench.ports(1, ethertype=0xDEAD) == [3]
    undo = bench.apply(DELETE, table_entry("fixed", {"type": (0xDE00, 0xFF00)}, None, 1))
    bench.insert(table_entry("fixed", {"type": (0x0800, 0xFFFF)}, action("drop"), 5))
    assert [e.priority for e in bench.read_table(request)] == [2, 5]
    assert bench.ports(1, ethertype=0x0800) == []
    undo()
    assert sorted(e.priority for e in bench.read_table(request)) == [1, 2, 5]
    with refused(rpc_code.RESOURCE_EXHAUSTED, "full"):
        bench.insert(table_entry("fixed", {"type": (0x0900, 0xFFFF)}, action("drop"), 6))


# Default entries.


def default(table: str, act: p4r.Action | None = None, **fields: object) -> p4r.TableEntry:
    entry = table_entry(table, {}, act)
    entry.is_default_action = True
    for name, value in fields.items():
        setattr(entry, name, value)
    return entry


def test_a_default_entry_is_set_and_reset(bench: Bench) -> None:
    assert bench.read_table(default("keyless")) == [default("keyless", action("known"))]
    changed = default("keyless", FORWARD_3, metadata=b"d", controller_metadata=5)
    bench.modify(changed)
    assert bench.read_table(default("keyless")) == [changed]
    assert bench.ports(9) == [3]
    bench.modify(default("keyless", metadata=b"ignored"))
    assert bench.read_table(default("keyless")) == [default("keyless", action("known"))]
    assert bench.ports(9) == []


def test_default_entries_are_read_only_when_asked_for(bench: Bench) -> None:
    assert not any(e.is_default_action for e in bench.read_table(p4r.TableEntry()))
    assert all(e.is_default_action for e in bench.read_table(p4r.TableEntry(is_default_action=True)))


def test_constant_default_entries(bench: Bench) -> None:
    (entry,) = bench.read_table(default("fixed"))
    assert entry.is_const
    for table in ("fixed", "routes"):
        with refused(rpc_code.PERMISSION_DENIED, "constant"):
            bench.modify(default(table))


@pytest.mark.parametrize(
    ("entry", "code", "message"),
    [
        (default("l2", FORWARD_3, priority=1), rpc_code.INVALID_ARGUMENT, "no priority"),
        (default("l2", action("drop")), rpc_code.PERMISSION_DENIED, "may not be its default action"),
        (default("l2", action("known")), rpc_code.INVALID_ARGUMENT, "has no action"),
        (default("sources", action("known"), idle_timeout_ns=1), rpc_code.INVALID_ARGUMENT, "no idle timeout"),
        (default("l2", FORWARD_3, is_const=True), rpc_code.INVALID_ARGUMENT, "is_const"),
    ],
)
def test_refused_default_entries(bench: Bench, entry: p4r.TableEntry, code: int, message: str) -> None:
    with refused(code, message):
        bench.modify(entry)


def test_a_default_entry_is_only_modified(bench: Bench) -> None:
    for kind in (INSERT, DELETE):
        with refused(rpc_code.INVALID_ARGUMENT):
            bench.apply(kind, default("l2", FORWARD_3))
    with_match = default("l2", FORWARD_3)
    with_match.match.append(l2(1).match[0])
    with refused(rpc_code.INVALID_ARGUMENT, "no match fields"):
        bench.modify(with_match)


# Direct resources and idle timeouts.


def test_a_direct_counter_with_its_entry(bench: Bench) -> None:
    entry = l2(1, FORWARD_3)
    entry.counter_data.packet_count, entry.counter_data.byte_count = 10, 1000
    bench.insert(entry)
    bench.ports(1)
    request = l2(1)
    assert not bench.read_table(request)[0].HasField("counter_data")
    request.counter_data.SetInParent()
    assert bench.read_table(request)[0].counter_data == p4r.CounterData(packet_count=11, byte_count=1021)
    bench.modify(l2(1, FORWARD_4))
    assert bench.read_table(request)[0].counter_data.packet_count == 11
    reset = l2(1)
    reset.counter_data.SetInParent()
    bench.modify(reset)
    assert bench.read_table(request)[0].counter_data == p4r.CounterData()


def test_a_direct_meter_with_its_entry(bench: Bench) -> None:
    entry, request = acl("pass", 5, type=7), acl("pass", 5, type=7)
    config = p4r.MeterConfig(cir=10, cburst=20, pir=30, pburst=40)
    entry.meter_config.CopyFrom(config)
    request.meter_config.SetInParent()
    bench.insert(entry)
    assert bench.read_table(request)[0].meter_config == config
    assert not bench.read_table(acl("pass", 5, type=7))[0].HasField("meter_config")
    bench.modify(acl("deny", 5, type=7))
    assert not bench.read_table(raw.TableEntry(table_id=id_of("acl"), meter_config={}))[0].HasField("meter_config")


@pytest.mark.parametrize("field", ["counter_data", "meter_config", "meter_counter_data", "time_since_last_hit"])
def test_direct_resources_that_a_table_lacks(bench: Bench, field: str) -> None:
    entry = table_entry("sources", {"src": 5}, action("known"))
    getattr(entry, field).SetInParent()
    with refused(rpc_code.INVALID_ARGUMENT):
        bench.insert(entry)


def test_negative_counts_and_meters_are_refused(bench: Bench) -> None:
    entry = l2(1, FORWARD_3)
    entry.counter_data.packet_count = -1
    with refused(rpc_code.INVALID_ARGUMENT, "negative"):
        bench.insert(entry)
    metered = acl()
    metered.meter_config.cir = -1
    with refused(rpc_code.INVALID_ARGUMENT, "negative"):
        bench.insert(metered)
    metered.meter_config.cir, metered.meter_config.eburst = 1, 1
    with refused(rpc_code.INVALID_ARGUMENT, "eburst"):
        bench.insert(metered)


def test_an_idle_timeout_is_kept_to_the_nanosecond_and_the_time_since_the_last_hit_is_told(bench: Bench) -> None:
    entry = table_entry("sources", {"src": 0xAA}, action("known"))
    entry.idle_timeout_ns = 1_000_000_001
    bench.insert(entry)
    bench.path.now_us = 5_000_000
    bench.ports(1)
    bench.path.now_us = 5_400_000
    bench.ports(1, src=0xBB)
    request = table_entry("sources", {"src": 0xAA})
    request.time_since_last_hit.SetInParent()
    (read,) = bench.read_table(request)
    assert read.idle_timeout_ns == 1_000_000_001
    assert read.time_since_last_hit.elapsed_ns == 400_000_000


def test_undo_restores_entries_with_everything(bench: Bench) -> None:
    entry = acl("deny", 3, type=5)
    entry.meter_config.CopyFrom(p4r.MeterConfig(cir=1, cburst=2, pir=3, pburst=4))
    counted = l2(1, FORWARD_3, metadata=b"m")
    counted.counter_data.packet_count = 7
    bench.insert(entry, counted)
    before = bench.state()
    undos = [
        bench.apply(DELETE, counted),
        bench.apply(MODIFY, acl("pass", 3, type=5)),
        bench.apply(INSERT, l2(2, FORWARD_4)),
        bench.apply(MODIFY, default("l2", FORWARD_4, metadata=b"x")),
        bench.apply(MODIFY, default("l2")),
    ]
    assert bench.state() != before
    for undo in reversed(undos):
        undo()
    assert bench.state() == before
    assert bench.ports(1) == [3]
    assert bench.ports(2) == []

"""Counters, meters, value sets and what is not supported."""

import pytest
from finsy.proto import p4i, p4r, rpc_code

from engine.switch.p4runtime.meters import check_config
from tests.engine.entities import DELETE, INSERT, MODIFY, Bench, Entry, action, id_of, raw, refused, table_entry

COUNTER, METER, SET = id_of("port_counter"), id_of("cell_meter"), id_of("special_types")
CONFIG = p4r.MeterConfig(cir=1000, cburst=10, pir=2000, pburst=20)


def cell(index: int | None, packets: int | None = None, octets: int = 0) -> p4r.CounterEntry:
    entry = p4r.CounterEntry(counter_id=COUNTER)
    if index is not None:
        entry.index.index = index
    if packets is not None:
        entry.data.packet_count, entry.data.byte_count = packets, octets
    return entry


def meter(index: int | None, config: p4r.MeterConfig | None = None) -> p4r.MeterEntry:
    entry = p4r.MeterEntry(meter_id=METER, config=config)
    if index is not None:
        entry.index.index = index
    return entry


def value_set(*types: int) -> p4r.ValueSetEntry:
    entry = p4r.ValueSetEntry(value_set_id=SET)
    for ethertype in types:
        entry.members.add(match=[{"field_id": 1, "exact": {"value": ethertype.to_bytes(2, "big")}}])
    return entry


def counts(bench: Bench, index: int) -> tuple[int, int]:
    data = bench.read(cell(index))[0].counter_entry.data
    return data.packet_count, data.byte_count


def test_a_counter_counts_and_is_written(bench: Bench) -> None:
    bench.ports(1, port=3)
    bench.ports(1, port=3)
    assert counts(bench, 3) == (2, 42)
    bench.modify(cell(3, 100, 2000))
    bench.ports(1, port=3)
    assert counts(bench, 3) == (101, 2021)
    bench.modify(cell(3))
    assert counts(bench, 3) == (101, 2021), "without data nothing changes"
    bench.modify(cell(None, 7, 8))
    assert counts(bench, 0) == counts(bench, 511) == (7, 8)


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        (cell(-1, 1), rpc_code.INVALID_ARGUMENT),
        (cell(512, 1), rpc_code.OUT_OF_RANGE),
        (cell(1, -1), rpc_code.INVALID_ARGUMENT),
        (p4r.CounterEntry(), rpc_code.INVALID_ARGUMENT),
        (p4r.CounterEntry(counter_id=METER), rpc_code.INVALID_ARGUMENT),
        (meter(-1, CONFIG), rpc_code.INVALID_ARGUMENT),
        (meter(4, CONFIG), rpc_code.OUT_OF_RANGE),
        (meter(1, p4r.MeterConfig(cir=2, pir=1)), rpc_code.INVALID_ARGUMENT),
        (raw.MeterEntry(meter_id=METER, counter_data={}), rpc_code.UNIMPLEMENTED),
        (value_set(1, 2, 3), rpc_code.RESOURCE_EXHAUSTED),
        (value_set(1, 1), rpc_code.ALREADY_EXISTS),
        (raw.ValueSetEntry(value_set_id=SET, members=[{}]), rpc_code.INVALID_ARGUMENT),
        (p4r.DirectCounterEntry(), rpc_code.INVALID_ARGUMENT),
        (p4r.DirectCounterEntry(table_entry=table_entry("acl", {}, None, 1)), rpc_code.INVALID_ARGUMENT),
        (p4r.DirectCounterEntry(table_entry=table_entry("l2", {"dst": 1})), rpc_code.NOT_FOUND),
        (p4r.DirectMeterEntry(table_entry=table_entry("acl", {}, None, 1)), rpc_code.NOT_FOUND),
        (p4r.RegisterEntry(register_id=id_of("memory")), rpc_code.UNIMPLEMENTED),
        (p4r.ExternEntry(extern_type_id=0x81), rpc_code.UNIMPLEMENTED),
    ],
)
def test_refused_modifications(bench: Bench, entry: Entry, code: int) -> None:
    before = bench.state()
    with refused(code):
        bench.modify(entry)
    assert bench.state() == before


@pytest.mark.parametrize(
    "entry", [cell(1, 1), meter(1, CONFIG), value_set(1), p4r.DirectCounterEntry(), p4r.DirectMeterEntry()]
)
def test_cells_are_only_modified(bench: Bench, entry: Entry) -> None:
    for kind in (INSERT, DELETE):
        with refused(rpc_code.INVALID_ARGUMENT, "can only be modified"):
            bench.apply(kind, entry)


def test_a_meter_is_configured_and_reset(bench: Bench) -> None:
    bench.modify(meter(2, CONFIG))
    configs = [e.meter_entry for e in bench.read(p4r.MeterEntry(meter_id=METER))]
    assert configs == [meter(0), meter(1), meter(2, CONFIG), meter(3)]
    bench.modify(meter(None, CONFIG))
    assert all(e.meter_entry.config == CONFIG for e in bench.read(p4r.MeterEntry()))
    bench.modify(meter(None))
    assert not any(e.meter_entry.HasField("config") for e in bench.read(p4r.MeterEntry()))


def test_a_direct_meter_and_counter_by_themselves(bench: Bench) -> None:
    acl = table_entry("acl", {"type": 5}, action("pass"), 3)
    l2 = table_entry("l2", {"dst": 1}, action("forward", port=1))
    bench.insert(acl, l2)
    bench.modify(p4r.DirectMeterEntry(table_entry=acl, config=CONFIG))
    assert bench.read(p4r.DirectMeterEntry(table_entry=acl))[0].direct_meter_entry.config == CONFIG
    bench.modify(p4r.DirectMeterEntry(table_entry=acl))
    assert not bench.read(p4r.DirectMeterEntry(table_entry=acl))[0].direct_meter_entry.HasField("config")
    bench.modify(raw.DirectCounterEntry(table_entry=l2, data={"packet_count": 4, "byte_count": 5}))
    bench.modify(p4r.DirectCounterEntry(table_entry=l2))
    bench.ports(1)
    read = bench.read(p4r.DirectCounterEntry(table_entry=l2))[0].direct_counter_entry
    assert read.data == p4r.CounterData(packet_count=5, byte_count=26)


@pytest.mark.parametrize(
    ("config", "kind", "code"),
    [
        ({"cir": 1, "pir": 2}, p4i.MeterSpec.TWO_RATE_THREE_COLOR, None),
        ({"cir": 1, "pir": 1, "cburst": 5, "pburst": 5}, p4i.MeterSpec.SINGLE_RATE_TWO_COLOR, None),
        ({"cir": 1, "pir": 1}, p4i.MeterSpec.SINGLE_RATE_THREE_COLOR, None),
        ({"cir": 1, "pir": 1, "eburst": 1}, p4i.MeterSpec.SINGLE_RATE_THREE_COLOR, rpc_code.UNIMPLEMENTED),
        ({"cir": 1, "pir": 2}, p4i.MeterSpec.SINGLE_RATE_THREE_COLOR, rpc_code.INVALID_ARGUMENT),
        ({"cir": 1, "pir": 1, "pburst": 1}, p4i.MeterSpec.SINGLE_RATE_TWO_COLOR, rpc_code.INVALID_ARGUMENT),
        ({"cir": 1, "pir": 1, "eburst": 1}, p4i.MeterSpec.SINGLE_RATE_TWO_COLOR, rpc_code.INVALID_ARGUMENT),
    ],
)
def test_the_types_of_meters(config: dict[str, int], kind: int, code: int | None) -> None:
    message = p4r.MeterConfig(**config)
    if code is None:
        check_config(message, kind, "m")
    else:
        with refused(code):
            check_config(message, kind, "m")


def test_a_value_set_changes_the_parser(bench: Bench) -> None:
    assert bench.ports(1, ethertype=0x88F7) == []
    bench.modify(value_set(0x88F7, 0x1234))
    assert bench.ports(1, ethertype=0x88F7) == [7]
    assert bench.ports(1, ethertype=0x0800) == []
    read = bench.read(p4r.ValueSetEntry(value_set_id=SET))[0].value_set_entry
    assert read == value_set(0x88F7, 0x1234)
    bench.modify(value_set())
    assert bench.ports(1, ethertype=0x88F7) == []


def test_undo(bench: Bench) -> None:
    acl = table_entry("acl", {"type": 5}, action("pass"), 3)
    l2 = table_entry("l2", {"dst": 1}, action("forward", port=1))
    bench.insert(acl, l2)
    bench.modify(cell(1, 5, 6), meter(1, CONFIG), value_set(1))
    before = bench.state()
    undos = [
        bench.apply(MODIFY, cell(None, 1, 1)),
        bench.apply(MODIFY, meter(None)),
        bench.apply(MODIFY, value_set(2, 3)),
        bench.apply(MODIFY, p4r.DirectMeterEntry(table_entry=acl, config=CONFIG)),
        bench.apply(MODIFY, raw.DirectCounterEntry(table_entry=l2, data={"packet_count": 4})),
    ]
    assert bench.state() != before
    for undo in reversed(undos):
        undo()
    assert bench.state() == before

"""RECONCILE_AND_COMMIT: state carried from one program to another."""

import json

import pytest
from finsy.proto import p4r, rpc_code

from engine.switch.p4runtime.datapath import MemoryDataPath
from engine.switch.p4runtime.pipeline import Pipeline, build_pipeline
from engine.switch.p4runtime.reconcile import carry_over
from tests.engine.entities import (
    CPU_PORT,
    Bench,
    action,
    config,
    group,
    id_of,
    member,
    multicast_group,
    raw,
    refused,
    table_entry,
)


def successor(change: str = "") -> Pipeline:
    """The same program, or one that lacks something."""
    new = config()
    root = json.loads(new.p4_device_config)
    if change == "small table":
        for pipeline in root["pipelines"]:
            for table in pipeline["tables"]:
                table["max_size"] = 1
    if change == "no acl":
        del new.p4info.tables[next(i for i, t in enumerate(new.p4info.tables) if t.preamble.alias == "acl")]
        del new.p4info.direct_meters[:]
    new.p4_device_config = json.dumps(root).encode()
    return build_pipeline(new, MemoryDataPath(cpu_port=CPU_PORT))


@pytest.fixture
def filled(bench: Bench) -> Bench:
    counted = table_entry("l2", {"dst": 1}, action("forward", port=3))
    counted.counter_data.packet_count, counted.metadata = 7, b"m"
    metered = table_entry("acl", {"type": 5}, action("deny"), 3)
    metered.meter_config.CopyFrom(p4r.MeterConfig(cir=1, cburst=2, pir=3, pburst=4))
    default = table_entry("keyless", {}, action("forward", port=2))
    default.is_default_action = True
    timed = table_entry("sources", {"src": 5}, action("known"))
    timed.idle_timeout_ns = 5
    bench.insert(
        counted,
        metered,
        timed,
        table_entry("l2", {"dst": 2}, action("flood", group=1)),
        member(1, action("forward", port=1)),
        group(1, {1: 1}, max_size=5),
        table_entry("routes", {"dst": (0x12 << 40, 8)}, p4r.TableAction(action_profile_group_id=1)),
        multicast_group(1, (1, 0), metadata=b"g"),
        raw.CloneSessionEntry(session_id=1, replicas=[{"egress_port": 1}]),
        raw.DigestEntry(digest_id=id_of("learned_t"), config={"max_list_size": 3}),
    )
    bench.modify(
        default,
        raw.CounterEntry(counter_id=id_of("port_counter"), index={"index": 3}, data={"packet_count": 9}),
        raw.MeterEntry(meter_id=id_of("cell_meter"), index={"index": 1}, config={"cir": 1, "pir": 2}),
        raw.ValueSetEntry(
            value_set_id=id_of("special_types"), members=[{"match": [{"field_id": 1, "exact": {"value": b"\x09"}}]}]
        ),
    )
    bench.pipeline.switch.register_write("Pipe.memory", 2, 1234)
    return bench


def test_everything_is_carried_over(filled: Bench) -> None:
    new = successor()
    carry_over(filled.pipeline, new)
    assert Bench(new, filled.path).state() == filled.state()
    assert new.switch.register_read("Pipe.memory", 2) == 1234


def test_a_state_that_does_not_fit_refuses_the_config(filled: Bench) -> None:
    with refused(rpc_code.INVALID_ARGUMENT, "cannot be preserved"):
        carry_over(filled.pipeline, successor("small table"))


def test_a_table_that_is_gone_refuses_only_when_it_had_entries(bench: Bench, filled: Bench) -> None:
    with refused(rpc_code.INVALID_ARGUMENT, "cannot be preserved: no table has id"):
        carry_over(filled.pipeline, successor("no acl"))
    filled.delete(table_entry("acl", {"type": 5}, None, 3))
    carry_over(filled.pipeline, successor("no acl"))


def test_one_shot_sets_are_carried_over(bench: Bench) -> None:
    target = p4r.TableAction()
    target.action_profile_action_set.action_profile_actions.add(action=action("forward", port=4), weight=2)
    bench.insert(table_entry("routes", {"dst": (0x12 << 40, 8)}, target))
    new = successor()
    carry_over(bench.pipeline, new)
    assert Bench(new, bench.path).state() == bench.state()

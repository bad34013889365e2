"""Wildcard reads and filters."""

import asyncio

import pytest
from finsy.proto import p4r, rpc_code

from engine.switch.p4runtime.errors import BatchError
from engine.switch.p4runtime.read import RESPONSE_BYTES, read_batch, responses
from tests.engine.entities import (
    Bench,
    Entry,
    action,
    entity,
    group,
    id_of,
    member,
    multicast_group,
    raw,
    refused,
    table_entry,
)

L2, ACL = id_of("l2"), id_of("acl")


@pytest.fixture
def filled(bench: Bench) -> Bench:
    for dst in range(1, 4):
        entry = table_entry("l2", {"dst": dst}, action("forward", port=dst))
        entry.metadata, entry.controller_metadata = bytes([dst % 2 + 1]), dst % 2 + 1
        bench.insert(entry)
    bench.insert(
        table_entry("l2", {"dst": 9}, action("flood", group=1)),
        table_entry("acl", {"type": 5}, action("deny"), 1),
        table_entry("acl", {"type": 5}, action("pass"), 2),
        table_entry("acl", {}, action("pass"), 3),
        member(1, action("drop")),
        member(2, action("drop")),
        member(1, action("set_dst", dst=5), "next_hops"),
        group(1, {1: 1, 2: 2}),
        multicast_group(1, (1, 0)),
        multicast_group(2, (2, 0)),
        p4r.CloneSessionEntry(session_id=1),
        p4r.CloneSessionEntry(session_id=2),
    )
    return bench


@pytest.mark.parametrize(
    ("request_", "count"),
    [
        (p4r.TableEntry(), 4 + 3 + 2),
        (p4r.TableEntry(table_id=L2), 4),
        (p4r.TableEntry(table_id=L2, metadata=b"\x02"), 2),
        (p4r.TableEntry(table_id=L2, controller_metadata=1), 1),
        (raw.TableEntry(table_id=L2, action={"action": {"action_id": id_of("forward")}}), 3),
        (raw.TableEntry(table_id=L2, action={"action": {"action_id": id_of("drop")}}), 0),
        (table_entry("l2", {"dst": 2}), 1),
        (table_entry("l2", {"dst": 77}), 0),
        (p4r.TableEntry(table_id=ACL), 3),
        (p4r.TableEntry(table_id=ACL, priority=3), 1),
        (table_entry("acl", {"type": 5}), 2),
        (table_entry("acl", {"type": 5}, None, 2), 1),
        (table_entry("acl", {"type": 5}, None, 3), 0),
        (p4r.ActionProfileMember(), 3),
        (p4r.ActionProfileMember(action_profile_id=id_of("spread")), 2),
        (p4r.ActionProfileMember(action_profile_id=id_of("spread"), member_id=2), 1),
        (p4r.ActionProfileGroup(), 1),
        (p4r.MulticastGroupEntry(), 2),
        (p4r.MulticastGroupEntry(multicast_group_id=2), 1),
        (p4r.CloneSessionEntry(), 2),
        (p4r.CloneSessionEntry(session_id=1), 1),
        (p4r.CounterEntry(), 512),
        (p4r.CounterEntry(counter_id=id_of("port_counter")), 512),
        (raw.CounterEntry(counter_id=id_of("port_counter"), index={"index": 511}), 1),
        (p4r.MeterEntry(), 4),
        (p4r.DirectCounterEntry(), 4),
        (raw.DirectCounterEntry(table_entry={"table_id": L2}), 4),
        (p4r.DirectCounterEntry(table_entry=table_entry("l2", {"dst": 1})), 1),
        (p4r.DirectMeterEntry(), 3),
        (p4r.DirectMeterEntry(table_entry=table_entry("acl", {"type": 5}, None, 1)), 1),
        (p4r.ValueSetEntry(), 1),
        (p4r.DigestEntry(), 0),
    ],
)
def test_selection(filled: Bench, request_: Entry, count: int) -> None:
    assert len(filled.read(request_)) == count


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (p4r.TableEntry(table_id=1), rpc_code.INVALID_ARGUMENT),
        (raw.TableEntry(match=[{"field_id": 1}]), rpc_code.INVALID_ARGUMENT),
        (raw.TableEntry(table_id=L2, match=[{"field_id": 1}]), rpc_code.INVALID_ARGUMENT),
        (raw.TableEntry(table_id=L2, time_since_last_hit={}), rpc_code.INVALID_ARGUMENT),
        (raw.TableEntry(table_id=ACL, meter_counter_data={}), rpc_code.UNIMPLEMENTED),
        (raw.TableEntry(table_id=L2, action={"action_profile_member_id": 1}), rpc_code.INVALID_ARGUMENT),
        (p4r.TableEntry(table_id=L2, is_default_action=True, priority=1), rpc_code.INVALID_ARGUMENT),
        (p4r.ActionProfileMember(member_id=1), rpc_code.INVALID_ARGUMENT),
        (p4r.ActionProfileMember(action_profile_id=id_of("spread"), member_id=9), rpc_code.NOT_FOUND),
        (p4r.ActionProfileGroup(group_id=1), rpc_code.INVALID_ARGUMENT),
        (p4r.ActionProfileGroup(action_profile_id=id_of("spread"), group_id=9), rpc_code.NOT_FOUND),
        (p4r.MulticastGroupEntry(multicast_group_id=9), rpc_code.NOT_FOUND),
        (p4r.CloneSessionEntry(session_id=9), rpc_code.NOT_FOUND),
        (raw.CounterEntry(index={"index": 1}), rpc_code.INVALID_ARGUMENT),
        (raw.CounterEntry(counter_id=id_of("port_counter"), index={"index": 512}), rpc_code.OUT_OF_RANGE),
        (raw.CounterEntry(counter_id=id_of("port_counter"), index={"index": -1}), rpc_code.INVALID_ARGUMENT),
        (raw.MeterEntry(index={"index": 1}), rpc_code.INVALID_ARGUMENT),
        (raw.MeterEntry(counter_data={}), rpc_code.UNIMPLEMENTED),
        (p4r.DirectCounterEntry(table_entry=table_entry("l2", {"dst": 77})), rpc_code.NOT_FOUND),
        (p4r.DirectCounterEntry(table_entry=table_entry("acl", {"type": 5}, None, 1)), rpc_code.INVALID_ARGUMENT),
        (raw.DirectCounterEntry(table_entry={"table_id": L2, "is_default_action": True}), rpc_code.UNIMPLEMENTED),
        (raw.DirectMeterEntry(counter_data={}), rpc_code.UNIMPLEMENTED),
        (raw.ValueSetEntry(members=[{}]), rpc_code.INVALID_ARGUMENT),
        (p4r.DigestEntry(digest_id=id_of("learned_t")), rpc_code.NOT_FOUND),
        (p4r.RegisterEntry(register_id=id_of("memory")), rpc_code.UNIMPLEMENTED),
        (p4r.ExternEntry(), rpc_code.UNIMPLEMENTED),
    ],
)
def test_refused_requests(filled: Bench, request_: Entry, code: int) -> None:
    with refused(code):
        filled.read(request_)


def test_an_empty_request_or_replication_entry_is_refused(bench: Bench) -> None:
    for request_ in (raw.Entity(), raw.Entity(packet_replication_engine_entry={})):
        entities, error = asyncio.run(read_batch(bench.pipeline, [request_], lambda _: True))
        assert entities == []
        assert isinstance(error, BatchError)
        assert error.errors[0] is not None
        assert error.errors[0].code == rpc_code.INVALID_ARGUMENT


def test_valid_requests_of_a_batch_are_answered_beside_invalid_ones(filled: Bench) -> None:
    batch = [
        entity(p4r.TableEntry(table_id=L2)),
        entity(p4r.TableEntry(table_id=1)),
        entity(p4r.MulticastGroupEntry()),
        entity(p4r.RegisterEntry()),
    ]
    entities, error = asyncio.run(read_batch(filled.pipeline, batch, lambda _: True))
    assert len(entities) == 4 + 2
    assert error is not None
    codes = [e.code if e is not None else rpc_code.OK for e in error.errors]
    assert codes == [rpc_code.OK, rpc_code.INVALID_ARGUMENT, rpc_code.OK, rpc_code.UNIMPLEMENTED]


def test_direct_resources_tell_the_entry_by_its_key(filled: Bench) -> None:
    filled.ports(1)
    request_ = p4r.DirectCounterEntry(table_entry=table_entry("l2", {"dst": 1}, action("drop")))
    (read,) = filled.read(request_)
    assert read.direct_counter_entry.table_entry == table_entry("l2", {"dst": 1})
    assert read.direct_counter_entry.data == p4r.CounterData(packet_count=1, byte_count=21)


def test_responses_are_bounded_and_complete() -> None:
    entities = [entity(multicast_group(n, (1, n), metadata=bytes(5000))) for n in range(1, 400)]
    found = list(responses(entities))
    assert len(found) > 1
    assert all(response.ByteSize() < 2 * RESPONSE_BYTES for response in found)
    assert [e for response in found for e in response.entities] == entities
    assert list(responses([])) == []

"""Batches of updates: per-update errors, rollback, and the errors' way through gRPC."""

import asyncio

import grpc
import pytest
from finsy.proto import p4r, rpc_code
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.switch.p4runtime.errors import DETAILS_BYTES, BatchError, P4RuntimeError
from engine.switch.p4runtime.write import write_batch
from tests.engine.entities import (
    DELETE,
    INSERT,
    MODIFY,
    Bench,
    Entry,
    action,
    entity,
    multicast_group,
    new_bench,
    refused,
    table_entry,
    update,
)
from tests.engine.served import Controller, errors_of, status_of

OK, NOT_FOUND, ALREADY_EXISTS = rpc_code.OK, rpc_code.NOT_FOUND, rpc_code.ALREADY_EXISTS
FORWARD = action("forward", port=1)
ROLLBACK = p4r.WriteRequest.ROLLBACK_ON_ERROR


def l2(dst: int, act: p4r.Action = FORWARD) -> p4r.TableEntry:
    return table_entry("l2", {"dst": dst}, act)


def write(
    bench: Bench,
    *updates: p4r.Update,
    atomicity: p4r.WriteRequest.Atomicity.ValueType = p4r.WriteRequest.CONTINUE_ON_ERROR,
) -> list[int]:
    """The code of each update."""
    try:
        asyncio.run(write_batch(bench.pipeline, updates, atomicity, lambda _: None))
    except BatchError as error:
        return [e.code if e is not None else OK for e in error.errors]
    return [OK] * len(updates)


def test_all_updates_are_tried_and_each_has_its_own_status(bench: Bench) -> None:
    codes = write(
        bench,
        update(INSERT, l2(1)),
        update(INSERT, l2(1)),
        update(DELETE, l2(2)),
        update(INSERT, l2(3)),
        p4r.Update(type=INSERT),
        p4r.Update(entity=entity(l2(4))),
        p4r.Update(type=9, entity=entity(l2(4))),  # type: ignore[arg-type]
    )
    invalid = rpc_code.INVALID_ARGUMENT
    assert codes == [OK, ALREADY_EXISTS, NOT_FOUND, OK, invalid, invalid, invalid]
    assert bench.ports(1) == bench.ports(3) == [1]


def test_later_updates_see_earlier_ones(bench: Bench) -> None:
    assert write(bench, update(INSERT, l2(1)), update(MODIFY, l2(1)), update(DELETE, l2(1))) == [OK] * 3


def test_rollback_undoes_what_came_before_the_error(bench: Bench) -> None:
    bench.insert(l2(1), multicast_group(1, (1, 0)))
    before = bench.state()
    codes = write(
        bench,
        update(MODIFY, l2(1, action("drop"))),
        update(DELETE, multicast_group(1)),
        update(DELETE, l2(77)),
        update(INSERT, l2(2)),
        atomicity=ROLLBACK,
    )
    aborted = rpc_code.ABORTED
    assert codes == [aborted, aborted, NOT_FOUND, aborted]
    assert bench.state() == before
    assert bench.ports(1) == [1]


def test_a_rollback_batch_without_error_is_applied(bench: Bench) -> None:
    assert write(bench, update(INSERT, l2(1)), update(INSERT, l2(2)), atomicity=ROLLBACK) == [OK, OK]
    assert bench.ports(2) == [1]


def test_only_a_single_update_is_atomic_for_packets(bench: Bench) -> None:
    atomic = p4r.WriteRequest.DATAPLANE_ATOMIC
    assert write(bench, update(INSERT, l2(1)), atomicity=atomic) == [OK]
    with refused(rpc_code.UNIMPLEMENTED):
        write(bench, update(INSERT, l2(2)), update(INSERT, l2(3)), atomicity=atomic)
    assert bench.ports(2) == []


def test_an_atomicity_that_there_is_not_is_refused(bench: Bench) -> None:
    with refused(rpc_code.INVALID_ARGUMENT, "atomicity 7"):
        write(bench, update(INSERT, l2(1)), atomicity=7)  # type: ignore[arg-type]
    assert bench.ports(1) == []


def test_entities_beyond_the_role_are_refused_one_by_one(bench: Bench) -> None:
    def only_groups(candidate: p4r.Entity) -> None:
        if not candidate.HasField("packet_replication_engine_entry"):
            raise P4RuntimeError(rpc_code.PERMISSION_DENIED, "no")

    updates = [update(INSERT, l2(1)), update(INSERT, multicast_group(1, (1, 0)))]
    with pytest.raises(BatchError) as caught:
        asyncio.run(write_batch(bench.pipeline, updates, p4r.WriteRequest.CONTINUE_ON_ERROR, only_groups))
    assert [e.code if e else OK for e in caught.value.errors] == [rpc_code.PERMISSION_DENIED, OK]


@st.composite
def updates(draw: st.DrawFn) -> p4r.Update:
    """Updates of a few entities, so that they meet."""
    kind = draw(st.sampled_from([INSERT, MODIFY, DELETE]))
    number = draw(st.integers(1, 3))
    act = draw(st.sampled_from([FORWARD, action("drop"), action("flood", group=1), action("learn")]))
    entries: list[Entry] = [
        l2(number, act),
        table_entry("acl", {"type": number}, action("deny"), number),
        multicast_group(number, (number, 0)),
        p4r.CloneSessionEntry(session_id=number),
        table_entry("l2", {"dst": number}),
    ]
    entry = draw(st.sampled_from(entries))
    return update(kind, entry)


@given(st.lists(updates(), max_size=8), st.lists(updates(), min_size=1, max_size=8))
@settings(max_examples=30, deadline=None)
def test_a_batch_that_is_rolled_back_leaves_no_trace(first: list[p4r.Update], second: list[p4r.Update]) -> None:
    bench = new_bench()
    write(bench, *first)
    before = bench.state()
    if write(bench, *second, atomicity=ROLLBACK) != [OK] * len(second):
        assert bench.state() == before


# Through gRPC.


def test_errors_are_packed_into_the_trailing_metadata(primary: Controller) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        primary.write(update(INSERT, l2(1)), update(DELETE, l2(5)), update(INSERT, l2(1)))
    assert status_of(caught.value) == grpc.StatusCode.UNKNOWN
    found = errors_of(caught.value)
    assert [error.canonical_code for error in found] == [OK, NOT_FOUND, ALREADY_EXISTS]
    assert found[0] == p4r.Error()
    assert "Pipe.l2" in found[1].message


def test_a_large_batch_keeps_its_codes_within_what_a_default_client_takes(primary: Controller) -> None:
    """gRPC's default limit for metadata is 8 KiB; the texts give way."""
    count = 100
    with pytest.raises(grpc.RpcError) as caught:
        primary.write(*(update(DELETE, l2(dst)) for dst in range(count)))
    assert status_of(caught.value) == grpc.StatusCode.UNKNOWN
    found = errors_of(caught.value)
    assert [error.canonical_code for error in found] == [NOT_FOUND] * count
    assert found[0].message
    assert not found[-1].message


def test_the_details_of_a_huge_batch_are_left_out_rather_than_lost() -> None:
    status = BatchError("Write failed in part", [P4RuntimeError(NOT_FOUND, "x" * 100)] * 5000).status()
    assert not status.details
    assert "5000 of 5000 failed" in status.message
    assert status.ByteSize() < DETAILS_BYTES


def test_an_empty_batch_is_no_error(primary: Controller) -> None:
    primary.write()

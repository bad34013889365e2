"""Idle timeouts, sentence by sentence (P4Runtime 1.5.0, "Idle-timeout")."""

import pytest
from finsy.proto import p4r, rpc_code

from tests.engine.entities import Bench, action, frame, refused, table_entry

MS = 1_000_000  # ns


def known(src: int, timeout_ns: int = 0) -> p4r.TableEntry:
    entry = table_entry("sources", {"src": src}, action("known"))
    entry.idle_timeout_ns = timeout_ns
    return entry


def hit(bench: Bench, at_ms: int, src: int = 0xAA) -> None:
    bench.path.now_us = at_ms * 1000
    bench.path.process(1, frame(1, src=src))


def reported(bench: Bench) -> int:
    """How many idle entries the data plane has told of since the last call."""
    _, events = bench.path.wait_events(0)
    return sum(event["kind"] == "idle_timeout" for event in events)


def elapsed_ns(bench: Bench, entry: p4r.TableEntry) -> int | None:
    """As a Read tells it; None when it does not."""
    request = table_entry("sources", {"src": 0xAA})
    if entry.HasField("time_since_last_hit"):
        request.time_since_last_hit.SetInParent()
    (read,) = bench.read_table(request)
    return read.time_since_last_hit.elapsed_ns if read.HasField("time_since_last_hit") else None


def test_an_entry_without_a_timeout_never_expires(bench: Bench) -> None:
    bench.insert(known(0xAA))
    hit(bench, 10**9, src=0xBB)
    assert reported(bench) == 0


def test_an_entry_that_is_not_hit_for_its_timeout_is_told_of_and_stays(bench: Bench) -> None:
    bench.insert(known(0xAA, 500 * MS))
    hit(bench, 400)
    hit(bench, 800, src=0xBB)
    assert reported(bench) == 0
    hit(bench, 1000, src=0xBB)
    assert reported(bench) == 1
    assert bench.read_table(table_entry("sources", {"src": 0xAA})) == [known(0xAA, 500 * MS)]


@pytest.mark.parametrize("timeout_ns", [1, 999, 1_000_001, 2**62])
def test_any_timeout_is_taken_and_read_back_exactly(bench: Bench, timeout_ns: int) -> None:
    bench.insert(known(0xAA, timeout_ns))
    bench.modify(known(0xAA, timeout_ns + 1))
    (read,) = bench.read_table(table_entry("sources", {"src": 0xAA}))
    assert read.idle_timeout_ns == timeout_ns + 1


def test_a_modified_timeout_holds(bench: Bench) -> None:
    bench.insert(known(0xAA, 500 * MS))
    hit(bench, 100)
    bench.modify(known(0xAA))
    hit(bench, 2000, src=0xBB)
    assert reported(bench) == 0
    bench.modify(known(0xAA, 300 * MS))
    hit(bench, 2500, src=0xBB)
    assert reported(bench) == 1


def test_the_time_since_the_last_hit_is_told_when_asked_for_even_without_a_timeout(bench: Bench) -> None:
    bench.insert(known(0xAA))
    hit(bench, 100)
    hit(bench, 350, src=0xBB)
    asked, unasked = known(0xAA), known(0xAA)
    asked.time_since_last_hit.SetInParent()
    assert elapsed_ns(bench, asked) == 250 * MS
    assert elapsed_ns(bench, unasked) is None


def test_it_may_not_be_written(bench: Bench) -> None:
    entry = known(0xAA)
    entry.time_since_last_hit.SetInParent()
    with refused(rpc_code.INVALID_ARGUMENT):
        bench.insert(entry)


@pytest.mark.parametrize("given", ["idle_timeout_ns", "time_since_last_hit"])
def test_a_table_that_does_not_support_it_refuses_both(bench: Bench, given: str) -> None:
    entry = table_entry("l2", {"dst": 1}, action("forward", port=3))
    bench.insert(entry)
    set_field(entry, given)
    with refused(rpc_code.INVALID_ARGUMENT):
        bench.modify(entry)
    entry.match[0].exact.value = b"\2"
    with refused(rpc_code.INVALID_ARGUMENT):
        bench.insert(entry)


@pytest.mark.parametrize("given", ["idle_timeout_ns", "time_since_last_hit"])
def test_a_default_entry_refuses_both(bench: Bench, given: str) -> None:
    entry = p4r.TableEntry(table_id=known(0).table_id, is_default_action=True)
    entry.action.action.CopyFrom(action("known"))
    set_field(entry, given)
    with refused(rpc_code.INVALID_ARGUMENT):
        bench.modify(entry)


def test_a_read_of_a_default_entry_refuses_it_too(bench: Bench) -> None:
    request = p4r.TableEntry(table_id=known(0).table_id, is_default_action=True)
    request.time_since_last_hit.SetInParent()
    with refused(rpc_code.INVALID_ARGUMENT):
        bench.read_table(request)


def test_a_read_of_a_table_that_does_not_support_it_is_refused(bench: Bench) -> None:
    request = table_entry("l2", {"dst": 1})
    request.time_since_last_hit.SetInParent()
    with refused(rpc_code.INVALID_ARGUMENT):
        bench.read_table(request)


def set_field(entry: p4r.TableEntry, name: str) -> None:
    if name == "idle_timeout_ns":
        entry.idle_timeout_ns = 1
    else:
        entry.time_since_last_hit.SetInParent()

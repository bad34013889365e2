"""Multicast groups and clone sessions."""

import pytest
from finsy.proto import p4r, rpc_code

from tests.engine.entities import CPU_PORT, DELETE, INSERT, MODIFY, Bench, action, multicast_group, refused, table_entry

FLOOD = table_entry("l2", {"dst": 1}, action("flood", group=5))
MIRROR = table_entry("l2", {"dst": 1}, action("mirror", port=3))


def session(id_: int, *ports: int, **fields: int) -> p4r.CloneSessionEntry:
    message = p4r.CloneSessionEntry(session_id=id_, **fields)  # type: ignore[arg-type]
    for port in ports:
        message.replicas.add(egress_port=port, instance=1)
    return message


def test_a_group_replicates(bench: Bench) -> None:
    entry = multicast_group(5, (1, 0), (2, 0), (2, 1), metadata=b"tree")
    bench.insert(FLOOD, entry)
    assert sorted(bench.ports(1, port=9)) == [1, 2, 2]
    assert [e.packet_replication_engine_entry.multicast_group_entry for e in bench.read(p4r.MulticastGroupEntry())] == [
        entry
    ]
    bench.modify(multicast_group(5, (4, 0)))
    assert bench.ports(1, port=9) == [4]
    bench.delete(multicast_group(5))
    assert bench.ports(1, port=9) == []


def test_the_deprecated_port_field_is_read_back_as_it_was_written(bench: Bench) -> None:
    entry = p4r.MulticastGroupEntry(multicast_group_id=5)
    entry.replicas.add(egress_port=7, instance=1)
    bench.insert(FLOOD, entry)
    assert bench.ports(1) == [7]
    assert bench.read(entry)[0].packet_replication_engine_entry.multicast_group_entry == entry


def test_ports_are_answered_in_canonical_form(bench: Bench) -> None:
    entry = multicast_group(5, (1, 0))
    entry.replicas[0].port = b"\0\0\0\x01"
    bench.insert(entry)
    assert bench.read(entry)[0].packet_replication_engine_entry.multicast_group_entry == multicast_group(5, (1, 0))


def test_existence(bench: Bench) -> None:
    for group_or_session in (multicast_group(5, (1, 0)), session(5, 1)):
        for kind in (MODIFY, DELETE):
            with refused(rpc_code.NOT_FOUND):
                bench.apply(kind, group_or_session)
        bench.insert(group_or_session)
        with refused(rpc_code.ALREADY_EXISTS):
            bench.insert(group_or_session)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (multicast_group(0, (1, 0)), "group id 0"),
        (multicast_group(32768, (1, 0)), "group id 32768"),
        (multicast_group(1, (512, 0)), "port 512"),
        (multicast_group(1, (1, 65536)), "instance 65536"),
        (multicast_group(1, (1, 3), (2, 3), (1, 3)), "port 1 with instance 3 is named twice"),
        (session(0, 1), "session id 0"),
        (session(32768, 1), "session id 32768"),
        (session(1, 512), "port 512"),
        (session(1, 1, 1), "named twice"),
        (session(1, 1, packet_length_bytes=-1), "packet length -1"),
        (session(1, 1, class_of_service=8), "class of service 8"),
    ],
)
def test_refused_entries(bench: Bench, entry: p4r.MulticastGroupEntry | p4r.CloneSessionEntry, message: str) -> None:
    for kind in (INSERT, MODIFY):
        with refused(rpc_code.INVALID_ARGUMENT, message):
            bench.apply(kind, entry)


def test_an_empty_port_is_refused_and_backup_replicas_are_not_supported(bench: Bench) -> None:
    entry = p4r.MulticastGroupEntry(multicast_group_id=1)
    entry.replicas.add(port=b"")
    with refused(rpc_code.INVALID_ARGUMENT, "empty port"):
        bench.insert(entry)
    entry.replicas[0].port = b"\x01"
    entry.replicas[0].backup_replicas.add(port=b"\x02")
    with refused(rpc_code.UNIMPLEMENTED, "backup"):
        bench.insert(entry)


def test_the_largest_numbers(bench: Bench) -> None:
    bench.insert(multicast_group(32767, (511, 65535)), session(32767, 511, class_of_service=7))


def test_a_failed_modify_leaves_the_group_as_it_was(bench: Bench) -> None:
    bench.insert(FLOOD, multicast_group(5, (1, 0)))
    with refused(rpc_code.INVALID_ARGUMENT):
        bench.modify(multicast_group(5, (2, 0), (2, 0)))
    assert bench.ports(1, port=9) == [1]


def test_a_clone_session_mirrors(bench: Bench) -> None:
    entry = session(5, 1, 2, packet_length_bytes=14, class_of_service=3)
    bench.insert(MIRROR, entry)
    out = bench.path.process(9, (1).to_bytes(6, "big") + bytes(50))
    assert sorted((port, len(data)) for port, data in out) == [(1, 14), (2, 14), (3, 56)]
    assert bench.read(entry)[0].packet_replication_engine_entry.clone_session_entry == entry
    bench.modify(session(5, CPU_PORT))
    assert bench.ports(1) == [3]
    bench.delete(session(5))
    assert bench.ports(1) == [3]


def test_undo(bench: Bench) -> None:
    bench.insert(FLOOD, multicast_group(5, (1, 0)), session(5, 1))
    before = bench.state()
    undos = [
        bench.apply(MODIFY, multicast_group(5, (2, 0))),
        bench.apply(DELETE, multicast_group(5)),
        bench.apply(INSERT, multicast_group(6, (2, 0))),
        bench.apply(MODIFY, session(5, 2)),
        bench.apply(DELETE, session(5)),
        bench.apply(INSERT, session(6, 2)),
    ]
    for undo in reversed(undos):
        undo()
    assert bench.state() == before
    assert bench.ports(1, port=9) == [1]

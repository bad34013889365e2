"""The service as a bare gRPC client sees it."""

import threading
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from finsy.proto import p4r, rpc_code

from tests.engine.entities import INSERT, Bench, action, frame, id_of, multicast_group, raw, table_entry, update
from tests.engine.served import DEADLINE_S, DEVICE, Controller, Served, controllers, refused_with

Config = p4r.SetForwardingPipelineConfigRequest
Get = p4r.GetForwardingPipelineConfigRequest
L2 = table_entry("l2", {"dst": 1}, action("forward", port=3))


# Sessions.


def test_a_second_client_takes_over_over_the_wire(served: Served) -> None:
    with controllers(served, 2) as (first, second):
        assert first.arbitrate(1).status.code == rpc_code.OK
        first.push()
        assert second.arbitrate(2).status.code == rpc_code.OK
        assert first.next("arbitration").arbitration.status.code == rpc_code.ALREADY_EXISTS
        with refused_with(grpc.StatusCode.PERMISSION_DENIED):
            first.insert(L2)
        second.insert(L2)
        second.end_stream()
        assert first.next("arbitration").arbitration.status.code == rpc_code.NOT_FOUND


def test_a_client_that_vanishes_is_gone(served: Served) -> None:
    with controllers(served, 2) as (first, second):
        second.arbitrate(1)
        first.arbitrate(2)
        assert second.next("arbitration").arbitration.status.code == rpc_code.ALREADY_EXISTS
        first.close()
        assert second.next("arbitration").arbitration.status.code == rpc_code.NOT_FOUND
        assert second.arbitrate(2).status.code == rpc_code.OK


@pytest.mark.parametrize(
    ("election_id", "device_id", "code"),
    [(5, DEVICE, grpc.StatusCode.INVALID_ARGUMENT), (6, DEVICE + 1, grpc.StatusCode.NOT_FOUND)],
)
def test_a_bad_arbitration_ends_the_stream(
    served: Served, election_id: int, device_id: int, code: grpc.StatusCode
) -> None:
    with controllers(served, 2) as (first, second):
        first.arbitrate(5)
        with refused_with(code):
            second.arbitrate(election_id, device_id=device_id)


def test_calls_name_their_device_role_and_election_id(primary: Controller) -> None:
    with refused_with(grpc.StatusCode.NOT_FOUND):
        primary.write(device_id=DEVICE + 1)
    with refused_with(grpc.StatusCode.NOT_FOUND):
        primary.read(device_id=DEVICE + 1)
    with refused_with(grpc.StatusCode.NOT_FOUND):
        primary.read(role="nobody")
    with refused_with(grpc.StatusCode.NOT_FOUND):
        primary.get_config(device_id=DEVICE + 1)
    with refused_with(grpc.StatusCode.NOT_FOUND):
        primary.set_config(Config.COMMIT, device_id=DEVICE + 1)
    primary.election_id = 11
    with refused_with(grpc.StatusCode.PERMISSION_DENIED):
        primary.insert(L2)
    with refused_with(grpc.StatusCode.PERMISSION_DENIED):
        primary.push()


def test_reads_need_neither_stream_nor_election(served: Served, primary: Controller) -> None:
    primary.insert(L2)
    with controllers(served, 1) as (other,):
        assert [e.table_entry for e in other.read(p4r.TableEntry(table_id=id_of("l2")))] == [L2]


def test_capabilities(controller: Controller) -> None:
    for device_id in (0, DEVICE):
        response = controller.stub.Capabilities(p4r.CapabilitiesRequest(device_id=device_id), timeout=DEADLINE_S)
        assert response.p4runtime_api_version == "1.5.0"
    with refused_with(grpc.StatusCode.NOT_FOUND):
        controller.stub.Capabilities(p4r.CapabilitiesRequest(device_id=9), timeout=DEADLINE_S)


# Packets, digests, idle timeouts.


def packet_out(port: int, payload: bytes) -> p4r.StreamMessageRequest:
    packet = p4r.PacketOut(payload=payload)
    packet.metadata.add(metadata_id=1, value=port.to_bytes(2, "big"))
    packet.metadata.add(metadata_id=2, value=b"\0")
    return p4r.StreamMessageRequest(packet=packet)


def test_a_packet_out_leaves_and_a_packet_in_arrives(served: Served, primary: Controller) -> None:
    primary.insert(table_entry("l2", {"dst": 2}, action("to_cpu", reason=5)))
    served.path.process(7, frame(2))
    packet = primary.next("packet").packet
    assert packet.payload == frame(2)
    assert [(m.metadata_id, m.value) for m in packet.metadata] == [(1, b"\x07"), (2, b"\x05"), (3, b"\0")]
    primary.send(packet_out(9, frame(1)))
    # The answer to the next message tells that this one has been handled.
    primary.arbitrate(10)
    assert served.path.from_cpu == [(9, frame(1))]


def test_only_the_primary_gets_packet_ins(served: Served, primary: Controller) -> None:
    with controllers(served, 1) as (backup,):
        backup.arbitrate(1)
        primary.insert(table_entry("l2", {"dst": 2}, action("to_cpu", reason=5)))
        served.path.process(7, frame(2))
        primary.next("packet")
        backup.arbitrate(2)
        assert backup.nothing_waits()


def test_bad_stream_messages_are_reported_and_the_stream_goes_on(served: Served, primary: Controller) -> None:
    malformed = packet_out(9, b"x")
    malformed.packet.metadata[0].value = b"\xff\xff"
    unknown_ack = p4r.StreamMessageRequest(digest_ack=p4r.DigestListAck(digest_id=5))
    for request, code, kind in (
        (malformed, rpc_code.INVALID_ARGUMENT, "packet_out"),
        (unknown_ack, rpc_code.INVALID_ARGUMENT, "digest_list_ack"),
        (raw.StreamMessageRequest(other={}), rpc_code.UNIMPLEMENTED, "other"),
        (p4r.StreamMessageRequest(), rpc_code.UNIMPLEMENTED, "other"),
    ):
        primary.send(request)
        error = primary.next("error").error
        assert error.canonical_code == code
        assert error.WhichOneof("details") == kind
    primary.arbitrate(10)
    assert served.path.from_cpu == []


def test_backups_may_not_send(served: Served, primary: Controller) -> None:
    with controllers(served, 2) as (backup, stranger):
        backup.arbitrate(1)
        acknowledgement = p4r.StreamMessageRequest(digest_ack=p4r.DigestListAck(digest_id=id_of("learned_t")))
        for client in (backup, stranger):
            for request in (packet_out(9, b"x"), acknowledgement):
                client.send(request)
                assert client.next("error").error.canonical_code == rpc_code.PERMISSION_DENIED
    assert served.path.from_cpu == []


def test_a_packet_out_without_a_pipeline(controller: Controller) -> None:
    controller.arbitrate(1)
    controller.send(packet_out(9, b"x"))
    assert controller.next("error").error.canonical_code == rpc_code.FAILED_PRECONDITION


def test_digests_arrive_and_are_acknowledged(served: Served, primary: Controller) -> None:
    digest_id = id_of("learned_t")
    entry = raw.DigestEntry(digest_id=digest_id, config={"ack_timeout_ns": 1000 * 10**9})
    primary.insert(entry)
    served.path.process(4, frame(1, src=5))
    served.path.process(4, frame(1, src=5))
    served.path.process(4, frame(1, src=6))
    first, second = primary.next("digest").digest, primary.next("digest").digest
    assert [d.data[0].struct.members[0].bitstring for d in (first, second)] == [b"\x05", b"\x06"]
    assert first.timestamp > 0
    primary.send(p4r.StreamMessageRequest(digest_ack=p4r.DigestListAck(digest_id=digest_id, list_id=first.list_id)))
    primary.arbitrate(10)
    served.path.process(4, frame(1, src=6))
    served.path.process(4, frame(1, src=5))
    assert primary.next("digest").digest.data[0].struct.members[0].bitstring == b"\x05"


def test_a_digest_list_is_sent_after_its_timeout(served: Served, primary: Controller) -> None:
    config_ = {"max_timeout_ns": 10_000_000, "max_list_size": 100}
    primary.insert(raw.DigestEntry(digest_id=id_of("learned_t"), config=config_))
    for src in (1, 2, 3):
        served.path.process(4, frame(1, src=src))
    received = 0
    while received < 3:
        received += len(primary.next("digest").digest.data)
    assert received == 3


def test_digests_that_are_not_enabled_are_not_sent(served: Served, primary: Controller) -> None:
    served.path.process(4, frame(1, src=5))
    primary.insert(table_entry("l2", {"dst": 2}, action("to_cpu", reason=5)))
    served.path.process(4, frame(2, src=6))
    primary.next("packet")
    assert primary.nothing_waits()


def test_idle_entries_are_notified(served: Served, primary: Controller) -> None:
    entry = table_entry("sources", {"src": 5}, action("known"))
    entry.idle_timeout_ns, entry.metadata, entry.controller_metadata = 2 * 10**9, b"m", 9
    primary.insert(entry)
    served.path.now_us = 1_000_000
    served.path.process(1, frame(1, src=5))
    served.path.now_us = 2_900_000
    served.path.process(1, frame(1, src=6))
    served.path.now_us = 4_500_000
    served.path.process(1, frame(1, src=6))
    notification = primary.next("idle_timeout_notification").idle_timeout_notification
    assert list(notification.table_entry) == [entry]
    assert notification.timestamp > 0


def test_roles_separate_the_streams(served: Served, primary: Controller) -> None:
    """A named role without config has full access too, and gets its own copy."""
    with controllers(served, 1) as (second,):
        second.arbitrate(1, role="watcher")
        primary.insert(table_entry("l2", {"dst": 2}, action("to_cpu", reason=5)))
        served.path.process(7, frame(2))
        assert primary.next("packet") == second.next("packet")
        second.insert(L2)
        with refused_with(grpc.StatusCode.NOT_FOUND):
            primary.role = "nobody"
            primary.insert(L2)


# Load.


def test_a_client_that_never_reads_harms_nobody(served: Served, primary: Controller) -> None:
    """The primary's stream is opened again by hand, and its answers are never read."""
    primary.insert(table_entry("l2", {"dst": 2}, action("to_cpu", reason=5)))
    done = threading.Event()
    arbitration = raw.MasterArbitrationUpdate(device_id=DEVICE, election_id={"low": 20})

    def requests() -> Iterator[p4r.StreamMessageRequest]:
        yield p4r.StreamMessageRequest(arbitration=arbitration)
        done.wait(DEADLINE_S)

    deaf: Any = primary.stub.StreamChannel(requests())
    assert primary.next("arbitration").arbitration.status.code == rpc_code.ALREADY_EXISTS
    payload = bytes(1400)
    for _ in range(100):
        for _ in range(100):
            served.path.process(1, frame(2, payload=payload))
        primary.read(p4r.TableEntry())
    primary.election_id = 20
    primary.insert(L2)
    done.set()
    deaf.cancel()
    assert primary.next("arbitration").arbitration.status.code == rpc_code.NOT_FOUND


def test_many_clients_at_once(served: Served, primary: Controller) -> None:
    primary.insert(*(table_entry("l2", {"dst": dst}, action("forward", port=1)) for dst in range(50)))
    counts: list[int] = []

    def read() -> None:
        with controllers(served, 1) as (client,):
            client.arbitrate(None)
            counts.extend(len(client.read(p4r.TableEntry(table_id=id_of("l2")))) for _ in range(10))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert counts == [50] * 80


def test_reads_and_writes_do_not_mix(served: Served, primary: Controller) -> None:
    """A batch that fills the table and one that empties it: a read sees all entries or none."""
    entries = [table_entry("l2", {"dst": dst}, action("forward", port=1)) for dst in range(64)]
    stop = threading.Event()

    def rewrite() -> None:
        while not stop.is_set():
            primary.insert(*entries)
            primary.write(*(update(p4r.Update.DELETE, entry) for entry in entries))

    writer = threading.Thread(target=rewrite)
    writer.start()
    try:
        with controllers(served, 1) as (reader,):
            seen = {len(reader.read(p4r.TableEntry(table_id=id_of("l2")))) for _ in range(60)}
    finally:
        stop.set()
        writer.join(DEADLINE_S)
    assert seen <= {0, 64}


def test_a_large_state_is_read_in_several_responses(primary: Controller) -> None:
    groups = [multicast_group(n, (1, 0), metadata=bytes(2000)) for n in range(1, 401)]
    primary.insert(*groups)
    request = p4r.ReadRequest(device_id=DEVICE)
    request.entities.add().packet_replication_engine_entry.multicast_group_entry.SetInParent()
    responses = list(primary.stub.Read(request, timeout=DEADLINE_S))
    assert len(responses) > 1
    assert sum(len(response.entities) for response in responses) == 400


def test_the_bench_and_the_service_agree(bench: Bench, primary: Controller) -> None:
    """The pipeline without gRPC, which other tests use, does what the service does."""
    bench.insert(L2)
    primary.write(update(INSERT, L2))
    assert bench.read(p4r.TableEntry()) == primary.read(p4r.TableEntry())

"""Sound requests of every RPC, mutated: each gets an answer that is no fault, nothing grows, and the server goes on.

`CANOPY_FUZZ_SECONDS=600 pytest tests/engine/switch/p4runtime/whole/test_fuzz.py` tries longer; `make fuzz` runs it
beside the engine's own targets.
"""

import os
import resource
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import grpc
import hypothesis
import pytest
from finsy.proto import U128, p4r
from google.protobuf.message import DecodeError, Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engine.entities import (
    DELETE,
    INFO,
    INSERT,
    MODIFY,
    action,
    config,
    group,
    id_of,
    member,
    multicast_group,
    table_entry,
    update,
)
from tests.engine.served import DEADLINE_S, DEVICE, Controller, Served, controllers

SECONDS = float(os.environ.get("CANOPY_FUZZ_SECONDS", "3"))
EXAMPLES = 50
"""Between two looks at the server as a whole."""
HUGE_BATCH = 20_000
MAX_GROWTH_KB = 300_000
"""Of the whole process, with the requests of the largest batches in it."""
ELECTION = 10

SetConfig = p4r.SetForwardingPipelineConfigRequest
GetConfig = p4r.GetForwardingPipelineConfigRequest

# What no request may lead to, however wrong: a fault of the server, or no answer.
FAULTS = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED}


def sound_entities() -> list[Any]:
    """One of each kind, as the test program has it."""
    forward = action("forward", port=2)
    return [
        table_entry("l2", {"dst": 5}, forward),
        table_entry("routes", {"dst": (0x12 << 40, 8)}),
        member(1, forward),
        group(1, {1: 2}),
        multicast_group(3, (1, 0), (2, 7)),
        p4r.DigestEntry(digest_id=id_of("learned_t")),
        *(p4r.CounterEntry(counter_id=counter.preamble.id) for counter in INFO.counters),
        *(p4r.MeterEntry(meter_id=meter.preamble.id) for meter in INFO.meters),
        *(p4r.RegisterEntry(register_id=register.preamble.id) for register in INFO.registers),
        p4r.PacketReplicationEngineEntry(clone_session_entry=p4r.CloneSessionEntry(session_id=4)),
    ]


def sound_requests() -> list[tuple[str, Message]]:
    """(method, request)."""
    election = U128.encode(ELECTION)
    updates = [update(kind, entity) for entity in sound_entities() for kind in (INSERT, MODIFY, DELETE)]
    writes = [p4r.WriteRequest(device_id=DEVICE, election_id=election, updates=[one]) for one in updates]
    writes.append(
        p4r.WriteRequest(
            device_id=DEVICE, election_id=election, updates=updates, atomicity=p4r.WriteRequest.ROLLBACK_ON_ERROR
        )
    )
    entities = [one.entity for one in updates[::3]]
    reads = [p4r.ReadRequest(device_id=DEVICE, entities=[one]) for one in entities]
    reads.append(p4r.ReadRequest(device_id=DEVICE, entities=entities))
    configs = [
        SetConfig(device_id=DEVICE, election_id=election, action=kind, config=config())  # type: ignore[arg-type]
        for kind in range(1, 6)
    ]
    return [
        *(("Write", request) for request in writes),
        *(("Read", request) for request in reads),
        *(("SetForwardingPipelineConfig", request) for request in configs),
        *(("GetForwardingPipelineConfig", GetConfig(device_id=DEVICE, response_type=kind)) for kind in range(4)),  # type: ignore[arg-type]
        ("Capabilities", p4r.CapabilitiesRequest(device_id=DEVICE)),
    ]


def sound_messages() -> list[Message]:
    """Of the stream."""
    arbitration = p4r.MasterArbitrationUpdate(device_id=DEVICE, election_id=U128.encode(1))
    packet = p4r.PacketOut(payload=bytes(60))
    packet.metadata.add(metadata_id=1, value=b"\x01")
    packet.metadata.add(metadata_id=2, value=b"\0")
    return [
        p4r.StreamMessageRequest(arbitration=arbitration),
        p4r.StreamMessageRequest(packet=packet),
        p4r.StreamMessageRequest(digest_ack=p4r.DigestListAck(digest_id=id_of("learned_t"), list_id=1)),
    ]


REQUESTS, MESSAGES = sound_requests(), sound_messages()


def mutate(data: st.DataObject, message: Message) -> bytes:
    """The message with bytes changed, cut out, doubled or put in, or repeated fields made longer."""
    raw = bytearray(message.SerializeToString())
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(raw)))
        match data.draw(st.sampled_from(["change", "cut", "double", "insert"])):
            case "change" if at < len(raw):
                raw[at] = data.draw(st.integers(0, 255))
            case "cut":
                del raw[at : at + data.draw(st.integers(1, 40))]
            case "double":
                raw[at:at] = raw[at : at + data.draw(st.integers(1, 200))]
            case _:
                raw[at:at] = data.draw(st.binary(max_size=8))
    return bytes(raw)


class Client:
    """Sends bytes as requests, and knows which of them are messages."""

    def __init__(self, served: Served) -> None:
        # Bytes in and out: the stubs want (de)serializers, the library does not.
        self._channel: Any = grpc.insecure_channel(
            served.address, options=[("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
        )

    def ask(self, method: str, request: bytes, kind: type[Message]) -> None:
        """Fails when the answer is a fault, unless the bytes were none of the RPC's messages."""
        path = f"/p4.v1.P4Runtime/{method}"
        try:
            if method == "Read":
                for _ in self._channel.unary_stream(path)(request, timeout=DEADLINE_S):
                    pass
            else:
                self._channel.unary_unary(path)(request, timeout=DEADLINE_S)
        except grpc.RpcError as error:
            status: Any = error
            # gRPC itself answers so when an exception has left the service.
            faulty = status.code() in FAULTS or str(status.details()).startswith("Unexpected")
            assert not faulty or not parses(request, kind), (method, status.code(), status.details())

    def tell(self, messages: list[bytes]) -> None:
        """A stream of these messages, until the server ends it or has answered what can be answered."""
        stream = self._channel.stream_stream("/p4.v1.P4Runtime/StreamChannel")(iter(messages), timeout=DEADLINE_S)
        try:
            for _ in stream:
                pass
        except grpc.RpcError as error:
            status: Any = error
            faulty = status.code() in FAULTS or str(status.details()).startswith("Unexpected")
            sound = all(parses(message, p4r.StreamMessageRequest) for message in messages)
            assert not faulty or not sound, (status.code(), status.details())

    def close(self) -> None:
        self._channel.close()


def parses(data: bytes, kind: type[Message]) -> bool:
    with suppress(DecodeError):
        kind.FromString(data)
        return True
    return False


def memory_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Served, Controller]]:
    with Served() as served, controllers(served, 1) as (primary,):
        primary.arbitrate(ELECTION)
        primary.push()
        yield served, primary


@pytest.mark.timeout(120 + SECONDS)
def test_mutated_requests_of_every_rpc(running: tuple[Served, Controller]) -> None:
    served, primary = running
    client = Client(served)

    @given(st.data())
    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def example(data: st.DataObject) -> None:
        if data.draw(st.integers(0, 5)):
            method, request = data.draw(st.sampled_from(REQUESTS))
            client.ask(method, mutate(data, request), type(request))
        else:
            messages = data.draw(st.lists(st.sampled_from(MESSAGES), min_size=1, max_size=4))
            client.tell([mutate(data, message) for message in messages])

    begin, round_, before = time.monotonic(), 0, 0
    while round_ == 0 or time.monotonic() < begin + SECONDS:
        round_ += 1
        hypothesis.seed(round_)(example)()
        # Sound clients are served as before.
        primary.push()
        primary.insert(table_entry("l2", {"dst": 5}, action("forward", port=2)))
        assert len(primary.read(table_entry("l2", {}))) == 1
        before = before or memory_kb()
    client.close()
    assert memory_kb() - before < MAX_GROWTH_KB


def test_huge_batches_are_answered_one_update_after_the_other(running: tuple[Served, Controller]) -> None:
    """A batch of entries, good and bad, beyond any table's size; others are served afterwards."""
    served, primary = running
    primary.push()
    client = Client(served)
    entries = [table_entry("l2", {"dst": n}, action("forward", port=2)) for n in range(HUGE_BATCH)]
    request = p4r.WriteRequest(device_id=DEVICE, election_id=U128.encode(ELECTION))
    request.updates.extend(update(p4r.Update.INSERT, entry) for entry in entries)
    client.ask("Write", request.SerializeToString(), p4r.WriteRequest)
    assert primary.read(table_entry("l2", {})) == [], "not from another connection than the primary's"
    with suppress(grpc.RpcError):
        primary.stub.Write(request, timeout=DEADLINE_S)
    kept = len(primary.read(table_entry("l2", {})))
    assert 0 < kept <= HUGE_BATCH
    many = p4r.ReadRequest(device_id=DEVICE, entities=[one.entity for one in request.updates])
    client.ask("Read", many.SerializeToString(), p4r.ReadRequest)
    list(primary.stub.Read(many, timeout=DEADLINE_S))
    nested = b"\x0a\x02" * 100_000
    client.ask("Write", nested, p4r.WriteRequest)
    assert len(primary.read(table_entry("l2", {}))) == kept
    client.close()

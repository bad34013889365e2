"""Whatever a client sends, the server answers with a status and keeps serving."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import grpc
import pytest
from finsy.proto import p4i, p4r, p4r_grpc
from google.protobuf.message import DecodeError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.switch.p4runtime.errors import BatchError
from engine.switch.p4runtime.read import read_batch
from engine.switch.p4runtime.write import write_batch
from tests.engine.entities import INFO, Bench, config, id_of, new_bench
from tests.engine.served import DEADLINE_S, DEVICE, Controller, Served, controllers, outcome

# Ids that mean something, so that generated messages get beyond the first check.
IDS = sorted(
    {0, 1, 2, 3, 2**31, 2**32 - 1}
    | {
        item.preamble.id
        for kind in ("tables", "actions", "action_profiles", "counters")
        for item in getattr(INFO, kind)
    }
    | {item.preamble.id for kind in ("meters", "value_sets", "digests", "registers") for item in getattr(INFO, kind)}
)
SMALL = st.integers(-2, 5)
SKIPPED_FIELDS = frozenset({"other", "entry"})

# Answers that tell a client something; UNKNOWN is a batch's own. INTERNAL or a dropped connection is a fault.
GOOD_CODES = frozenset(grpc.StatusCode) - {
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.DATA_LOSS,
}


def scalar(field: Any) -> st.SearchStrategy[Any]:
    """Values of a protobuf field, likely and unlikely ones."""
    if field.type == field.TYPE_BYTES:
        return st.sampled_from([b"", b"\0", b"\x01", b"\xff", b"\xff\xff", bytes(20)]) | st.binary(max_size=8)
    if field.type == field.TYPE_STRING:
        return st.text(max_size=5)
    if field.type == field.TYPE_BOOL:
        return st.booleans()
    if field.type == field.TYPE_ENUM:
        return st.sampled_from([value.number for value in field.enum_type.values])
    if field.type in (field.TYPE_UINT32, field.TYPE_UINT64):
        return st.sampled_from(IDS) if "id" in field.name else st.integers(0, 2**32 - 1)
    if field.type == field.TYPE_INT64:
        return SMALL | st.integers(-(2**63), 2**63 - 1)
    return SMALL | st.integers(-(2**31), 2**31 - 1)


@st.composite
def messages(draw: st.DrawFn, kind: type[Any], depth: int = 0) -> Any:
    """Messages of a type, with any subset of their fields."""
    message = kind()
    for field in kind.DESCRIPTOR.fields:
        if field.name in SKIPPED_FIELDS or not draw(st.booleans() if depth else st.just(True)):
            continue
        if field.message_type is None:
            if field.is_repeated:
                getattr(message, field.name).extend(draw(st.lists(scalar(field), max_size=2)))
            else:
                setattr(message, field.name, draw(scalar(field)))
        elif depth < 7:
            inner = messages(field.message_type._concrete_class, depth + 1)
            if field.is_repeated:
                getattr(message, field.name).extend(draw(st.lists(inner, max_size=3)))
            else:
                getattr(message, field.name).CopyFrom(draw(inner))
    return message


def entities() -> st.SearchStrategy[p4r.Entity]:
    """One kind of entity each, as the members of the oneof would overwrite each other."""
    kinds = [f for f in p4r.Entity.DESCRIPTOR.fields if f.name != "extern_entry"]

    def wrap(field: Any) -> st.SearchStrategy[p4r.Entity]:
        inner = messages(field.message_type._concrete_class, 1)
        return inner.map(lambda message: p4r.Entity(**{field.name: message}))

    return st.one_of([wrap(field) for field in kinds])


def unary(channel: Any, method: str) -> Callable[..., object]:
    """A call that takes and gives bytes; the stubs of `channel` want (de)serializers."""
    call: Callable[..., object] = channel.unary_unary(method)
    return call


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Served, Controller]]:
    """A server whose primary has pushed the program; it has to survive the whole module."""
    with Served() as served, controllers(served, 1) as (primary,):
        primary.arbitrate(10)
        primary.push()
        yield served, primary


@given(st.lists(st.builds(p4r.Update, type=st.sampled_from([0, 1, 2, 3]), entity=entities()), max_size=6))
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_write_ends_with_a_status_and_rolls_back(updates: list[p4r.Update]) -> None:
    bench = bench_of_the_module()
    before = bench.state()
    try:
        asyncio.run(write_batch(bench.pipeline, updates, p4r.WriteRequest.ROLLBACK_ON_ERROR, lambda _: None))
    except BatchError:
        assert bench.state() == before
    else:
        BENCHES.clear()


@given(st.lists(entities(), max_size=6))
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_read_ends_with_a_status(requests: list[p4r.Entity]) -> None:
    entities_, error = asyncio.run(read_batch(bench_of_the_module().pipeline, requests, lambda _: True))
    assert isinstance(entities_, list)
    assert error is None or len(error.errors) == len(requests)


BENCHES: list[Bench] = []


def bench_of_the_module() -> Bench:
    """A bench to be used again as long as nothing was written to it."""
    if not BENCHES:
        BENCHES.append(new_bench())
    return BENCHES[0]


@given(st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_request_over_the_wire_gets_an_answer(running: tuple[Served, Controller], data: st.DataObject) -> None:
    _, primary = running
    choices: list[tuple[type[Any], Any]] = [
        (p4r.WriteRequest, primary.stub.Write),
        (p4r.ReadRequest, primary.stub.Read),
        (p4r.GetForwardingPipelineConfigRequest, primary.stub.GetForwardingPipelineConfig),
        (p4r.CapabilitiesRequest, primary.stub.Capabilities),
    ]
    kind, call = data.draw(st.sampled_from(choices))
    request = data.draw(messages(kind))
    if data.draw(st.booleans()) and "device_id" in kind.DESCRIPTOR.fields_by_name:
        request.device_id = DEVICE
    if kind is p4r.WriteRequest and data.draw(st.booleans()):
        request.role, request.role_id, request.election_id.high, request.election_id.low = "", 0, 0, 10

    def send() -> None:
        answer = call(request, timeout=DEADLINE_S)
        if kind is p4r.ReadRequest:
            list(answer)

    assert outcome(send) in GOOD_CODES


@given(st.lists(st.binary(max_size=30), min_size=1, max_size=3))
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
def test_bytes_that_are_no_message_are_answered(running: tuple[Served, Controller], requests: list[bytes]) -> None:
    served, primary = running
    with grpc.insecure_channel(served.address) as channel:
        for method in ("Write", "SetForwardingPipelineConfig", "Capabilities"):
            raw = unary(channel, f"/p4.v1.P4Runtime/{method}")
            for request in requests:
                answer = outcome(partial(raw, request, timeout=DEADLINE_S))
                assert answer != grpc.StatusCode.DEADLINE_EXCEEDED
    assert primary.get_config().HasField("config")


@given(messages(p4r.StreamMessageRequest))
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_stream_message_is_answered_or_ends_the_stream(
    running: tuple[Served, Controller], request_: p4r.StreamMessageRequest
) -> None:
    served, primary = running
    with controllers(served, 1) as (client,):
        client.send(request_)
        with suppress(grpc.RpcError, AssertionError):
            client.arbitrate(None)
    assert primary.get_config().HasField("config")


@given(st.data())
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_damaged_config_is_refused_or_works(running: tuple[Served, Controller], data: st.DataObject) -> None:
    """Bytes of the P4Info or of the JSON are changed."""
    _, primary = running
    pushed = config()
    if data.draw(st.booleans()):
        pushed.p4_device_config = _damage(pushed.p4_device_config, data)
    else:
        try:
            pushed.p4info.CopyFrom(p4i.P4Info.FromString(_damage(pushed.p4info.SerializeToString(), data)))
        except DecodeError:
            return
    verify = partial(primary.set_config, p4r.SetForwardingPipelineConfigRequest.VERIFY, pushed)
    assert outcome(verify) in (grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT)


def _damage(original: bytes, data: st.DataObject) -> bytes:
    damaged = bytearray(original)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(damaged)) | st.none())
    return bytes(damaged if cut is None else damaged[:cut])


def test_an_unknown_service_or_method_is_unimplemented(running: tuple[Served, Controller]) -> None:
    served, _ = running
    with grpc.insecure_channel(served.address) as channel:
        for method in ("/p4.v1.P4Runtime/Nothing", "/gnmi.gNMI/Get"):
            with pytest.raises(grpc.RpcError) as caught:
                unary(channel, method)(b"", timeout=DEADLINE_S)
            assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_a_request_beyond_the_size_limit_is_refused(running: tuple[Served, Controller]) -> None:
    served, primary = running
    huge = p4r.WriteRequest(device_id=DEVICE)
    huge.updates.add().entity.table_entry.metadata = bytes(65 * 1024 * 1024)
    with grpc.insecure_channel(served.address, options=[("grpc.max_send_message_length", -1)]) as channel:
        with pytest.raises(grpc.RpcError) as caught:
            p4r_grpc.P4RuntimeStub(channel).Write(huge, timeout=DEADLINE_S)
        assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert primary.read(p4r.TableEntry(table_id=id_of("l2"))) == []

"""A P4Runtime server in a thread of this process, and a bare gRPC client for it."""

import asyncio
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any

import grpc
import pytest
from finsy.proto import U128, p4r, p4r_grpc, rpc_status

from engine.switch.p4runtime.datapath import MemoryDataPath
from engine.switch.p4runtime.server import P4RuntimeServer, TlsFiles
from tests.engine.entities import CPU_PORT, Entry, config, entity, update

Get = p4r.GetForwardingPipelineConfigRequest

DEVICE = 1

# Far beyond what an answer in the same process takes, also to 20,000 entries on two busy cores: only a failing test
# waits for it.
DEADLINE_S = 120.0


class Served:
    """A served device; `path` is its data path in memory."""

    def __init__(self, tls: TlsFiles | None = None) -> None:
        self.path = MemoryDataPath(cpu_port=CPU_PORT)
        self.server = P4RuntimeServer(DEVICE, self.path)
        self._tls = tls
        self._started = threading.Event()
        self._stop: asyncio.Event
        self._loop: asyncio.AbstractEventLoop
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        await self.server.start("127.0.0.1:0", self._tls)
        self._started.set()
        await self._stop.wait()
        await self.server.stop()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server.port}"

    def __enter__(self) -> "Served":
        self._thread.start()
        assert self._started.wait(DEADLINE_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive()


class Controller:
    """A bare client: one channel and, from `arbitrate` on, one stream."""

    def __init__(self, address: str, options: Sequence[tuple[str, int]] = ()) -> None:
        """`options` are gRPC's of a channel."""
        self._channel = grpc.insecure_channel(address, options=options)
        self.stub = p4r_grpc.P4RuntimeStub(self._channel)
        self.election_id: int | None = None
        self.role = ""
        self._requests: queue.Queue[p4r.StreamMessageRequest | None] = queue.Queue()
        self._responses: queue.Queue[p4r.StreamMessageResponse | grpc.RpcError | None] = queue.Queue()
        self._stream: Any = None

    # The stream.

    def arbitrate(
        self, election_id: int | None, role: str = "", device_id: int = DEVICE
    ) -> p4r.MasterArbitrationUpdate:
        """Send an arbitration message and wait for the answer."""
        self.election_id, self.role = election_id, role
        message = p4r.MasterArbitrationUpdate(device_id=device_id)
        if role:
            message.role.name = role
        if election_id is not None:
            message.election_id.CopyFrom(U128.encode(election_id))
        self.send(p4r.StreamMessageRequest(arbitration=message))
        return self.next("arbitration").arbitration

    def send(self, request: p4r.StreamMessageRequest) -> None:
        if self._stream is None:
            self._stream = self.stub.StreamChannel(iter(self._requests.get, None))
            threading.Thread(target=self._receive, daemon=True).start()
        self._requests.put(request)

    def next(self, kind: str) -> p4r.StreamMessageResponse:
        """The next message, which has to be of this kind. Raises the RpcError that ended the stream."""
        response = self.next_of_any_kind()
        assert response.WhichOneof("update") == kind, response
        return response

    def next_of_any_kind(self) -> p4r.StreamMessageResponse:
        response = self._responses.get(timeout=DEADLINE_S)
        if isinstance(response, grpc.RpcError):
            raise response
        assert response is not None, "the server ended the stream"
        return response

    def nothing_waits(self) -> bool:
        return self._responses.empty()

    def end_stream(self) -> None:
        """Close the client's side and wait until the server has closed its own."""
        self._requests.put(None)
        assert self._responses.get(timeout=DEADLINE_S) is None

    def _receive(self) -> None:
        try:
            for response in self._stream:
                self._responses.put(response)
            self._responses.put(None)
        except grpc.RpcError as error:
            self._responses.put(error)

    # Unary calls.

    def write(
        self,
        *updates: p4r.Update,
        atomicity: p4r.WriteRequest.Atomicity.ValueType = p4r.WriteRequest.CONTINUE_ON_ERROR,
        device_id: int = DEVICE,
    ) -> None:
        request = p4r.WriteRequest(device_id=device_id, role=self.role, updates=updates, atomicity=atomicity)
        if self.election_id is not None:
            request.election_id.CopyFrom(U128.encode(self.election_id))
        self.stub.Write(request, timeout=DEADLINE_S)

    def insert(self, *entries: Entry) -> None:
        self.write(*(update(p4r.Update.INSERT, entry) for entry in entries))

    def read(self, *entries: Entry, device_id: int = DEVICE, role: str = "") -> list[p4r.Entity]:
        request = p4r.ReadRequest(device_id=device_id, role=role, entities=map(entity, entries))
        return [found for response in self.stub.Read(request, timeout=DEADLINE_S) for found in response.entities]

    def set_config(
        self,
        action: p4r.SetForwardingPipelineConfigRequest.Action.ValueType,
        pipeline: p4r.ForwardingPipelineConfig | None = None,
        device_id: int = DEVICE,
    ) -> None:
        request = p4r.SetForwardingPipelineConfigRequest(
            device_id=device_id, role=self.role, action=action, config=pipeline
        )
        if self.election_id is not None:
            request.election_id.CopyFrom(U128.encode(self.election_id))
        self.stub.SetForwardingPipelineConfig(request, timeout=DEADLINE_S)

    def push(self) -> None:
        """Commit the test program."""
        self.set_config(p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT, config())

    def get_config(
        self, kind: Get.ResponseType.ValueType = Get.ALL, device_id: int = DEVICE
    ) -> p4r.GetForwardingPipelineConfigResponse:
        request = p4r.GetForwardingPipelineConfigRequest(device_id=device_id, response_type=kind)
        return self.stub.GetForwardingPipelineConfig(request, timeout=DEADLINE_S)

    def close(self) -> None:
        self._requests.put(None)
        self._channel.close()


@contextmanager
def controllers(served: Served, count: int) -> Iterator[list[Controller]]:
    made = [Controller(served.address) for _ in range(count)]
    try:
        yield made
    finally:
        for controller in made:
            controller.close()


def status_of(error: grpc.RpcError) -> grpc.StatusCode:
    code: grpc.StatusCode = error.code()
    return code


def refused_with(code: grpc.StatusCode) -> pytest.RaisesExc[grpc.RpcError]:
    """Expects a call to end so."""
    return pytest.raises(grpc.RpcError, check=lambda error: status_of(error) == code)


def outcome(call: Callable[[], object]) -> grpc.StatusCode:
    """How a call ended."""
    try:
        call()
    except grpc.RpcError as error:
        return status_of(error)
    return grpc.StatusCode.OK


def errors_of(error: grpc.RpcError) -> list[p4r.Error]:
    """The p4.v1.Error of each entity of a batch, from the trailing metadata."""
    trailer: Any = error.trailing_metadata()
    for key, value in trailer:
        if key == "grpc-status-details-bin":
            status = rpc_status.Status.FromString(value)
            assert status.code == error.code().value[0]
            assert status.message == error.details()
            found = []
            for detail in status.details:
                found.append(p4r.Error())
                assert detail.Unpack(found[-1])
            return found
    return []

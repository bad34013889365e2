"""Who may change a switch whose clients have certificates."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from finsy.proto import U128, p4r, p4r_grpc

from engine.switch.p4runtime.datapath import MemoryDataPath
from engine.switch.p4runtime.device import Device
from engine.switch.p4runtime.rights import NAME_KEY, READER
from engine.switch.p4runtime.service import P4RuntimeService
from tests.engine.entities import config
from tests.engine.served import DEADLINE_S, DEVICE, Served
from tests.engine.switch.p4runtime.test_server import certificates, credentials, strict

__all__ = ["certificates"]


def arbitration() -> p4r.StreamMessageRequest:
    return p4r.StreamMessageRequest(
        arbitration=p4r.MasterArbitrationUpdate(device_id=DEVICE, election_id=U128.encode(1))
    )


def status(call: Callable[[Any], Any], channel: grpc.Channel) -> grpc.StatusCode:
    """What a call without a stream, or the first answer of one, ends with."""
    stub: Any = p4r_grpc.P4RuntimeStub(channel)
    try:
        call(stub)
    except grpc.RpcError as error:
        code: grpc.StatusCode = error.code()
        return code
    return grpc.StatusCode.OK


PUSH = p4r.SetForwardingPipelineConfigRequest(
    device_id=DEVICE,
    election_id=U128.encode(1),
    action=p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
    config=config(),
)
CHANGES: dict[str, Callable[[Any], Any]] = {
    "SetForwardingPipelineConfig": lambda stub: stub.SetForwardingPipelineConfig(PUSH, timeout=DEADLINE_S),
    "Write": lambda stub: stub.Write(p4r.WriteRequest(device_id=DEVICE), timeout=DEADLINE_S),
    "StreamChannel": lambda stub: next(stub.StreamChannel(iter([arbitration()]), timeout=DEADLINE_S)),
}


def looks(stub: Any) -> Any:
    return stub.Capabilities(p4r.CapabilitiesRequest(), timeout=DEADLINE_S)


def test_a_reader_looks_and_changes_nothing(certificates: Path) -> None:
    refused = grpc.StatusCode.PERMISSION_DENIED
    with Served(strict(certificates)) as served:
        address = f"localhost:{served.server.port}"
        with grpc.secure_channel(address, credentials(certificates, READER)) as channel:
            assert status(looks, channel) is grpc.StatusCode.OK
            assert [status(call, channel) for call in CHANGES.values()] == [refused] * 3
            assert served.server.device.active is None
        with grpc.secure_channel(address, credentials(certificates, "controller")) as channel:
            assert status(CHANGES["StreamChannel"], channel) is grpc.StatusCode.OK


def test_a_reader_s_call_ends_before_its_request_has_come() -> None:
    class Context:
        def __init__(self, name: str) -> None:
            self.name = name

        def auth_context(self) -> dict[str, list[bytes]]:
            return {NAME_KEY: [self.name.encode()]}

        def peer(self) -> str:
            return "ipv4:127.0.0.1:1"

        async def abort(self, code: grpc.StatusCode, words: str) -> None:
            raise PermissionError(words)

    async def requests() -> AsyncIterator[bytes]:
        raise LookupError
        yield b""

    handlers: Any = P4RuntimeService(Device(DEVICE, MemoryDataPath())).handlers()

    async def call(method: str, name: str) -> None:
        handler = handlers[method]
        if handler.stream_unary is not None:
            await handler.stream_unary(requests(), Context(name))
        else:
            await anext(handler.stream_stream(requests(), Context(name)))

    for method in CHANGES:
        with pytest.raises(PermissionError):
            asyncio.run(call(method, READER))
    with pytest.raises(LookupError):
        asyncio.run(call("Write", "controller"))

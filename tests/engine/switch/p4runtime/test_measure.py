"""P4Runtime's calls are counted by method and status."""

import asyncio
from typing import Any

import grpc
import pytest
from finsy.proto import p4r, p4r_grpc
from prometheus_client import CollectorRegistry

from engine.switch.p4runtime.datapath import MemoryDataPath
from engine.switch.p4runtime.measure import CallMetrics
from engine.switch.p4runtime.server import P4RuntimeServer
from tests.engine.entities import CPU_PORT


def test_every_call_is_counted_with_its_outcome() -> None:
    registry = CollectorRegistry()

    def count(method: str, code: str) -> float | None:
        return registry.get_sample_value("canopy_p4runtime_calls_total", {"method": method, "code": code})

    async def body() -> None:
        server = P4RuntimeServer(1, MemoryDataPath(cpu_port=CPU_PORT), interceptors=[CallMetrics(registry)])
        await server.start("127.0.0.1:0")
        async with server, grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
            stub: Any = p4r_grpc.P4RuntimeStub(channel)
            await stub.Capabilities(p4r.CapabilitiesRequest())
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await stub.Write(p4r.WriteRequest(device_id=1))
            assert refused.value.code() == grpc.StatusCode.PERMISSION_DENIED
            with pytest.raises(grpc.aio.AioRpcError):
                async for _ in stub.Read(p4r.ReadRequest(device_id=9)):
                    pass
            with pytest.raises(grpc.aio.AioRpcError) as unknown:
                await channel.unary_unary("/p4.v1.P4Runtime/Nonsense", bytes, bytes)(b"")
            assert unknown.value.code() == grpc.StatusCode.UNIMPLEMENTED
            stream = stub.StreamChannel()
            await stream.write(p4r.StreamMessageRequest(arbitration=p4r.MasterArbitrationUpdate(device_id=1)))
            await stream.read()
            open_calls = {"method": "StreamChannel"}
            assert registry.get_sample_value("canopy_p4runtime_open_calls", open_calls) == 1
            await stream.done_writing()
            assert not await stream.read()
            assert count("StreamChannel", "OK") == 1
            # One that is cancelled may first look as if the client had nothing more to say; then it counts as OK.
            while count("StreamChannel", "CANCELLED") is None:
                gone = stub.StreamChannel()
                await gone.write(p4r.StreamMessageRequest(arbitration=p4r.MasterArbitrationUpdate(device_id=1)))
                await gone.read()
                gone.cancel()
                while registry.get_sample_value("canopy_p4runtime_open_calls", open_calls) != 0:
                    await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(body(), 30))
    assert count("Capabilities", "OK") == 1
    assert count("Write", "PERMISSION_DENIED") == 1
    assert count("Read", "NOT_FOUND") == 1
    assert count("StreamChannel", "CANCELLED") == 1
    assert registry.get_sample_value("canopy_p4runtime_call_seconds_count", {"method": "Capabilities"}) == 1

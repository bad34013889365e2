"""The P4Runtime gRPC service: requests in, the device's answers out, errors as gRPC statuses."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable
from typing import Any, NoReturn, TypeVar

import grpc
from finsy.proto import p4r, p4r_grpc, rpc_code

from engine.switch.p4runtime.device import Device
from engine.switch.p4runtime.errors import STATUS_CODE_OF, STATUS_DETAILS_KEY, BatchError, P4RuntimeError, not_found
from engine.switch.p4runtime.read import responses
from engine.switch.p4runtime.streams import ClientStream

# The version of the specification that this server follows.
API_VERSION = "1.5.0"

logger = logging.getLogger(__name__)

R = TypeVar("R")


class P4RuntimeService(p4r_grpc.P4RuntimeServicer):
    """Serves one device."""

    def __init__(self, device: Device) -> None:
        self._device = device

    async def Write(  # noqa: N802
        self, request: p4r.WriteRequest, context: grpc.aio.ServicerContext[p4r.WriteRequest, p4r.WriteResponse]
    ) -> p4r.WriteResponse:
        await _answer(context, self._device.write(request))
        return p4r.WriteResponse()

    async def Read(  # noqa: N802
        self, request: p4r.ReadRequest, context: grpc.aio.ServicerContext[p4r.ReadRequest, p4r.ReadResponse]
    ) -> AsyncIterator[p4r.ReadResponse]:
        entities, error = await _answer(context, self._device.read(request))
        for response in responses(entities):
            yield response
        if error is not None:
            await _abort_batch(context, error)

    async def SetForwardingPipelineConfig(  # noqa: N802
        self,
        request: p4r.SetForwardingPipelineConfigRequest,
        context: grpc.aio.ServicerContext[
            p4r.SetForwardingPipelineConfigRequest, p4r.SetForwardingPipelineConfigResponse
        ],
    ) -> p4r.SetForwardingPipelineConfigResponse:
        await _answer(context, self._device.set_config(request))
        return p4r.SetForwardingPipelineConfigResponse()

    async def GetForwardingPipelineConfig(  # noqa: N802
        self,
        request: p4r.GetForwardingPipelineConfigRequest,
        context: grpc.aio.ServicerContext[
            p4r.GetForwardingPipelineConfigRequest, p4r.GetForwardingPipelineConfigResponse
        ],
    ) -> p4r.GetForwardingPipelineConfigResponse:
        return await _answer(context, self._device.get_config(request))

    async def StreamChannel(  # noqa: N802
        self,
        request_iterator: AsyncIterator[p4r.StreamMessageRequest],
        context: grpc.aio.ServicerContext[p4r.StreamMessageRequest, p4r.StreamMessageResponse],
    ) -> AsyncIterator[p4r.StreamMessageResponse]:
        stream = ClientStream()
        # This comes even when the client vanishes while a message to it is on its way. (The stubs want a class here.)
        context.add_done_callback(lambda _: self._device.disconnect(stream))  # type: ignore[arg-type]
        receiver = asyncio.create_task(self._receive(stream, request_iterator))
        try:
            async for message in stream.messages():
                yield message
        except P4RuntimeError as error:
            await _abort(context, error)
        finally:
            receiver.cancel()
            self._device.disconnect(stream)

    async def Capabilities(  # noqa: N802
        self,
        request: p4r.CapabilitiesRequest,
        context: grpc.aio.ServicerContext[p4r.CapabilitiesRequest, p4r.CapabilitiesResponse],
    ) -> p4r.CapabilitiesResponse:
        if request.device_id not in (0, self._device.device_id):
            await _abort(context, not_found(f"no device has id {request.device_id}"))
        return p4r.CapabilitiesResponse(p4runtime_api_version=API_VERSION)

    async def _receive(self, stream: ClientStream, requests: AsyncIterator[p4r.StreamMessageRequest]) -> None:
        """Handle what a client sends until it ends its side, which ends the session."""
        try:
            async for request in requests:
                await self._device.handle_stream_message(stream, request)
            stream.close()
        except P4RuntimeError as error:
            stream.close(error)
        except Exception:
            logger.exception("a stream message could not be handled")
            stream.close(P4RuntimeError(rpc_code.INTERNAL, "internal error"))
            raise
        finally:
            self._device.disconnect(stream)


async def _answer(context: grpc.aio.ServicerContext[Any, Any], work: Awaitable[R]) -> R:
    """The result of `work`, or its error as the RPC's status."""
    try:
        return await work
    except P4RuntimeError as error:
        await _abort(context, error)
    except BatchError as error:
        await _abort_batch(context, error)


async def _abort(context: grpc.aio.ServicerContext[Any, Any], error: P4RuntimeError) -> NoReturn:
    await context.abort(STATUS_CODE_OF[error.code], error.message)


async def _abort_batch(context: grpc.aio.ServicerContext[Any, Any], error: BatchError) -> NoReturn:
    status = error.status()
    details = ((STATUS_DETAILS_KEY, status.SerializeToString()),)
    await context.abort(grpc.StatusCode.UNKNOWN, status.message, details)

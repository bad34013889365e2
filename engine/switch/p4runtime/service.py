"""The P4Runtime gRPC service: requests in, the device's answers out, errors as gRPC statuses."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Awaitable
from typing import Any, NoReturn, TypeVar

import grpc
from finsy.proto import p4r, rpc_code
from google.protobuf.message import DecodeError

from engine.switch.p4runtime.device import Device
from engine.switch.p4runtime.errors import (
    STATUS_CODE_OF,
    STATUS_DETAILS_KEY,
    BatchError,
    P4RuntimeError,
    invalid_argument,
    not_found,
    permission_denied,
)
from engine.switch.p4runtime.intake import Intake, generated, too_long
from engine.switch.p4runtime.read import responses
from engine.switch.p4runtime.rights import check_may_change
from engine.switch.p4runtime.streams import ClientStream

# The version of the specification that this server follows.
API_VERSION = "1.5.0"

logger = logging.getLogger(__name__)

R = TypeVar("R")


class P4RuntimeService:
    """Serves one device. Requests come as bytes, and as a stream also where there is a single one: so a call is known
    before anything of its request is taken in (see Intake). Nothing of that can be seen on the wire."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._intake = Intake(device.is_primary_at)

    def handlers(self) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """The calls by their names."""
        single, many = grpc.stream_unary_rpc_method_handler, grpc.stream_stream_rpc_method_handler
        made: dict[str, tuple[Any, Any, Any]] = {
            "Write": (single, self._write, p4r.WriteResponse),
            "Read": (many, self._read, p4r.ReadResponse),
            "SetForwardingPipelineConfig": (single, self._set_config, p4r.SetForwardingPipelineConfigResponse),
            "GetForwardingPipelineConfig": (single, self._get_config, p4r.GetForwardingPipelineConfigResponse),
            "StreamChannel": (many, self._stream_channel, p4r.StreamMessageResponse),
            "Capabilities": (single, self._capabilities, p4r.CapabilitiesResponse),
        }
        return {name: make(call, None, kind.SerializeToString) for name, (make, call, kind) in made.items()}

    async def _write(self, requests: AsyncIterable[bytes], context: Any) -> p4r.WriteResponse:
        await check_may_change(context)
        request = await self._intake.request(p4r.WriteRequest, generated(requests), context)
        await _answer(context, self._device.write(request))
        return p4r.WriteResponse()

    async def _read(self, requests: AsyncIterable[bytes], context: Any) -> AsyncIterator[p4r.ReadResponse]:
        request = await self._intake.request(p4r.ReadRequest, generated(requests), context)
        entities, error = await _answer(context, self._device.read(request))
        for response in responses(entities):
            yield response
        if error is not None:
            await _abort_batch(context, error)

    async def _set_config(
        self, requests: AsyncIterable[bytes], context: Any
    ) -> p4r.SetForwardingPipelineConfigResponse:
        await check_may_change(context)
        request = await self._intake.request(p4r.SetForwardingPipelineConfigRequest, generated(requests), context)
        await _answer(context, self._device.set_config(request))
        return p4r.SetForwardingPipelineConfigResponse()

    async def _get_config(
        self, requests: AsyncIterable[bytes], context: Any
    ) -> p4r.GetForwardingPipelineConfigResponse:
        request = await self._intake.request(p4r.GetForwardingPipelineConfigRequest, generated(requests), context)
        return await _answer(context, self._device.get_config(request))

    async def _stream_channel(
        self, requests: AsyncIterable[bytes], context: Any
    ) -> AsyncIterator[p4r.StreamMessageResponse]:
        await check_may_change(context)
        stream = ClientStream(context.peer())
        # This comes even when the client vanishes while a message to it is on its way.
        context.add_done_callback(lambda _: self._device.disconnect(stream))
        receiver = asyncio.create_task(self._receive(stream, requests, context))
        try:
            async for message in stream.messages():
                yield message
        except P4RuntimeError as error:
            await _abort(context, error)
        finally:
            receiver.cancel()
            self._device.disconnect(stream)

    async def _capabilities(self, requests: AsyncIterable[bytes], context: Any) -> p4r.CapabilitiesResponse:
        request = await self._intake.request(p4r.CapabilitiesRequest, generated(requests), context)
        if request.device_id not in (0, self._device.device_id):
            await _abort(context, not_found(f"no device has id {request.device_id}"))
        return p4r.CapabilitiesResponse(p4runtime_api_version=API_VERSION)

    async def _receive(self, stream: ClientStream, requests: AsyncIterable[bytes], context: Any) -> None:
        """Handle what a client sends until it ends its side, which ends the session."""
        messages = generated(requests)
        taken = self._intake.stream(messages, context)
        try:
            async for octets in taken:
                if self._intake.is_too_long(octets, context):
                    error, size = permission_denied(too_long(octets)), len(octets)
                    del octets  # the error's traceback would hold it, as these do
                    await taken.aclose()
                    await messages.aclose()
                    self._intake.give_back(size)
                    raise error
                await self._device.handle_stream_message(stream, p4r.StreamMessageRequest.FromString(octets))
            stream.close()
        except P4RuntimeError as error:
            stream.close(error)
        except DecodeError:
            stream.close(invalid_argument("not a StreamMessageRequest"))
        except Exception:
            logger.exception("a stream message could not be handled")
            stream.close(P4RuntimeError(rpc_code.INTERNAL, "internal error"))
            raise
        finally:
            self._device.disconnect(stream)
            await taken.aclose()
            await messages.aclose()  # it holds the last


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

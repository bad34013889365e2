"""Who may change something: over TLS with client certificates, everybody but the client named `reader`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import grpc

READER: Final = "reader"
"""The common name in the certificate of a client that may look only."""
CHANGING: Final = frozenset({"Write", "SetForwardingPipelineConfig", "StreamChannel"})
"""The calls that a reader may not make; with a stream it could become primary."""

NAME_KEY: Final = "x509_common_name"
"""gRPC's name for it in what it knows of a connection."""


class Rights(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """Refuses what a client has no right to before its message is parsed."""

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any]]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any]:
        handler: Any = await continuation(handler_call_details)
        if handler is None or handler_call_details.method.rpartition("/")[2] not in CHANGING:
            return handler  # type: ignore[no-any-return]
        parse, answer = handler.request_deserializer, handler.stream_stream or handler.unary_unary

        async def stream(requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
            await _check(context)
            async for response in answer(requests, context):
                yield response

        async def call(octets: bytes, context: Any) -> Any:
            await _check(context)
            return await answer(parse(octets), context)

        if handler.stream_stream is not None:
            return grpc.stream_stream_rpc_method_handler(stream, parse, handler.response_serializer)
        return grpc.unary_unary_rpc_method_handler(call, None, handler.response_serializer)


async def _check(context: Any) -> None:
    if READER.encode() in context.auth_context().get(NAME_KEY, ()):
        await context.abort(grpc.StatusCode.PERMISSION_DENIED, "this client may read only")

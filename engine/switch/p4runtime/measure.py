"""Counts and times P4Runtime's calls, for whoever serves the figures."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

# From a read of one counter to a push of a large program.
_BUCKETS_S = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class CallMetrics(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs only
    """Every call by method and status, how long the answers took, and how many calls are open."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._calls = Counter(
            "canopy_p4runtime_calls", "Calls that have ended, by status", ["method", "code"], registry=registry
        )
        self._seconds = Histogram(
            "canopy_p4runtime_call_seconds",
            "Time to answer (streams: how long they lasted)",
            ["method"],
            buckets=_BUCKETS_S,
            registry=registry,
        )
        self._open = Gauge("canopy_p4runtime_open_calls", "Calls under way", ["method"], registry=registry)

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any]]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any]:
        handler: Any = await continuation(handler_call_details)
        if handler is None:  # no such method; gRPC answers UNIMPLEMENTED
            return None  # type: ignore[return-value]
        method = handler_call_details.method.rpartition("/")[2]
        serializers = (handler.request_deserializer, handler.response_serializer)
        if handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(self._stream(method, handler.stream_stream), *serializers)
        return grpc.stream_unary_rpc_method_handler(self._unary(method, handler.stream_unary), *serializers)

    def _unary(self, method: str, call: Callable[[Any, Any], Awaitable[Any]]) -> Callable[[Any, Any], Awaitable[Any]]:
        async def measured(request: Any, context: Any) -> Any:
            with _Call(self._calls, self._seconds, self._open, method, context):
                return await call(request, context)

        return measured

    def _stream(
        self, method: str, call: Callable[[Any, Any], AsyncIterator[Any]]
    ) -> Callable[[Any, Any], AsyncIterator[Any]]:
        async def measured(request: Any, context: Any) -> AsyncIterator[Any]:
            with _Call(self._calls, self._seconds, self._open, method, context):
                async for response in call(request, context):
                    yield response

        return measured


class _Call:
    """One call, from its begin to its end."""

    def __init__(self, calls: Counter, seconds: Histogram, open_calls: Gauge, method: str, context: Any) -> None:
        self._calls, self._seconds, self._open = calls, seconds, open_calls
        self._method, self._context = method, context
        self._began = 0.0

    def __enter__(self) -> None:
        self._began = time.monotonic()
        self._open.labels(self._method).inc()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._open.labels(self._method).dec()
        self._seconds.labels(self._method).observe(time.monotonic() - self._began)
        self._calls.labels(self._method, _code_name(self._context.code(), kind)).inc()


def _code_name(code: Any, raised: type[BaseException] | None) -> str:
    """The status as gRPC spells it. Without one it is OK, or what a fault or a client that has gone makes of it."""
    if isinstance(code, grpc.StatusCode):
        return code.name
    if isinstance(code, int) and code:
        return next((status.name for status in grpc.StatusCode if status.value[0] == code), str(code))
    if raised is None:
        return "OK"
    # asyncio.CancelledError and GeneratorExit are no Exceptions.
    return "UNKNOWN" if issubclass(raised, Exception) else "CANCELLED"

"""The gRPC server around one device, and the thread that waits for the data plane's events."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import grpc

from engine.switch.p4runtime.datapath import DataPath
from engine.switch.p4runtime.device import Device
from engine.switch.p4runtime.service import P4RuntimeService

if TYPE_CHECKING:
    from canopy_engine import Event, Switch

# "The maximum receive message size must be large enough for all possible device configs": p4c's JSON of a large program
# has some 10 MB. gRPC's default is 4 MiB. Anybody may send messages, and what has this size is held until it is parsed.
MAX_RECEIVE_BYTES = 16 * 1024 * 1024

SERVICE = "p4.v1.P4Runtime"

# A client that is silent for so long is asked whether it lives, and has as long to answer.
KEEPALIVE_MS = 15_000

# Far above what controllers need, and below the descriptors that a process usually has (1,024).
MAX_CONNECTIONS = 512
# Calls of a connection at once; what comes beyond waits at the client (RFC 9113, 5.1.2 recommends no fewer than 100).
MAX_CALLS = 128
# A connection without calls is closed after so long: strangers would fill all places.
IDLE_MS = 60_000

# How long the event thread waits at a time; it bounds how late a new program's first events are noticed, and the stop.
EVENT_WAIT_MS = 50

# After a stop, open calls get this long to end by themselves.
STOP_GRACE_S = 0.2

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TlsFiles:
    """PEM files. `ca_certificate` verifies clients, when given; with `require_client` they must have a certificate."""

    certificate: Path
    key: Path
    ca_certificate: Path | None = None
    require_client: bool = False

    def credentials(self) -> grpc.ServerCredentials:
        """Raises OSError when a file cannot be read."""
        return grpc.ssl_server_credentials(
            [(self.key.read_bytes(), self.certificate.read_bytes())],
            self.ca_certificate.read_bytes() if self.ca_certificate is not None else None,
            self.require_client,
        )


class P4RuntimeServer:
    """Serves a device on one address, from `start` to `stop`, in the running event loop."""

    def __init__(
        self, device_id: int, datapath: DataPath, *, interceptors: Sequence[grpc.aio.ServerInterceptor[Any, Any]] = ()
    ) -> None:
        self.device = Device(device_id, datapath)
        self._interceptors = interceptors
        self.port = 0
        self._server: grpc.aio.Server | None = None
        self._events: threading.Thread | None = None
        self._stopping = threading.Event()

    async def start(self, address: str, tls: TlsFiles | None = None) -> None:
        """Listen on `address` ("host:port"; port 0 is any free one, see `port` then). Raises OSError if it is taken."""
        options = [
            ("grpc.max_receive_message_length", MAX_RECEIVE_BYTES),
            ("grpc.max_send_message_length", -1),
            ("grpc.http2.bdp_probe", 0),
            # A primary behind a broken network is noticed after half a minute, and another can take over.
            ("grpc.keepalive_time_ms", KEEPALIVE_MS),
            ("grpc.keepalive_timeout_ms", KEEPALIVE_MS),
            ("grpc.max_allowed_incoming_connections", MAX_CONNECTIONS),
            ("grpc.max_concurrent_streams", MAX_CALLS),
            ("grpc.max_connection_idle_ms", IDLE_MS),
            # Without this two servers could share a port, and the second one would not fail.
            ("grpc.so_reuseport", 0),
        ]
        server = grpc.aio.server(options=options, interceptors=self._interceptors)
        handlers = P4RuntimeService(self.device).handlers()
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, handlers)])
        try:
            self.port = server.add_secure_port(address, tls.credentials()) if tls else server.add_insecure_port(address)
        except RuntimeError as error:
            raise OSError(f"cannot listen on {address}: {error}") from None
        if self.port == 0:
            raise OSError(f"cannot listen on {address}")
        await server.start()
        self._server = server
        loop = asyncio.get_running_loop()
        self._events = threading.Thread(target=self._pump, args=(loop,), name="switch events", daemon=True)
        self._events.start()

    async def stop(self) -> None:
        """End all calls and the data path."""
        self._stopping.set()
        if self._server is not None:
            await self._server.stop(STOP_GRACE_S)
        if self._events is not None:
            await asyncio.to_thread(self._events.join)
        self.device.close()
        self.device.datapath.close()

    async def __aenter__(self) -> P4RuntimeServer:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()

    def _pump(self, loop: asyncio.AbstractEventLoop) -> None:
        """Carry events from the data plane to the event loop, one batch at a time: when the loop is busy, they wait in
        the data plane's own bounded queue."""
        while not self._stopping.is_set():
            try:
                switch, events = self.device.datapath.wait_events(EVENT_WAIT_MS)
            except Exception:
                logger.exception("the data plane does not report events")
                self._stopping.wait(EVENT_WAIT_MS / 1000)
                continue
            if switch is None or not events:
                continue
            handled = threading.Event()
            try:
                loop.call_soon_threadsafe(self._handle, switch, events, handled)
            except RuntimeError:
                # The loop is closed: the process ends.
                return
            while not handled.wait(EVENT_WAIT_MS / 1000) and not self._stopping.is_set():
                pass

    def _handle(self, switch: Switch, events: list[Event], handled: threading.Event) -> None:
        try:
            self.device.notifier.handle_events(switch, events)
        except Exception:
            logger.exception("events of the data plane could not be handled")
        finally:
            handled.set()

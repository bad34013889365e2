"""Switches for the controller's tests: one interface over the embedded switch in memory and simple_switch_grpc."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import grpc

from controller.network import CPU_PORT, SwitchSpec
from engine.switch.limits import DEFAULT_LIMITS
from engine.switch.p4runtime.datapath import MemoryDataPath
from engine.switch.p4runtime.server import P4RuntimeServer
from tests.simple_switch import packet_messages

START_LIMIT_S = 15.0
REFUSED_S = 0.02


class Node(ABC):
    """A running switch: frames go in by `receive`, and come out, sooner or later, in `sent` as (port, frame)."""

    def __init__(self, spec: SwitchSpec) -> None:
        self.spec = spec
        self.sent: list[tuple[int, bytes]] = []

    @abstractmethod
    async def start(self) -> None:
        """Listen on the switch's address, without any state."""

    @abstractmethod
    async def stop(self) -> None:
        """End; the state is gone."""

    @abstractmethod
    def receive(self, port: int, frame: bytes) -> None:
        """A frame arrives at a port."""

    @abstractmethod
    def set_time(self, now_us: int) -> None:
        """Set the switch's clock, where it is not the machine's."""

    def take_sent(self) -> list[tuple[int, bytes]]:
        """What was sent since the last call."""
        sent, self.sent = self.sent, []
        return sent


class EmbeddedNode(Node):
    """The embedded switch, in this process. Its time stands still until it is set."""

    def __init__(self, spec: SwitchSpec) -> None:
        super().__init__(spec)
        self._path = MemoryDataPath(cpu_port=CPU_PORT, limits=DEFAULT_LIMITS)
        self._server = P4RuntimeServer(spec.device_id, self._path)

    def stats(self) -> dict[str, int]:
        """What the switch has counted since its program was loaded."""
        return self._path.switch.stats() if self._path.switch is not None else {}

    async def start(self) -> None:
        await self._server.start(self.spec.address)

    async def stop(self) -> None:
        await self._server.stop()

    def receive(self, port: int, frame: bytes) -> None:
        if self._path.switch is not None:
            self.sent += self._path.process(port, frame)

    def set_time(self, now_us: int) -> None:
        self._path.now_us = now_us

    def take_sent(self) -> list[tuple[int, bytes]]:
        self.sent += self._path.from_cpu
        self._path.from_cpu.clear()
        return super().take_sent()


class SimpleSwitchNode(Node):
    """simple_switch_grpc: its own process, packets over its data plane's gRPC stream, the machine's time."""

    def __init__(self, spec: SwitchSpec, directory: Path) -> None:
        super().__init__(spec)
        self._directory = directory
        self._process: asyncio.subprocess.Process | None = None
        self._channel: grpc.aio.Channel | None = None
        self._waiting: list[tuple[int, bytes]] = []
        self._written: list[tuple[int, bytes]] = []  # to the present stream
        self._arrived = asyncio.Event()
        self._streaming: asyncio.Task[None] | None = None

    async def start(self) -> None:
        data_address = f"127.0.0.1:{free_port()}"
        command = ["simple_switch_grpc", "--no-p4", "--device-id", str(self.spec.device_id), "-L", "off"]
        command += ["--thrift-port", str(free_port()), "--", "--cpu-port", str(CPU_PORT)]
        command += ["--grpc-server-addr", self.spec.address, "--dp-grpc-server-addr", data_address]
        command += ["--max-mc-groups", "16384", "--max-l1-entries", "65536", "--max-l2-entries", "65536"]
        with (self._directory / f"{self.spec.name}.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log)
        self._channel = grpc.aio.insecure_channel(data_address)
        await asyncio.wait_for(self._channel.channel_ready(), START_LIMIT_S)
        self._streaming = asyncio.create_task(self._stream(self._channel))

    async def stop(self) -> None:
        if self._streaming is not None:
            self._streaming.cancel()
            await asyncio.gather(self._streaming, return_exceptions=True)
        if self._channel is not None:
            await self._channel.close(None)
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    def receive(self, port: int, frame: bytes) -> None:
        self._waiting.append((port, frame))
        self._arrived.set()

    def set_time(self, now_us: int) -> None:
        del now_us  # it has the machine's

    async def _stream(self, channel: grpc.aio.Channel) -> None:
        """Exchange packets. BMv2 refuses the stream as long as it has no program."""
        request, response = packet_messages()
        call: Any = channel.stream_stream(
            "/p4.bm.DataplaneInterface/PacketStream",
            request_serializer=request.SerializeToString,
            response_deserializer=response.FromString,
        )
        while True:
            stream = call()
            writing = asyncio.create_task(self._write(stream, request))
            try:
                async for message in stream:
                    self.sent.append((int(message.port), bytes(message.packet)))
            except grpc.aio.AioRpcError:
                await asyncio.sleep(REFUSED_S)
            finally:
                writing.cancel()
            self._waiting[:0] = self._written  # a stream that was refused has taken nothing
            self._written.clear()

    async def _write(self, stream: Any, request: type) -> None:
        while True:
            while self._waiting:
                port, frame = self._waiting.pop(0)
                self._written.append((port, frame))
                await stream.write(request(device_id=self.spec.device_id, port=port, packet=frame))
            self._arrived.clear()
            await self._arrived.wait()


def free_port() -> int:
    """A TCP port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def has_simple_switch() -> bool:
    """Whether BMv2 is installed."""
    return shutil.which("simple_switch_grpc") is not None

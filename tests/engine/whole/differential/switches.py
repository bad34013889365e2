"""The two sides, each behind P4Runtime."""

from collections.abc import Sequence
from typing import Any, Protocol

import grpc
from finsy.proto import p4r, rpc_code, rpc_status

from engine.switch.p4runtime.datapath import MemoryDataPath
from engine.switch.p4runtime.errors import P4RuntimeError
from engine.switch.p4runtime.packet_io import decode_packet_in
from engine.switch.p4runtime.pipeline import build_pipeline
from engine.switch.p4runtime.read import read_entity
from engine.switch.p4runtime.write import apply_update
from tests.engine.whole.differential.programs import Program
from tests.simple_switch import SimpleSwitchProcess

CPU_PORT = 510

Output = tuple[int, bytes]


class NoReferenceError(Exception):
    """simple_switch_grpc refuses the program, has crashed, or does not come to an end with a packet."""


class Side(Protocol):
    """A switch that runs one program."""

    def write(self, updates: Sequence[p4r.Update]) -> list[int]:
        """Apply the updates one by one: the code of each."""
        ...

    def read(self, request: p4r.Entity) -> list[p4r.Entity] | None:
        """None when the switch cannot tell."""
        ...

    def send(self, port: int, packet: bytes) -> list[Output]:
        """The packets that leave; without those to the CPU port."""
        ...

    def told(self) -> list[bytes]:
        """Digests and packet-ins since the last call, each as bytes."""
        ...

    def close(self) -> None: ...


class Embedded:
    """The embedded switch in process, behind the P4Runtime server's own translation."""

    def __init__(self, program: Program, cpu_port: int | None = CPU_PORT) -> None:
        self._path = MemoryDataPath(cpu_port=cpu_port)
        config = p4r.ForwardingPipelineConfig(p4info=program.p4info, p4_device_config=program.json.encode())
        self.pipeline = build_pipeline(config, self._path)
        self._path.install(self.pipeline.switch)

    def write(self, updates: Sequence[p4r.Update]) -> list[int]:
        return [self._write(update) for update in updates]

    def _write(self, update: p4r.Update) -> int:
        try:
            apply_update(self.pipeline, update)
        except P4RuntimeError as error:
            return error.code
        return rpc_code.OK

    def read(self, request: p4r.Entity) -> list[p4r.Entity]:
        return list(read_entity(self.pipeline, request))

    def send(self, port: int, packet: bytes) -> list[Output]:
        return self._path.process(port, packet)

    def told(self) -> list[bytes]:
        told = []
        for event in self._path.wait_events(0)[1]:
            if event["kind"] == "packet_in":
                if (message := decode_packet_in(event["packet"], self.pipeline.packet_in)) is not None:
                    told.append(_packet_in(message))
            elif event["kind"] == "digest" and (digest := self.pipeline.digest_named(event["digest"])) is not None:
                lists = (digest.learn(tuple(fields), 0.0) for fields in event["values"])
                told += [data for learned in lists if learned is not None for data in _digests(learned)]
        return told

    def close(self) -> None:
        pass


class Reference:
    """simple_switch_grpc."""

    def __init__(self, program: Program, executable: str, cpu_port: int | None = CPU_PORT) -> None:
        """Raises NoReferenceError."""
        self._told: list[bytes] = []
        self._process = SimpleSwitchProcess(executable, cpu_port, self._receive)
        self.load(program)

    def load(self, program: Program) -> None:
        """In place of the one before. Raises NoReferenceError."""
        try:
            self._process.push(program.p4info, program.json)
        except grpc.RpcError as error:
            self.close()
            raise NoReferenceError(error.details()) from None

    def write(self, updates: Sequence[p4r.Update]) -> list[int]:
        try:
            self._process.write(updates)
        except grpc.RpcError as error:
            return _codes(error)
        return [rpc_code.OK] * len(updates)

    def read(self, request: p4r.Entity) -> list[p4r.Entity] | None:
        """PI does not find the members of one-shot sets."""
        try:
            return self._process.read(request)
        except grpc.RpcError as error:
            if error.code() in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.INVALID_ARGUMENT):
                return None
            raise

    def send(self, port: int, packet: bytes) -> list[Output]:
        """Raises NoReferenceError."""
        try:
            return self._process.send(port, packet)
        except grpc.RpcError as error:
            if error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
                raise NoReferenceError(f"{packet.hex()} at port {port}: {error.details()}") from None
            raise

    def told(self) -> list[bytes]:
        self._process.settle()
        told, self._told = self._told, []
        return told

    def close(self) -> None:
        self._process.close()

    def _receive(self, message: p4r.StreamMessageResponse) -> None:
        if message.HasField("digest"):
            self._told += _digests(message.digest)
        elif message.HasField("packet"):
            self._told.append(_packet_in(message.packet))


def _digests(message: p4r.DigestList) -> list[bytes]:
    return [b"digest %d " % message.digest_id + data.SerializeToString(deterministic=True) for data in message.data]


def _packet_in(message: p4r.PacketIn) -> bytes:
    return b"packet-in " + message.SerializeToString(deterministic=True)


def _codes(error: grpc.RpcError) -> list[int]:
    trailer: Any = error.trailing_metadata()
    for key, value in trailer or ():
        if key == "grpc-status-details-bin":
            details = []
            for detail in rpc_status.Status.FromString(value).details:
                details.append(p4r.Error())
                detail.Unpack(details[-1])
            return [detail.canonical_code for detail in details]
    raise error

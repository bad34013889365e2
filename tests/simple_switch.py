"""A simple_switch_grpc process under test: P4Runtime for its state, its gRPC data plane for packets; no root, no
interfaces.
"""

import queue
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import grpc
from finsy.proto import p4i, p4r, p4r_grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

DEVICE_ID = 1
START_LIMIT_S = 15.0
CALL_LIMIT_S = 20.0
# Digests and packet-ins come by another thread than packets: this long after the last one, none is on its way.
QUIET_S = 0.05


def find_simple_switch() -> str | None:
    return shutil.which("simple_switch_grpc")


def packet_messages() -> tuple[type[Message], type[Message]]:
    """The request and response of BMv2's DataplaneInterface.PacketStream: both id, device id, port, packet."""
    kinds = descriptor_pb2.FieldDescriptorProto
    proto = descriptor_pb2.FileDescriptorProto(name="canopy_tests_dataplane.proto", package="p4.bm", syntax="proto3")
    for name in ("PacketStreamRequest", "PacketStreamResponse"):
        message = proto.message_type.add(name=name)
        fields = [("id", kinds.TYPE_UINT64), ("device_id", kinds.TYPE_UINT64), ("port", kinds.TYPE_UINT32)]
        for tag, (field, kind) in enumerate([*fields, ("packet", kinds.TYPE_BYTES)], start=1):
            message.field.add(name=field, number=tag, type=kind, label=kinds.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(proto)
    request, response = (
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"p4.bm.{message.name}"))
        for message in proto.message_type
    )
    return request, response


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class SimpleSwitchProcess:
    """The process, this client as its primary controller, and the stream of its packets.

    `on_message` gets what comes over P4Runtime's stream, in a thread of its own."""

    def __init__(
        self,
        executable: str,
        cpu_port: int | None,
        on_message: Callable[[p4r.StreamMessageResponse], None] | None = None,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="canopy-bmv2-")
        addresses = [f"unix:{self._folder.name}/{name}" for name in ("p4runtime", "dataplane")]
        command = [
            executable,
            "--no-p4",
            "--device-id",
            str(DEVICE_ID),
            "--thrift-port",
            str(_free_port()),
            "-L",
            "off",
        ]
        command += ["--", *(["--cpu-port", str(cpu_port)] if cpu_port is not None else [])]
        command += ["--grpc-server-addr", addresses[0], "--dp-grpc-server-addr", addresses[1]]
        # One for each of v1model's priorities; without it packets of a priority above 0 are dropped.
        command += ["--priority-queues", "8"]
        # A level-1 and a level-2 entry per group and port of a 12-port switch.
        command += ["--max-mc-groups", "16384", "--max-l1-entries", "65536", "--max-l2-entries", "65536"]
        with (Path(self._folder.name) / "log").open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        self._channels = [grpc.insecure_channel(address) for address in addresses]
        self._requests: queue.Queue[p4r.StreamMessageRequest | None] = queue.Queue()
        self._on_message = on_message
        self._last_message = time.monotonic()
        self._is_primary = threading.Event()
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        for channel in self._channels:
            grpc.channel_ready_future(channel).result(timeout=START_LIMIT_S)
        self._stub = p4r_grpc.P4RuntimeStub(self._channels[0])
        self._request, response = packet_messages()
        self._packets = self._channels[1].stream_stream(
            "/p4.bm.DataplaneInterface/PacketStream",
            request_serializer=self._request.SerializeToString,
            response_deserializer=response.FromString,
        )
        threading.Thread(target=self._receive, daemon=True).start()
        arbitration = p4r.MasterArbitrationUpdate(device_id=DEVICE_ID, election_id=p4r.Uint128(low=1))
        self._requests.put(p4r.StreamMessageRequest(arbitration=arbitration))
        if not self._is_primary.wait(START_LIMIT_S):
            raise TimeoutError("simple_switch_grpc did not make the tests its primary controller")

    def close(self) -> None:
        self._requests.put(None)
        for channel in self._channels:
            channel.close()
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def push(self, p4info: p4i.P4Info, program_json: str) -> None:
        config = p4r.ForwardingPipelineConfig(p4info=p4info, p4_device_config=program_json.encode())
        request = p4r.SetForwardingPipelineConfigRequest(
            device_id=DEVICE_ID,
            election_id=p4r.Uint128(low=1),
            action=p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
            config=config,
        )
        self._stub.SetForwardingPipelineConfig(request, timeout=CALL_LIMIT_S)
        # Packets are refused for a moment after the first one.
        give_up = time.monotonic() + START_LIMIT_S
        while not self._takes_packets() and time.monotonic() < give_up:
            time.sleep(QUIET_S)

    def write(self, updates: Sequence[p4r.Update]) -> None:
        """Raises grpc.RpcError when one of them is refused; the others are applied."""
        request = p4r.WriteRequest(device_id=DEVICE_ID, election_id=p4r.Uint128(low=1), updates=updates)
        self._stub.Write(request, timeout=CALL_LIMIT_S)

    def write_all(self, kind: p4r.Update.Type.ValueType, entities: Sequence[p4r.Entity]) -> None:
        """The same kind of update for each entity."""
        self.write([p4r.Update(type=kind, entity=entity) for entity in entities])

    def read(self, *entities: p4r.Entity) -> list[p4r.Entity]:
        request = p4r.ReadRequest(device_id=DEVICE_ID, entities=entities)
        return [entity for response in self._stub.Read(request, timeout=CALL_LIMIT_S) for entity in response.entities]

    def send(self, port: int, packet: bytes) -> list[tuple[int, bytes]]:
        """The (port, packet) pairs that leave after one has arrived, ordered by port."""
        request = self._request(device_id=DEVICE_ID, port=port, packet=packet)
        # The call ends when the switch has processed every packet.
        responses = self._packets(iter([request]), timeout=CALL_LIMIT_S)
        sent = [(int(response.port), bytes(response.packet)) for response in responses]
        return sorted(sent, key=lambda output: output[0])

    def _takes_packets(self) -> bool:
        try:
            list(self._packets(iter(()), timeout=CALL_LIMIT_S))
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.UNAVAILABLE:
                return False
            raise
        return True

    def settle(self) -> None:
        """Waits until no message has come from the switch for a while."""
        self._last_message = time.monotonic()
        while (left := self._last_message + QUIET_S - time.monotonic()) > 0:
            time.sleep(left)

    def _receive(self) -> None:
        requests: Iterator[p4r.StreamMessageRequest] = iter(self._requests.get, None)
        try:
            for message in self._stub.StreamChannel(requests):
                self._last_message = time.monotonic()
                if message.HasField("arbitration"):
                    self._is_primary.set()
                elif self._on_message is not None:
                    self._on_message(message)
        except grpc.RpcError as error:
            # The channel was closed, or the process has ended, which whoever calls it next is told.
            if error.code() not in (grpc.StatusCode.CANCELLED, grpc.StatusCode.UNAVAILABLE):
                raise

"""simple_switch_grpc under test: P4Runtime for its state, its gRPC data plane for packets; no root, no interfaces."""

import queue
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import grpc
from finsy.proto import p4r, p4r_grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

from tests.p4.program import Program, number, to_bytes
from tests.p4.target import Digest, Key, Output, PacketIn, Rates, Target

DEVICE_ID = 1
START_LIMIT_S = 15.0
CALL_LIMIT_S = 20.0
# Digests and packet-ins come by another thread than packets: this long after the last one, none is on its way.
QUIET_S = 0.05


def find_simple_switch() -> str | None:
    return shutil.which("simple_switch_grpc")


def _packet_messages() -> tuple[type[Message], type[Message]]:
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


class SimpleSwitch(Target):
    """One simple_switch_grpc process. Its time is the machine's, and a reset loads the program again."""

    def __init__(self, program: Program, executable: str) -> None:
        super().__init__(program)
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
        command += ["--", "--cpu-port", str(number("CPU_PORT"))]
        command += ["--grpc-server-addr", addresses[0], "--dp-grpc-server-addr", addresses[1]]
        # A level-1 and a level-2 entry per group and port of a 12-port switch.
        command += ["--max-mc-groups", "16384", "--max-l1-entries", "65536", "--max-l2-entries", "65536"]
        with (Path(self._folder.name) / "log").open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        self._channels = [grpc.insecure_channel(address) for address in addresses]
        self._requests: queue.Queue[p4r.StreamMessageRequest | None] = queue.Queue()
        self._replication: list[p4r.Entity] = []  # groups and clone sessions
        self._digests: list[Digest] = []
        self._packet_ins: list[PacketIn] = []
        self._last_message = time.monotonic()
        self._is_primary = threading.Event()
        try:
            self._connect()
            self.reset()
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        for channel in self._channels:
            grpc.channel_ready_future(channel).result(timeout=START_LIMIT_S)
        self._stub = p4r_grpc.P4RuntimeStub(self._channels[0])
        self._request, response = _packet_messages()
        self._packets = self._channels[1].stream_stream(
            "/p4.bm.DataplaneInterface/PacketStream",
            request_serializer=self._request.SerializeToString,
            response_deserializer=response.FromString,
        )
        threading.Thread(target=self._read, daemon=True).start()
        arbitration = p4r.MasterArbitrationUpdate(device_id=DEVICE_ID, election_id=p4r.Uint128(low=1))
        self._requests.put(p4r.StreamMessageRequest(arbitration=arbitration))
        if not self._is_primary.wait(START_LIMIT_S):
            raise TimeoutError("simple_switch_grpc did not make the tests its primary controller")

    def close(self) -> None:
        self._requests.put(None)
        for channel in self._channels:
            channel.close()
        self._process.terminate()
        self._process.wait(timeout=10)
        self._folder.cleanup()

    def send(self, port: int, packet: bytes) -> list[Output]:
        request = self._request(device_id=DEVICE_ID, port=port, packet=packet)
        # The call ends when the switch has processed every packet.
        responses = self._packets(iter([request]), timeout=CALL_LIMIT_S)
        sent = [(int(response.port), bytes(response.packet)) for response in responses]
        return sorted(sent, key=lambda output: output[0])

    def digests(self) -> list[Digest]:
        self._settle()
        messages, self._digests = self._digests, []
        return messages

    def packet_ins(self) -> list[PacketIn]:
        self._settle()
        packets, self._packet_ins = self._packet_ins, []
        return packets

    def advance(self, microseconds: int) -> None:
        time.sleep(microseconds / 1e6)

    def reset(self) -> None:
        # A new pipeline makes PI forget the groups and sessions but leaves them in the switch.
        if self._replication:
            self._write(p4r.Update.DELETE, self._replication)
            self._replication.clear()
        config = p4r.ForwardingPipelineConfig(p4info=self.program.p4info)
        config.p4_device_config = self.program.json.encode()
        request = p4r.SetForwardingPipelineConfigRequest(
            device_id=DEVICE_ID,
            election_id=p4r.Uint128(low=1),
            action=p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
            config=config,
        )
        self._stub.SetForwardingPipelineConfig(request, timeout=CALL_LIMIT_S)
        self._settle()
        self._digests.clear()
        self._packet_ins.clear()
        at_once = p4r.DigestEntry.Config(max_timeout_ns=0, max_list_size=1, ack_timeout_ns=0)
        self._write(
            p4r.Update.INSERT,
            [
                p4r.Entity(digest_entry=p4r.DigestEntry(digest_id=digest, config=at_once))
                for digest in self.program.digest_ids()
            ],
        )

    def set_default(self, table: str, action: str, params: Mapping[str, int]) -> None:
        entry = self._entry(table, {}, action, params)
        entry.is_default_action = True
        self._write(p4r.Update.MODIFY, [p4r.Entity(table_entry=entry)])

    def insert(self, table: str, key: Mapping[str, Key], action: str, params: Mapping[str, int]) -> None:
        self._write(p4r.Update.INSERT, [p4r.Entity(table_entry=self._entry(table, key, action, params))])

    def modify(self, table: str, key: Mapping[str, Key], action: str, params: Mapping[str, int]) -> None:
        self._write(p4r.Update.MODIFY, [p4r.Entity(table_entry=self._entry(table, key, action, params))])

    def delete(self, table: str, key: Mapping[str, Key]) -> None:
        entry = p4r.TableEntry(table_id=self.program.table(table).id, match=self._match(table, key))
        self._write(p4r.Update.DELETE, [p4r.Entity(table_entry=entry)])

    def set_groups(self, groups: Mapping[int, Sequence[int]]) -> None:
        entities = [self._group(group, ports) for group, ports in groups.items()]
        self._write(p4r.Update.INSERT, entities)
        self._replication += entities

    def change_group(self, group: int, ports: Sequence[int]) -> None:
        self._write(p4r.Update.MODIFY, [self._group(group, ports)])

    def set_clone_session(self, session: int, port: int) -> None:
        replicas = [p4r.Replica(egress_port=port, instance=0)]
        entry = p4r.CloneSessionEntry(session_id=session, replicas=replicas)
        engine = p4r.PacketReplicationEngineEntry(clone_session_entry=entry)
        entities = [p4r.Entity(packet_replication_engine_entry=engine)]
        self._write(p4r.Update.INSERT, entities)
        self._replication += entities

    def counter(self, name: str, index: int) -> tuple[int, int]:
        entry = p4r.CounterEntry(counter_id=self.program.counter_id(name), index=p4r.Index(index=index))
        request = p4r.ReadRequest(device_id=DEVICE_ID, entities=[p4r.Entity(counter_entry=entry)])
        (response,) = self._stub.Read(request, timeout=CALL_LIMIT_S)
        data = response.entities[0].counter_entry.data
        return int(data.packet_count), int(data.byte_count)

    def set_meter(self, name: str, index: int, rates: Rates) -> None:
        config = p4r.MeterConfig(
            cir=rates.committed_rate,
            cburst=rates.committed_burst,
            pir=rates.peak_rate,
            pburst=rates.peak_burst,
        )
        entry = p4r.MeterEntry(meter_id=self.program.meter_id(name), index=p4r.Index(index=index), config=config)
        self._write(p4r.Update.MODIFY, [p4r.Entity(meter_entry=entry)])

    def _write(self, kind: int, entities: Sequence[p4r.Entity]) -> None:
        request = p4r.WriteRequest(device_id=DEVICE_ID, election_id=p4r.Uint128(low=1))
        for entity in entities:
            request.updates.add(type=kind, entity=entity)
        self._stub.Write(request, timeout=CALL_LIMIT_S)

    def _entry(self, table: str, key: Mapping[str, Key], action: str, params: Mapping[str, int]) -> p4r.TableEntry:
        call = self.program.action(action)
        values = call.encode(params)
        return p4r.TableEntry(
            table_id=self.program.table(table).id,
            match=self._match(table, key),
            action=p4r.TableAction(
                action=p4r.Action(
                    action_id=call.id,
                    params=[
                        p4r.Action.Param(param_id=index, value=_canonical(value))
                        for index, value in enumerate(values, start=1)
                    ],
                )
            ),
        )

    def _match(self, table: str, key: Mapping[str, Key]) -> list[p4r.FieldMatch]:
        match = []
        for index, (name, width, _) in enumerate(self.program.table(table).fields, start=1):
            if name not in key:
                continue
            value = key[name]
            if isinstance(value, tuple):
                if value[1] == 0:
                    continue  # P4Runtime leaves out a field that matches everything
                prefix = p4r.FieldMatch.LPM(value=_canonical(to_bytes(value[0], width)), prefix_len=value[1])
                match.append(p4r.FieldMatch(field_id=index, lpm=prefix))
            else:
                exact = p4r.FieldMatch.Exact(value=_canonical(to_bytes(value, width)))
                match.append(p4r.FieldMatch(field_id=index, exact=exact))
        return match

    def _group(self, group: int, ports: Sequence[int]) -> p4r.Entity:
        replicas = [p4r.Replica(egress_port=port, instance=0) for port in ports]
        entry = p4r.MulticastGroupEntry(multicast_group_id=group, replicas=replicas)
        engine = p4r.PacketReplicationEngineEntry(multicast_group_entry=entry)
        return p4r.Entity(packet_replication_engine_entry=engine)

    def _settle(self) -> None:
        """Waits until no message has come from the switch for a while."""
        self._last_message = time.monotonic()
        while (left := self._last_message + QUIET_S - time.monotonic()) > 0:
            time.sleep(left)

    def _read(self) -> None:
        requests: Iterator[p4r.StreamMessageRequest] = iter(self._requests.get, None)
        names = self.program.digest_ids()
        try:
            for message in self._stub.StreamChannel(requests):
                self._last_message = time.monotonic()
                if message.HasField("arbitration"):
                    self._is_primary.set()
                elif message.HasField("digest"):
                    name = names[message.digest.digest_id]
                    fields = self.program.digest_fields(name)
                    for entry in message.digest.data:
                        values = [int.from_bytes(member.bitstring, "big") for member in entry.struct.members]
                        self._digests.append(Digest(name, dict(zip(fields, values, strict=True))))
                elif message.HasField("packet"):
                    ids = {tag: name for tag, name, _ in self.program.header_fields("packet_in")}
                    header = {
                        ids[part.metadata_id]: int.from_bytes(part.value, "big") for part in message.packet.metadata
                    }
                    packet_in = PacketIn(header["ingress_port"], header["reason"], message.packet.payload)
                    self._packet_ins.append(packet_in)
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.CANCELLED:
                raise


def _canonical(value: bytes) -> bytes:
    """P4Runtime's canonical byte string: no leading zeros."""
    return value.lstrip(b"\0") or b"\0"

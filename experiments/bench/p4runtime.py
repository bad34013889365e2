"""`canopy bench p4runtime`: what the embedded switch's P4Runtime server takes: writes in a row, many requests, and
large messages of clients that have no right to them."""

import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, Final, Self

import grpc
from finsy.proto import U128, p4i, p4r, p4r_grpc
from google.protobuf import text_format

from controller.network import CPU_PORT
from engine.command.programs import module_command
from experiments.bench.figure import BenchError
from experiments.bench.switch.footprint import running
from experiments.bench.switch.replication import REPLICATION
from experiments.figures.bench import Figure

DEVICE: Final = 1
METHODS: Final = ("Write", "SetForwardingPipelineConfig", "StreamChannel")
"""What a client may send large messages to."""
_ELECTION: Final = 7
_TIMEOUT_S: Final = 60.0
_TABLE, _ACTION = "ipv4_lpm", "route_drop"
_ROUTES: Final = 500
"""Entries that are written, and deleted again."""
_WINDOW: Final = 200
"""Requests of a stranger that are under way at once."""
_GARBAGE: Final = b"\xff" * 40
_MB: Final = 10**6
_MOST_MB: Final = 300.0


@dataclass(frozen=True, slots=True)
class Server:
    """A switch's process that serves P4Runtime."""

    pid: int
    address: str

    @property
    def cpu_s(self) -> float:
        """User and system time so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mb(self, field: str) -> float:
        """Resident memory: `VmRSS` now, `VmHWM` at most since `forget_peak`."""
        lines = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 / _MB for line in lines if line.startswith(f"{field}:"))

    def forget_peak(self) -> None:
        """What it has at most is counted from now on."""
        Path(f"/proc/{self.pid}/clear_refs").write_text("5", encoding="ascii")


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    """A switch without ports that runs Canopy's program. BenchError when it does not start."""
    reader, writer = os.pipe()
    command = module_command("engine.switch.cli", str(REPLICATION.program_json), "--p4info", str(REPLICATION.p4info))
    command += [
        "--grpc-server-addr",
        "127.0.0.1:0",
        "--cpu-port",
        str(CPU_PORT),
        "--ready-fd",
        str(writer),
        "-L",
        "off",
    ]
    with open(reader) as ready, running(command, pass_fds=[writer]) as process:
        os.close(writer)
        words = ready.readline().split()
        if len(words) < 2:
            raise BenchError("the switch ended before it was ready")
        yield Server(process.pid, words[1])


class Client:
    """Of one connection; primary once it has said so."""

    def __init__(self, address: str) -> None:
        # A pool of its own, so that several clients in this process have several connections.
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_send_message_length", -1)]
        self.channel: Any = grpc.insecure_channel(address, options=options)
        self.stub: Any = p4r_grpc.P4RuntimeStub(self.channel)
        self._said: queue.Queue[p4r.StreamMessageRequest | None] = queue.Queue()
        self._stream: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._said.put(None)
        self.channel.close()

    def become_primary(self) -> None:
        """BenchError when another client is."""
        arbitration = p4r.MasterArbitrationUpdate(device_id=DEVICE, election_id=U128.encode(_ELECTION))
        self._said.put(p4r.StreamMessageRequest(arbitration=arbitration))
        self._stream = self.stub.StreamChannel(iter(self._said.get, None))
        answer = next(self._stream)
        if answer.arbitration.status.code != 0:
            raise BenchError(f"not primary: {answer.arbitration.status.message}")


def measure(writes: int, requests: int, large: int) -> list[Figure]:
    """All figures, of one switch. BenchError when something is answered that should not be."""
    with serving() as server, Client(server.address) as primary:
        primary.become_primary()
        figures = _writes(server, primary, writes)
        figures += _requests(server, requests)
        for size, methods in ((64 * _MB, METHODS[:1]), (15 * _MB, METHODS)):
            for method in methods:
                figures += _large(server, method, large, size)
        _write(primary, next(_updates()))  # it still serves
    return figures


def _updates() -> Iterator[p4r.Update]:
    """Routes to insert one by one, then to delete again, and so on."""
    info = text_format.Parse(REPLICATION.p4info.read_text(encoding="utf-8"), p4i.P4Info())
    table = next(one for one in info.tables if one.preamble.alias == _TABLE)
    action = next(one for one in info.actions if one.preamble.alias == _ACTION)
    for kind in cycle((p4r.Update.INSERT, p4r.Update.DELETE)):
        for number in range(_ROUTES):
            update = p4r.Update(type=kind)
            entry = update.entity.table_entry
            entry.table_id = table.preamble.id
            match = entry.match.add(field_id=table.match_fields[0].id)
            match.lpm.value, match.lpm.prefix_len = (0x0B000000 + number).to_bytes(4, "big"), 32
            entry.action.action.action_id = action.preamble.id
            yield update


def _write(primary: Client, update: p4r.Update) -> None:
    request = p4r.WriteRequest(device_id=DEVICE, election_id=U128.encode(_ELECTION), updates=[update])
    primary.stub.Write(request, timeout=_TIMEOUT_S)


def _writes(server: Server, primary: Client, count: int) -> list[Figure]:
    """One after the other, each with one update."""
    updates, before, begin = _updates(), server.cpu_s, time.monotonic()
    for _ in range(count):
        _write(primary, next(updates))
    elapsed, cpu = time.monotonic() - begin, server.cpu_s - before
    for _ in range(-count % (2 * _ROUTES)):
        _write(primary, next(updates))
    return [
        Figure(f"{count:,} writes in a row", elapsed, "s", 10.0, at_most=True),
        Figure("processor time of the server for a write", cpu / count * 1e6, "us", 1000.0, at_most=True),
    ]


def _requests(server: Server, count: int) -> list[Figure]:
    """Of a client without any right: it asks for capabilities, reads, writes, and sends what is no message."""
    write = p4r.WriteRequest(device_id=DEVICE, updates=[next(_updates())]).SerializeToString()
    read = p4r.ReadRequest(device_id=DEVICE, entities=[p4r.Entity(table_entry=p4r.TableEntry())]).SerializeToString()
    kinds = (("Capabilities", b""), ("Read", read), ("Write", write), ("Write", _GARBAGE), ("Capabilities", _GARBAGE))
    with Client(server.address) as stranger:
        call: dict[str, Any] = {method: _raw(stranger, method) for method, _ in kinds if method != "Read"}
        reading: Any = stranger.channel.unary_stream("/p4.v1.P4Runtime/Read")
        begin = server.memory_mb("VmRSS")
        server.forget_peak()
        waiting: list[Any] = []
        for number, (method, octets) in zip(range(count), cycle(kinds), strict=False):
            if method == "Read":
                for _ in reading(octets, timeout=_TIMEOUT_S):
                    pass
            else:
                waiting.append(call[method].future(octets, timeout=_TIMEOUT_S))
            if len(waiting) >= _WINDOW or number == count - 1:
                codes = {one.code() for one in waiting}
                if grpc.StatusCode.DEADLINE_EXCEEDED in codes or grpc.StatusCode.UNAVAILABLE in codes:
                    raise BenchError(f"a request was not answered: {codes}")
                waiting.clear()
    peak = server.memory_mb("VmHWM") - begin
    return [Figure(f"memory that {count:,} requests of a stranger take at most", peak, "MB", 20.0, at_most=True)]


def _raw(client: Client, method: str) -> Any:
    return client.channel.unary_unary(f"/p4.v1.P4Runtime/{method}")


def _large(server: Server, method: str, count: int, size: int) -> list[Figure]:
    """Messages of strangers, all at once, each on a connection of its own."""
    body = _body(method, size)
    server.forget_peak()
    codes: list[grpc.StatusCode] = []
    threads = [threading.Thread(target=_send, args=(server.address, method, body, codes.append)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if grpc.StatusCode.OK in codes or len(codes) < count:
        raise BenchError(f"a stranger's {method} of {size:,} bytes was answered with {codes}")
    what = f"{count} messages of {size // _MB} MB of strangers to {method}"
    return [
        Figure(f"memory at most during {what}", server.memory_mb("VmHWM"), "MB", _MOST_MB, at_most=True),
        Figure(f"memory after {what}", server.memory_mb("VmRSS"), "MB", _MOST_MB, at_most=True),
    ]


def _body(method: str, size: int) -> bytes:
    """A message of that size, of as many parts as there may be: what is parsed of it is many times as large."""
    if method == "StreamChannel":
        return p4r.StreamMessageRequest(packet=p4r.PacketOut(payload=bytes(size))).SerializeToString()
    if method == "Write":
        head = p4r.WriteRequest(device_id=DEVICE, election_id=U128.encode(_ELECTION + 1)).SerializeToString()
        return head + b"\x22\x00" * (size // 2)  # field 4, updates: empty ones
    push = p4r.SetForwardingPipelineConfigRequest(device_id=DEVICE, election_id=U128.encode(_ELECTION + 1))
    push.config.p4_device_config = bytes(size)
    return push.SerializeToString()


def _send(address: str, method: str, body: bytes, note: Callable[[grpc.StatusCode], None]) -> None:
    with Client(address) as client:
        try:
            if method == "StreamChannel":
                call: Any = client.channel.stream_stream(f"/p4.v1.P4Runtime/{method}")
                for _ in call(iter([body]), timeout=_TIMEOUT_S):
                    pass
            else:
                _raw(client, method)(body, timeout=_TIMEOUT_S)
        except grpc.RpcError as error:
            note(error.code())
        else:
            note(grpc.StatusCode.OK)

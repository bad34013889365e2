"""`canopy switch` with our program between interfaces of the present namespace, set up as a controller would do it."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from finsy.proto import p4i, p4r

from tests.engine.namespaces import add_veth
from tests.engine.served import Controller
from tests.engine.switch.test_cli import Process, controller, process
from tests.p4src.bench.bmv2 import SimpleSwitch
from tests.p4src.bench.program import FOLDER, number, program
from tests.p4src.bench.setup import install, route_host
from tests.p4src.bench.target import Target


class _Client:
    """What SimpleSwitch asks of its process, by a bare client."""

    def __init__(self, client: Controller) -> None:
        self._client = client

    def write_all(self, kind: p4r.Update.Type.ValueType, entities: Sequence[p4r.Entity]) -> None:
        self._client.write(*(p4r.Update(type=kind, entity=entity) for entity in entities))

    def read(self, *entities: p4r.Entity) -> list[p4r.Entity]:
        request = p4r.ReadRequest(device_id=1, entities=entities)
        return [entity for response in self._client.stub.Read(request) for entity in response.entities]

    def push(self, p4info: p4i.P4Info, program_json: str) -> None:
        config = p4r.ForwardingPipelineConfig(p4info=p4info, p4_device_config=program_json.encode())
        self._client.set_config(p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT, config)

    def settle(self) -> None: ...


class LiveProgram(SimpleSwitch):
    """The switch's state over P4Runtime; its packets come and go by interfaces."""

    def __init__(self, running: Process, client: Controller) -> None:
        Target.__init__(self, program())
        self._replication, self._digests, self._packet_ins = [], [], []
        self._process = _Client(client)  # type: ignore[assignment]
        self._running = running
        self.client = client

    def memory_kb(self) -> int:
        """Of the switch's process."""
        status = Path(f"/proc/{self._running.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1])


@contextmanager
def live_program(folder: Path, ports: int, *options: str) -> Iterator[LiveProgram]:
    """Ports 1 to `ports` are s1, s2, ...; their hosts' ends are h1, h2, ..., each with its route."""
    for port in range(1, ports + 1):
        add_veth(f"s{port}", f"h{port}")
    address = f"unix:{folder}/switch"
    arguments = [str(FOLDER / "canopy.json"), "--p4info", str(FOLDER / "canopy.p4info.txtpb")]
    arguments += ["--grpc-server-addr", address, "--cpu-port", str(number("CPU_PORT")), *options]
    for port in range(1, ports + 1):
        arguments += ["-i", f"{port}@s{port}"]
    with process(*arguments) as running, controller(address) as client:
        assert running.ready().startswith("ready")
        client.arbitrate(1)
        made = LiveProgram(running, client)
        install(made, ports=ports)
        for port in range(1, ports + 1):
            route_host(made, port)
        yield made

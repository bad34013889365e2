"""What the switches' processes take: time until they serve P4Runtime with the project's program loaded, and memory."""

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from controller.network import CPU_PORT
from engine.command.programs import module_command
from experiments.bench.figure import BenchError
from experiments.bench.switch.workload import Workload
from experiments.figures.bench import Figure

START_LIMIT_S = 60.0


@contextlib.contextmanager
def running(command: list[str], **options: object) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.terminate()


def _resident_mib(process: int) -> float:
    """Physical memory of a process in MiB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024


def free_port() -> int:
    """A TCP port that nothing listens at."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def embedded(workload: Workload) -> tuple[float, float]:
    """Seconds until `canopy switch` is ready, and its memory in MiB then."""
    reader, writer = os.pipe()
    command = module_command("engine.switch.cli", str(workload.program_json), "--p4info", str(workload.p4info))
    command += ["--grpc-server-addr", "127.0.0.1:0", "--cpu-port", str(CPU_PORT), "--ready-fd", str(writer)]
    start = time.monotonic()
    with open(reader) as ready, running(command, pass_fds=[writer]) as process:
        os.close(writer)
        if not ready.readline():  # ends without a line when the process does
            raise BenchError("the embedded switch ended before it was ready")
        return time.monotonic() - start, _resident_mib(process.pid)


def simple_switch(program: str, workload: Workload) -> tuple[float, float]:
    """The same of simple_switch_grpc, which is ready when its server takes connections."""
    port = free_port()
    command = [program, str(workload.program_json), "--log-level", "off", "--"]
    command += ["--grpc-server-addr", f"127.0.0.1:{port}", "--cpu-port", str(CPU_PORT)]
    start = time.monotonic()
    with running(command) as process:
        while time.monotonic() - start < START_LIMIT_S and process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1.0):
                return time.monotonic() - start, _resident_mib(process.pid)
            time.sleep(0.005)
    raise BenchError("simple_switch_grpc did not start to serve")


def footprint(workload: Workload, bmv2: str | None) -> list[Figure]:
    """Both figures, with simple_switch_grpc's if it is given."""
    seconds, memory = embedded(workload)
    peer_seconds, peer_memory = simple_switch(bmv2, workload) if bmv2 else (None, None)
    peer = "simple_switch_grpc" if bmv2 else None
    return [
        Figure("from start to serving, Canopy's program", seconds, "s", peer=peer, peer_value=peer_seconds),
        Figure("memory then", memory, "MiB", peer=peer, peer_value=peer_memory),
    ]

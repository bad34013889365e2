"""simple_switch_grpc without sockets: it reads packets from files and writes them to files, which is as near as it
comes to the embedded switch in process. Neither waits for the kernel's network then.
"""

import asyncio
import logging
import struct
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from controller.network import CPU_PORT
from experiments.bench.figure import BenchError
from experiments.bench.switch.footprint import free_port, running
from experiments.bench.switch.workload import Workload, configured

_WAIT_S = 4
"""The switch lets pass before it opens its files; it has to be configured by then."""
_PACKETS_PER_S = 60_000
"""Packets in its files for each second that is measured; it takes somewhat less or more."""
_LONGEST_S = 60.0
_POLL_S = 0.01
_MIDDLE = (0.2, 0.8)
"""The part of the output that is timed: not the beginning, nor the end, when queues run empty."""

_FILE_HEADER = struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, 1)
_PACKET_HEADER_BYTES = 16


def from_files(program: str, workload: Workload, seconds: float) -> float:
    """Output packets a second. Raises BenchError."""
    logging.getLogger("finsy").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="canopy-bench-") as name:
        folder = Path(name)
        write_inputs(folder, workload, max(1_000, round(_PACKETS_PER_S * seconds)))
        port = free_port()
        interfaces = [argument for at in workload.ports for argument in ("-i", f"{at}@{folder}/p{at}")]
        command = [
            program,
            *interfaces,
            "--use-files",
            str(_WAIT_S),
            "--device-id",
            "1",
            "--no-p4",
            "--log-level",
            "off",
        ]
        command += ["--", "--grpc-server-addr", f"127.0.0.1:{port}", "--cpu-port", str(CPU_PORT)]

        async def body() -> dict[str, float]:
            return await asyncio.to_thread(_time_outputs, folder, workload)

        with running(command):
            try:
                result = asyncio.run(asyncio.wait_for(configured(workload, f"127.0.0.1:{port}", body), _LONGEST_S))
            except TimeoutError as error:
                raise BenchError(f"{program} did not read its files within {_LONGEST_S:.0f} s") from error
    return result["packets_out_per_s"]


def write_inputs(folder: Path, workload: Workload, packets: int) -> None:
    """A file for each port. The joins come first, by their times."""
    frames: dict[int, list[tuple[int, bytes]]] = {port: [] for port in workload.ports}
    for time_us, (port, frame) in enumerate(workload.joins.items()):
        frames[port].append((time_us, frame))
    frames[workload.input_port] += [(1000 + number, workload.frame) for number in range(packets)]
    for port, timed in frames.items():
        (folder / f"p{port}_in.pcap").write_bytes(_FILE_HEADER + b"".join(_records(timed)))


def _records(timed: Iterable[tuple[int, bytes]]) -> Iterable[bytes]:
    for time_us, frame in timed:
        seconds, microseconds = divmod(time_us, 1_000_000)
        yield struct.pack("=IIII", seconds, microseconds, len(frame), len(frame)) + frame


def _time_outputs(folder: Path, workload: Workload) -> dict[str, float]:
    """Watches the output files grow until they do no more."""
    record = _PACKET_HEADER_BYTES + len(workload.frame)
    paths = [folder / f"p{port}_out.pcap" for port in workload.output_ports]
    samples: list[tuple[float, int]] = []
    start = time.monotonic()
    still_s = 1.0
    while time.monotonic() - start < _LONGEST_S:
        now, size = time.monotonic(), sum(path.stat().st_size for path in paths if path.exists())
        if not samples or size > samples[-1][1]:
            samples.append((now, size))
        elif now - samples[-1][0] > (still_s if size > len(_FILE_HEADER) * len(paths) else _WAIT_S + still_s + 5.0):
            break
        time.sleep(_POLL_S)
    low, high = (samples[-1][1] * share for share in _MIDDLE)
    middle = [(now, size) for now, size in samples if low <= size <= high]
    if len(middle) < 2:
        raise BenchError("simple_switch_grpc wrote too few packets to its files to be timed")
    (first, size), (last, larger) = middle[0], middle[-1]
    return {"packets_out_per_s": (larger - size) / record / (last - first)}

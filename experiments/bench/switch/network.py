"""Measures a switch between veth pairs: a sender that floods one port, and how many packets arrive behind the others.

Runs as a program in a network namespace of its own (`unshare --net`), which takes all interfaces with it when it ends,
however it ends. Prints one JSON object.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import canopy_engine

from controller.network import CPU_PORT
from experiments.bench.switch import runs
from experiments.bench.switch.forwarding import L2, L3
from experiments.bench.switch.replication import REPLICATION
from experiments.bench.switch.workload import Workload, configured, embedded_switch

WORKLOADS = {workload.name: workload for workload in (REPLICATION, L2, L3)}

FIRST_OFFERED_PPS = 8_000.0
OFFERED_STEP = 2.0
REFINEMENTS = (0.7, 0.84, 1.2, 1.4)
"""Input rates that are tried: as fast as the sender can, then each higher by the step than the one before until the
output falls, then some around the best. The best output counts, for a switch that is flooded spends its time on packets
that it drops."""

GRPC_ADDRESS = "127.0.0.1:50051"  # in the namespace, where nothing else listens
AS_SOON_AS_THE_EMBEDDED_SWITCH = ("nice", "-n", "-10")  # the priority that the live switch's thread gives itself
CUT_BYTES = 400  # of a device's gso_max_size: few, of which Linux wants more than a TCP's largest headers
START_TIMEOUT_S = 30.0
JOIN_TIMEOUT_S = 10.0
SETTLE_S = 0.2  # for packets in queues to arrive


def switch_interface(port: int) -> str:
    return f"s{port}"


def host_interface(port: int) -> str:
    return f"h{port}"


class Bed:
    """The veth pairs of a workload, its sender, and the kernel's counts of what arrives behind the output ports.
    `in_runs`: the sender hands several datagrams over at once."""

    def __init__(self, workload: Workload, *, in_runs: bool = False) -> None:
        self.workload = workload
        self._flood = runs.flood if in_runs else canopy_engine.flood
        self._sinks: list[canopy_engine.Sink] = []

    def make_interfaces(self) -> None:
        """A veth pair per port. The hosts' ends are up without addresses: what arrives is counted and thrown away."""
        _ip("link", "set", "lo", "up")
        for port in self.workload.ports:
            _ip("link", "add", switch_interface(port), "type", "veth", "peer", "name", host_interface(port))
            for interface in (switch_interface(port), host_interface(port)):
                # No router solicitations and reports between the measured packets.
                Path(f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6").write_text("1")
                _ip("link", "set", interface, "up")
        with suppress(OSError):  # an older kernel's protocol stack throws it away
            self._sinks = [canopy_engine.Sink(host_interface(port)) for port in self.workload.output_ports]

    def cut(self) -> None:
        """Has the kernel cut what the sender hands over at once, for a switch that would take it for one packet."""
        _ip("link", "set", host_interface(self.workload.input_port), "gso_max_size", str(CUT_BYTES))

    def received(self) -> dict[int, int]:
        """Packets that have arrived at each port's host, by the kernel's count."""
        lines = Path("/proc/self/net/dev").read_text().splitlines()[2:]
        counts = {name.strip(): rest.split() for name, _, rest in (line.partition(":") for line in lines)}
        found = {port: counts[host_interface(port)] for port in self.workload.output_ports}
        size = len(self.workload.frame)
        return {port: runs.packets(int(octets), int(frames), size) for port, (octets, frames, *_) in found.items()}

    def send(self, seconds: float, rate: float | None) -> int:
        """Sends the workload's frame for so long, at `rate` packets/s or as fast as it goes; returns how many."""
        return self._flood(host_interface(self.workload.input_port), self.workload.frame, seconds, rate)

    def join_all(self) -> None:
        """Has every member join, until data reaches all output ports."""
        deadline = time.monotonic() + JOIN_TIMEOUT_S
        while time.monotonic() < deadline:
            for port, frame in self.workload.joins.items():
                canopy_engine.flood(host_interface(port), frame, 0.02, 50.0)
            before = self.received()
            self.send(0.1, 200.0)
            time.sleep(SETTLE_S)
            after = self.received()
            if all(after[port] > before[port] for port in after):
                return
        raise RuntimeError("the switch is configured, but packets do not reach all output ports")

    def rate(self, seconds: float, offered: float | None) -> tuple[float, float]:
        """Packets/s into the switch and out of it."""
        before, start = sum(self.received().values()), time.monotonic()
        sent = self.send(seconds, offered)
        elapsed = time.monotonic() - start
        arrived = sum(self.received().values()) - before
        time.sleep(SETTLE_S)  # what is still queued belongs to no measurement
        return sent / elapsed, arrived / elapsed

    def measure(self, seconds: float) -> dict[str, float]:
        """The best rate of packets that reach the output ports (packets/s), and the input rate at which it was."""
        best = self.rate(seconds, None)
        fastest, offered, last = best[0], FIRST_OFFERED_PPS, 0.0
        rates: list[tuple[float, float]] = []
        while offered < fastest:
            rates.append(self.rate(seconds, offered))
            if rates[-1][1] < last:
                break
            offered, last = offered * OFFERED_STEP, rates[-1][1]
        best = max([best, *rates], key=_output)
        rates = [self.rate(seconds, best[0] * factor) for factor in REFINEMENTS]
        best_in, best_out = max([best, *rates], key=_output)
        return {"packets_out_per_s": best_out, "packets_in_per_s": best_in}


def _output(rate: tuple[float, float]) -> float:
    return rate[1]


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


def measure_embedded(bed: Bed, seconds: float) -> dict[str, float]:
    """The embedded switch on all ports, without link emulation."""
    live = canopy_engine.LiveSwitch(embedded_switch(bed.workload))
    for port in bed.workload.ports:
        live.add_port(port, switch_interface(port))
    live.start()
    try:
        bed.join_all()
        return bed.measure(seconds)
    finally:
        live.stop()


@contextmanager
def bmv2(program: str, workload: Workload) -> Iterator[None]:
    """simple_switch_grpc on all ports, without logging and without a program."""
    interfaces = [argument for port in workload.ports for argument in ("-i", f"{port}@{switch_interface(port)}")]
    command = [
        *AS_SOON_AS_THE_EMBEDDED_SWITCH,
        program,
        *interfaces,
        "--device-id",
        "1",
        "--no-p4",
        "--log-level",
        "off",
        "--",
    ]
    command += ["--grpc-server-addr", GRPC_ADDRESS, "--cpu-port", str(CPU_PORT)]
    with tempfile.TemporaryFile() as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield
        finally:
            process.terminate()


def measure_bmv2(program: str, bed: Bed, seconds: float) -> dict[str, float]:
    async def body() -> dict[str, float]:
        def run() -> dict[str, float]:
            bed.join_all()
            return bed.measure(seconds)

        return await asyncio.to_thread(run)

    bed.cut()
    with bmv2(program, bed.workload):
        steps = START_TIMEOUT_S + JOIN_TIMEOUT_S + 20 * (seconds + 1.0)
        return asyncio.run(asyncio.wait_for(configured(bed.workload, GRPC_ADDRESS, body), steps))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workload", choices=sorted(WORKLOADS), required=True)
    parser.add_argument("--seconds", type=float, required=True, help="how long each rate is tried")
    parser.add_argument("--bmv2", help="the simple_switch_grpc to measure instead of the embedded switch")
    parser.add_argument("--runs", action="store_true", help=f"send {runs.RUN} datagrams at once")
    arguments = parser.parse_args()
    bed = Bed(WORKLOADS[arguments.workload], in_runs=arguments.runs)
    bed.make_interfaces()
    seconds: float = arguments.seconds
    result = measure_bmv2(arguments.bmv2, bed, seconds) if arguments.bmv2 else measure_embedded(bed, seconds)
    json.dump(result, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())

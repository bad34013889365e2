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
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import canopy_engine
import finsy as fy

from engine.bench_program import (
    CPU_PORT,
    MEMBER_PORTS,
    PROGRAM_JSON,
    PROGRAM_P4INFO,
    SOURCE_PORT,
    configure,
    data_frame,
    embedded_switch,
    join_frame,
)

PORTS = (SOURCE_PORT, *MEMBER_PORTS)

OFFERED_PPS: tuple[float | None, ...] = (None, 40_000.0, 20_000.0, 12_000.0, 8_000.0, 6_000.0)
"""Input rates that are tried; None: as fast as the sender can. The best output counts, for a switch that is flooded
spends its time on packets that it drops."""

GRPC_ADDRESS = "127.0.0.1:50051"  # in the namespace, where nothing else listens
AS_SOON_AS_THE_EMBEDDED_SWITCH = ("nice", "-n", "-10")  # the priority that the live switch's thread gives itself
START_TIMEOUT_S = 30.0
JOIN_TIMEOUT_S = 10.0
SETTLE_S = 0.2  # for packets in queues to arrive


def switch_interface(port: int) -> str:
    return f"s{port}"


def host_interface(port: int) -> str:
    return f"h{port}"


def make_interfaces() -> None:
    """A veth pair per port. The hosts' ends are up without addresses: what arrives is counted and thrown away."""
    _ip("link", "set", "lo", "up")
    for port in PORTS:
        _ip("link", "add", switch_interface(port), "type", "veth", "peer", "name", host_interface(port))
        for interface in (switch_interface(port), host_interface(port)):
            # No router solicitations and reports between the measured packets.
            Path(f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6").write_text("1")
            _ip("link", "set", interface, "up")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


def received() -> dict[int, int]:
    """Packets that have arrived at each port's host, by the kernel's count."""
    lines = Path("/proc/self/net/dev").read_text().splitlines()[2:]
    counts = {name.strip(): int(rest.split()[1]) for name, _, rest in (line.partition(":") for line in lines)}
    return {port: counts[host_interface(port)] for port in PORTS}


def members_received() -> int:
    counts = received()
    return sum(counts[port] for port in MEMBER_PORTS)


def join_all() -> None:
    """Has every member join, until data reaches all of them."""
    deadline = time.monotonic() + JOIN_TIMEOUT_S
    while time.monotonic() < deadline:
        for port in MEMBER_PORTS:
            canopy_engine.flood(host_interface(port), join_frame(port), 0.02, 50.0)
        before = received()
        canopy_engine.flood(host_interface(SOURCE_PORT), data_frame(), 0.1, 200.0)
        time.sleep(SETTLE_S)
        after = received()
        if all(after[port] > before[port] for port in MEMBER_PORTS):
            return
    raise RuntimeError("the members have joined, but data does not reach all of them")


def measure(seconds: float) -> dict[str, float]:
    """The best rate of packets that reach the members (packets/s), and the input rate at which it was reached."""
    best = {"packets_out_per_s": 0.0, "packets_in_per_s": 0.0}
    for offered in OFFERED_PPS:
        before, start = members_received(), time.monotonic()
        sent = canopy_engine.flood(host_interface(SOURCE_PORT), data_frame(), seconds, offered)
        elapsed = time.monotonic() - start
        rate = (members_received() - before) / elapsed
        if rate > best["packets_out_per_s"]:
            best = {"packets_out_per_s": rate, "packets_in_per_s": sent / elapsed}
        time.sleep(SETTLE_S)  # what is still queued belongs to no measurement
    return best


def measure_embedded(seconds: float) -> dict[str, float]:
    """The embedded switch on all ports, without link emulation."""
    live = canopy_engine.LiveSwitch(embedded_switch())
    for port in PORTS:
        live.add_port(port, switch_interface(port))
    live.start()
    try:
        join_all()
        return measure(seconds)
    finally:
        live.stop()


@contextmanager
def bmv2(program: str) -> Iterator[None]:
    """simple_switch_grpc on all ports, without logging and without a program."""
    interfaces = [argument for port in PORTS for argument in ("-i", f"{port}@{switch_interface(port)}")]
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


async def _configured(body: Callable[[], Awaitable[dict[str, float]]]) -> dict[str, float]:
    """Configures the switch at GRPC_ADDRESS and measures while the connection lives."""
    result: asyncio.Future[dict[str, float]] = asyncio.get_running_loop().create_future()

    async def ready(switch: fy.Switch) -> None:
        try:
            await configure(switch)
            result.set_result(await body())
        except Exception as error:
            result.set_exception(error)

    options = fy.SwitchOptions(p4info=PROGRAM_P4INFO, p4blob=PROGRAM_JSON, p4force=True, ready_handler=ready)
    switch = fy.Switch("bmv2", GRPC_ADDRESS, options)
    task = asyncio.create_task(switch.run())
    try:
        return await result
    finally:
        task.cancel()


def measure_bmv2(program: str, seconds: float) -> dict[str, float]:
    async def body() -> dict[str, float]:
        def run() -> dict[str, float]:
            join_all()
            return measure(seconds)

        return await asyncio.to_thread(run)

    with bmv2(program):
        steps = START_TIMEOUT_S + JOIN_TIMEOUT_S + len(OFFERED_PPS) * (seconds + 1.0)
        return asyncio.run(asyncio.wait_for(_configured(body), steps))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, required=True, help="how long each rate is tried")
    parser.add_argument("--bmv2", help="the simple_switch_grpc to measure instead of the embedded switch")
    arguments = parser.parse_args()
    make_interfaces()
    seconds: float = arguments.seconds
    result = measure_bmv2(arguments.bmv2, seconds) if arguments.bmv2 else measure_embedded(seconds)
    json.dump(result, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())

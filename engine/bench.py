"""`canopy bench switch`: packets per second of the embedded switch, beside simple_switch_grpc where it is installed.

The P4 program copies 1,000-byte packets of one source to eight members. In process nothing but the data path is
measured, on one core; through AF_PACKET the system calls and the kernel's veth pairs are too.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Annotated

import canopy_engine
import typer
from rich.console import Console
from rich.table import Table

from engine.bench_program import MEMBER_PORTS, PACKET_BYTES, SOURCE_PORT, data_frame, joined_switch

app = typer.Typer(name="bench", help="Benchmarks.", no_args_is_help=True)

BMV2 = "simple_switch_grpc"
IN_PROCESS_TARGET = 300_000  # output packets a second per core
AF_PACKET_TARGET = 60_000  # output packets a second

_CALIBRATION_PACKETS = 2_000
_SETUP_ALLOWANCE_S = 60.0  # interfaces, switch and joins around a measurement through veth pairs


@dataclass(frozen=True)
class Figure:
    """One measured number; `peer_value` is simple_switch_grpc's, where it was measured."""

    name: str
    value: float
    unit: str
    target: float
    peer: str | None = None
    peer_value: float | None = None


class BenchError(Exception):
    """A measurement could not be made; the message says why."""


@app.callback()
def _bench() -> None:
    """Benchmarks."""


@app.command("switch")
def switch_command(
    seconds: Annotated[float, typer.Option(min=0.1, help="How long each rate is tried.")] = 2.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print figures as JSON.")] = False,
) -> None:
    """Packets a second of the embedded switch: in process, and between veth pairs (as root)."""
    notes: list[str] = []
    bmv2 = shutil.which(BMV2)
    if bmv2 is None:
        notes.append(f"{BMV2} is not on PATH: nothing to compare with.")
    try:
        figures = [in_process(seconds)]
        if os.geteuid() == 0:
            figures.append(af_packet(seconds, bmv2))
        else:
            notes.append("Only root may open packet sockets: the measurement between veth pairs was left out.")
    except BenchError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    if as_json:
        print(json.dumps({"figures": [asdict(figure) for figure in figures], "notes": notes}))
    else:
        _print(figures, notes)


def in_process(seconds: float) -> Figure:
    """Output packets per second of one core that does nothing but parse, match, replicate and deparse."""
    switch = joined_switch()
    packet = data_frame()
    calibration = canopy_engine.bench(switch, SOURCE_PORT, packet, _CALIBRATION_PACKETS)
    expected = len(MEMBER_PORTS) * _CALIBRATION_PACKETS
    if calibration["packets_out"] != expected:
        raise BenchError(f"the switch made {calibration['packets_out']:.0f} copies instead of {expected}")
    packets = max(1, round(_CALIBRATION_PACKETS * seconds / calibration["seconds"]))
    result = canopy_engine.bench(switch, SOURCE_PORT, packet, packets)
    rate = result["packets_out"] / result["seconds"]
    return Figure("in process", rate, "output packets/s", IN_PROCESS_TARGET)


def af_packet(seconds: float, bmv2: str | None) -> Figure:
    """Output packets per second between veth pairs, of the embedded switch and of simple_switch_grpc if given."""
    embedded = _in_namespace(seconds, [])
    peer = _in_namespace(seconds, ["--bmv2", bmv2]) if bmv2 else None
    return Figure(
        "AF_PACKET, veth",
        embedded["packets_out_per_s"],
        "output packets/s",
        AF_PACKET_TARGET,
        BMV2 if peer else None,
        peer["packets_out_per_s"] if peer else None,
    )


def _in_namespace(seconds: float, arguments: Iterable[str]) -> dict[str, float]:
    command = ["unshare", "--net", sys.executable, "-m", "engine.bench_network", "--seconds", str(seconds), *arguments]
    timeout = _SETUP_ALLOWANCE_S + 10 * seconds
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchError(f"The measurement between veth pairs failed: {error}") from error
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines() or ["no reason given"]
        raise BenchError(f"The measurement between veth pairs failed: {reason[-1]}")
    result: dict[str, float] = json.loads(done.stdout)
    return result


def _print(figures: Iterable[Figure], notes: Iterable[str]) -> None:
    title = f"Output packets/s, {PACKET_BYTES:,}-byte packets copied 1 to {len(MEMBER_PORTS)}"
    table = Table("", "packets/s", "target", BMV2, "ratio", title=title)
    for column in table.columns[1:]:
        column.justify = "right"
    for figure in figures:
        peer, ratio = "", ""
        if figure.peer_value:
            peer, ratio = f"{figure.peer_value:,.0f}", f"{figure.value / figure.peer_value:.1f}"
        met = "green" if figure.value >= figure.target else "red"
        table.add_row(figure.name, f"[{met}]{figure.value:,.0f}[/]", f"{figure.target:,.0f}", peer, ratio)
    console = Console()
    console.print(table)
    for note in notes:
        console.print(note)


if __name__ == "__main__":
    app()

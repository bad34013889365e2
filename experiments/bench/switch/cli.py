"""`canopy bench switch`: packets a second of the embedded switch, beside simple_switch_grpc where it is installed."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Annotated

import typer

from engine.command.exits import EXIT_FAILED
from engine.command.lines import note
from engine.command.programs import module_command
from experiments.bench.figure import BenchError, show
from experiments.bench.switch.feedback import feedback
from experiments.bench.switch.files import from_files
from experiments.bench.switch.footprint import footprint
from experiments.bench.switch.forwarding import L2, L3
from experiments.bench.switch.in_process import in_process
from experiments.bench.switch.replication import REPLICATION
from experiments.bench.switch.runs import RUN
from experiments.bench.switch.tables import full_tables
from experiments.bench.switch.workload import Workload
from experiments.figures.bench import Figure

app = typer.Typer(name="bench", help="Benchmarks.", no_args_is_help=True)

BMV2 = "simple_switch_grpc"
IN_PROCESS_TARGETS = {REPLICATION.name: 6e6, L2.name: 15e6, L3.name: 8e6}
"""Output packets a second of native code on one core (ours)."""
AF_PACKET_TARGETS = {L2.name: 250_000, L3.name: 250_000}
"""The same between interfaces (ours)."""
RUNS_TARGETS = {REPLICATION.name: 2e6}
"""The same where packets of a flow come and leave together (ours)."""
TIMES_BMV2 = 10.0
"""Of simple_switch_grpc's rate (ours)."""

_SETUP_ALLOWANCE_S = 90.0  # interfaces, switch and joins around a measurement through veth pairs
_RATES = 20  # tried at most, each for `seconds`


@app.callback()
def _bench() -> None:
    """Benchmarks."""


@app.command("switch")
def switch_command(
    seconds: Annotated[float, typer.Option(min=0.1, help="How long each rate is tried.")] = 2.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print figures as JSON.")] = False,
) -> None:
    """Packets a second of the embedded switch, in process and between veth pairs (as root); tables, memory, start."""
    notes: list[str] = []
    bmv2 = shutil.which(BMV2)
    if bmv2 is None:
        notes.append(f"{BMV2} is not on PATH: nothing to compare with.")
    try:
        figures = measure(seconds, bmv2, notes)
    except BenchError as error:
        note(str(error))
        raise typer.Exit(EXIT_FAILED) from error
    show("The embedded switch", figures, as_json=as_json, notes=notes)


def measure(seconds: float, bmv2: str | None, notes: list[str]) -> list[Figure]:
    """All figures; what could not be measured is noted."""
    figures = [without_sockets(workload, seconds, bmv2) for workload in (REPLICATION, L2, L3)]
    figures += [in_process(workload, None, seconds, "interpreter") for workload in (REPLICATION, L2, L3)]
    figures += [*feedback(), *feedback("interpreter")]
    figures += full_tables(seconds)
    if os.geteuid() == 0:
        figures += [af_packet(workload, seconds, bmv2) for workload in (REPLICATION, L2, L3)]
        figures += [af_packet_runs(workload, seconds, bmv2) for workload in (REPLICATION, L2, L3)]
    else:
        notes.append("Only root may open packet sockets: the measurements between veth pairs were left out.")
    return figures + footprint(REPLICATION, bmv2)


def without_sockets(workload: Workload, seconds: float, bmv2: str | None) -> Figure:
    """Output packets per second in process, beside what simple_switch_grpc, if given, makes of files."""
    figure = in_process(workload, IN_PROCESS_TARGETS[workload.name], seconds)
    if bmv2 is None:
        return figure
    peer = from_files(bmv2, workload, seconds)
    return replace(figure, peer=BMV2, peer_value=peer, ratio_target=TIMES_BMV2)


def af_packet(workload: Workload, seconds: float, bmv2: str | None) -> Figure:
    """Output packets per second between veth pairs, of the embedded switch and of simple_switch_grpc if given."""
    return _between_interfaces(workload, "", AF_PACKET_TARGETS, seconds, bmv2, [])


def af_packet_runs(workload: Workload, seconds: float, bmv2: str | None) -> Figure:
    """The same with a sender that hands a run of datagrams over at once."""
    return _between_interfaces(workload, f" {RUN} sent at once,", RUNS_TARGETS, seconds, bmv2, ["--runs"])


def _between_interfaces(
    workload: Workload, how: str, targets: Mapping[str, float], seconds: float, bmv2: str | None, arguments: list[str]
) -> Figure:
    embedded = _in_namespace(workload, seconds, arguments)
    peer = _in_namespace(workload, seconds, [*arguments, "--bmv2", bmv2]) if bmv2 else None
    return Figure(
        f"{workload.title},{how} AF_PACKET",
        embedded["packets_out_per_s"],
        "packets/s",
        target=targets.get(workload.name),
        peer=BMV2,
        peer_value=peer["packets_out_per_s"] if peer else None,
        ratio_target=TIMES_BMV2,
    )


def _in_namespace(workload: Workload, seconds: float, arguments: Iterable[str]) -> dict[str, float]:
    command = ["unshare", "--net", *module_command("experiments.bench.switch.network")]
    command += ["--workload", workload.name, "--seconds", str(seconds), *arguments]
    timeout = _SETUP_ALLOWANCE_S + _RATES * (seconds + 1.0)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BenchError(f"The measurement between veth pairs failed: {error}") from error
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines() or ["no reason given"]
        raise BenchError(f"The measurement between veth pairs failed: {reason[-1]}")
    result: dict[str, float] = json.loads(done.stdout)
    return result


if __name__ == "__main__":
    app()

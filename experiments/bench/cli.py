"""`canopy bench`, and its `sim` (how fast the simulator is, beside what it should reach on two cores), `control`,
`p4runtime`, `seal`, `soak`, `broadcast` and `packet`."""

import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from canopy_engine import Sim
from rich.table import Table

from engine.command.exits import EXIT_FAILED
from engine.command.fail import fail
from engine.command.tables import print_table
from experiments.bench import broadcast as bench_broadcast
from experiments.bench import control as bench_control
from experiments.bench import networks as bench_networks
from experiments.bench import p4runtime as bench_p4runtime
from experiments.bench import packet_time
from experiments.bench import receivers as bench_receivers
from experiments.bench import seal as bench_seal
from experiments.bench import soak as bench_soak
from experiments.bench.figure import BenchError, show
from experiments.bench.page import page_command
from experiments.bench.switch.cli import app
from experiments.figures.bench import Figure
from hosts.wire.manifest import FileError
from topologies.scenario import ScenarioError

__all__ = ["app"]

app.command("page")(page_command)

_RECEIVERS = 10_000
_STREAM_BYTES = 20_000_000
_ROUTES_S = 1e-9
"""A run of this length computes routes, which belong to building the network."""


@app.command("sim")
def sim_command(
    repeat: Annotated[int, typer.Option(min=1, help="Measure so often; the best counts.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print figures as JSON.")] = False,
) -> None:
    """Speed and memory of the simulator."""
    try:
        figures = measure(repeat)
    except RuntimeError as error:
        fail(error, EXIT_FAILED)
    show(f"The simulator on one processor, best of {repeat}", figures, as_json=as_json)


@app.command("control")
def control_command(
    k: Annotated[
        int, typer.Option(min=2, max=32, help="Ports of the fat tree's switches: 32 are 1,280 switches.")
    ] = 32,
    as_json: Annotated[bool, typer.Option("--json", help="Print figures as JSON.")] = False,
) -> None:
    """Processor time and memory of a controller and the switches of a fat tree."""
    try:
        figures = bench_control.measure(k)
    except ScenarioError as error:
        raise typer.BadParameter(str(error)) from None
    show("A controller and its switches, processor time", figures, as_json=as_json)


@app.command("p4runtime")
def p4runtime_command(
    writes: Annotated[int, typer.Option(min=1, help="In a row, one update each.")] = 10_000,
    requests: Annotated[int, typer.Option(min=1, help="Of a client without rights.")] = 100_000,
    large: Annotated[int, typer.Option(min=1, help="Messages of 15 and of 64 MB, each of another such client.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print figures as JSON.")] = False,
) -> None:
    """What the embedded switch's P4Runtime server takes of its primary, and of strangers without TLS. Exit status: 1
    when one is answered that should not be."""
    try:
        figures = bench_p4runtime.measure(writes, requests, large)
    except BenchError as error:
        fail(error, EXIT_FAILED)
    show("The P4Runtime server of a switch with Canopy's program", figures, as_json=as_json)


@app.command("seal")
def seal_command(
    packets: Annotated[int, typer.Option(min=0, help="Packets of strangers to try.")] = 1_000_000,
    repeat: Annotated[int, typer.Option(min=1, help="Measure so often; the best counts.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print figures as JSON.")] = False,
) -> None:
    """What sealing packets costs, and how many of those that strangers forge, replay or mutate pass. Exit status: 1
    when one does."""
    found = bench_seal.measure(packets, repeat)
    if as_json:
        print(json.dumps(asdict(found)))
    else:
        target = f"at least {bench_seal.TARGET_BPS / 1e9:g}"
        print(f"seal {found.seal_bps / 1e9:.1f} Gbit/s, open {found.open_bps / 1e9:.1f} Gbit/s on a core ({target})")
        print(f"accepted: {found.accepted} of {found.tried:,} packets of strangers")
    if found.accepted:
        raise typer.Exit(EXIT_FAILED)


@app.command("soak")
def soak_command(
    minutes: Annotated[float | None, typer.Option(min=0.5, show_default="120; emulated 10")] = None,
    emulate: Annotated[bool, typer.Option("--emulate", help="In real time, on Mininet (needs root).")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print figures as JSON.")] = False,
) -> None:
    """Sealed sessions of all protocols for hours of virtual time, or minutes of real time, with a fault a minute: the
    memory of every process after a quarter of it and at its end. Exit status: 1 when one has grown, or not all have
    gone on to the end."""
    try:
        found = bench_soak.measure((minutes or (10 if emulate else 120)) * 60, is_emulated=emulate)
    except BenchError as error:
        fail(error, EXIT_FAILED)
    if as_json:
        print(json.dumps(asdict(found)))
    else:
        table = Table("process", "MB after a quarter", "at the end", "at most", title=f"{found.seconds / 60:g} minutes")
        for one in found.processes:
            colour = "green" if one.is_flat else "red"
            figures = f"{one.settled_mb:.1f}", f"[{colour}]{one.last_mb:.1f}[/]", f"{one.most_mb:.1f}"
            table.add_row(one.name, *figures)
        print_table(table)
    if not found.is_flat:
        raise typer.Exit(EXIT_FAILED)


@app.command("broadcast")
def broadcast_command(
    megabytes: Annotated[int, typer.Option(min=1, help="Of the file.")] = 1000,
    as_json: Annotated[bool, typer.Option("--json", help="Print figures as JSON.")] = False,
) -> None:
    """A carousel at 1 Gbit/s and a receiver of it that loses 1 %, each on one core, beside flute-alc. Their clock is
    the processor time that they take, so that other programs make none of it late."""
    try:
        figures = bench_broadcast.measure(megabytes)
    except (RuntimeError, FileError) as error:
        fail(error, EXIT_FAILED)
    show(f"A broadcast of {megabytes} MB with WEBRC, on one core", figures, as_json=as_json)


@app.command("packet")
def packet_command(
    megabytes: Annotated[int, typer.Option(min=1, help="Of the file.")] = 300,
    picture: Annotated[Path | None, typer.Option(help="Write a picture, SVG, to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print figures as JSON.")] = False,
) -> None:
    """Where a packet's processor time goes, at the sender and at a receiver: MTCP, RLA and TFMCC over loopback."""
    try:
        found = [one for name in packet_time.PROTOCOLS for one in packet_time.measure(name, megabytes)]
        if picture is not None:
            picture.write_text(packet_time.picture(found), encoding="utf-8")
    except (RuntimeError, OSError) as error:
        fail(error, EXIT_FAILED)
    if as_json:
        print(json.dumps([asdict(one) for one in found]))
        return
    head, *body = packet_time.lines(found)
    table = Table(*head, title=f"{megabytes} MB over loopback, sampled")
    for line in body:
        table.add_row(*line)
    print_table(table)


def measure(repeat: int) -> list[Figure]:
    """All figures. RuntimeError when one cannot be measured."""

    def hops(build: Callable[[], Sim], until: float) -> float:
        return max(packet_hops_per_second(build(), until) for _ in range(repeat))

    speed = "packet-hops/s"
    delivered = max(bench_receivers.deliveries_per_second("mtcp", _STREAM_BYTES) for _ in range(repeat))
    return [
        Figure("10-hop chain of plain links", hops(lambda: bench_networks.chains(1, 10), 30.0), speed, 4e6),
        Figure("10,000 plain links", hops(lambda: bench_networks.chains(909, 10), 0.1), speed, 1e6),
        Figure("chain of nine P4 switches", hops(lambda: bench_networks.p4_chain(9), 5.0), speed, 3e6),
        Figure("into a complete MTCP receiver (Python)", delivered, "deliveries/s", 1e5),
        *(
            Figure(
                f"memory of 10,000 {name}",
                bench_receivers.memory_of_receivers(kind, _RECEIVERS) / 1e6,
                "MB",
                100.0,
                at_most=True,
            )
            for name, kind in (("counting receivers", "sink"), ("MTCP receivers (Python)", "mtcp"))
        ),
    ]


def packet_hops_per_second(sim: Sim, until: float) -> float:
    """Of the process's time on a processor, which other programs do not change, without building the network."""
    sim.run(_ROUTES_S)
    begin, before = time.process_time(), sim.packet_hops
    sim.run(until)
    return (sim.packet_hops - before) / (time.process_time() - begin)

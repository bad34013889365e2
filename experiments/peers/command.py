"""`canopy compare-peers`: the same file, the same network, by Canopy and by the living TFMCC implementations."""

import ctypes
import json
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from engine.command.exits import EXIT_FAILED, SIGNALLED
from engine.command.fail import fail
from engine.command.signals import Interrupted, interruptible
from experiments.peers.contenders import CONTENDERS, Contender
from experiments.peers.network import BOTTLENECK_BPS, QUEUE_BYTES, RECEIVERS
from experiments.peers.transfer import TransferError, Transferred, transfer

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table: means over the runs of one contender, alone or beside a TCP."""

    contender: str
    beside: str | None
    """The TCP's congestion control; None: alone."""
    runs: int
    goodput_bps: float
    filled: float
    tcp_bps: float | None
    share: float | None
    """Goodput over the TCP's."""
    loss: float
    sender_cpu_s: float
    receiver_cpu_s: float


def mean_line(contender: str, beside: str | None, found: Sequence[Transferred]) -> Line:
    """Means. ValueError without runs."""
    if not found:
        raise ValueError("no runs")

    def mean(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    goodput = mean([one.goodput_bps for one in found])
    tcp = [one.tcp_bps for one in found if one.tcp_bps is not None]
    return Line(
        contender,
        beside,
        len(found),
        goodput,
        mean([one.filled for one in found]),
        mean(tcp) if tcp else None,
        goodput / mean(tcp) if tcp and mean(tcp) > 0 else None,
        mean([one.loss for one in found]),
        mean([one.sender_cpu_s for one in found]),
        mean([one.receiver_cpu_s for one in found]),
    )


def missing(contenders: Sequence[Contender]) -> list[str]:
    """What has to be installed for these, and is not."""
    found = [contender.program for contender in contenders if contender.program and not shutil.which(contender.program)]
    for contender in contenders:
        if contender.library:
            try:
                ctypes.CDLL(contender.library)
            except OSError:
                found.append(contender.library)
    return found


@app.command("compare-peers")
def compare_peers(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help=f"Of {', '.join(CONTENDERS)}.", show_default="all")
    ] = None,
    size: Annotated[float, typer.Option(help="The file, in MB.", min=0.1)] = 8.0,
    runs: Annotated[int, typer.Option(help="Of each, alone and beside a TCP.", min=1)] = 3,
    tcp: Annotated[str, typer.Option(help="The TCP's congestion control.")] = "reno",
    switch: Annotated[str, typer.Option(help="embedded or bmv2, as of `canopy emulate`.")] = "embedded",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")] = False,
) -> None:
    """Move a file to 8 receivers behind a bottleneck of 10 Mbps, with Canopy, uftp and NORM, alone and beside a TCP.

    Needs root; uftp and libnorm1 are Debian packages. Exit status: 0 when all transfers came about, 1 when not, 2 for
    bad input.
    """
    unknown = [name for name in names or [] if name not in CONTENDERS]
    if unknown:
        fail(f"compare-peers: no `{unknown[0]}` (there are {', '.join(CONTENDERS)})")
    contenders = [CONTENDERS[name] for name in names or CONTENDERS]
    if os.geteuid() != 0:
        fail("compare-peers needs root")
    if lacking := missing(contenders):
        fail(f"compare-peers: not installed: {', '.join(lacking)}")
    errors = Console(stderr=True)
    found: dict[tuple[str, str | None], list[Transferred]] = defaultdict(list)
    failures = []
    try:
        with interruptible(), tempfile.TemporaryDirectory(prefix="canopy-peers-") as folder:
            file = Path(folder) / "payload.bin"
            file.write_bytes(Random(1).randbytes(int(size * 1e6)))
            # Round by round, so that a change of the machine's load meets all alike.
            for _ in range(runs):
                for contender in contenders:
                    for beside in (None, tcp):
                        try:
                            one = transfer(contender, file, beside, switch, errors.print)
                        except TransferError as error:
                            failures.append(str(error))
                            errors.print(f"canopy: {error}", style="red", markup=False)
                        else:
                            found[contender.name, beside].append(one)
    except Interrupted as interrupt:
        typer.echo("canopy: interrupted", err=True)
        raise typer.Exit(SIGNALLED + interrupt.number) from None
    lines = [mean_line(name, beside, results) for (name, beside), results in found.items()]
    if as_json:
        network = {"bottleneck_bps": BOTTLENECK_BPS, "queue_bytes": QUEUE_BYTES, "receivers": RECEIVERS}
        print(json.dumps({**network, "lines": [asdict(line) for line in lines], "failures": failures}))
    else:
        _print(lines, size)
    if failures:
        raise typer.Exit(EXIT_FAILED)


def _print(lines: Sequence[Line], size: float) -> None:
    title = (
        f"{size:g} MB to {RECEIVERS} receivers over {BOTTLENECK_BPS / 1e6:g} Mbps, {QUEUE_BYTES / 1e3:g} kB of queue"
    )
    table = Table("", "beside", "goodput, Mbps", "link filled", "TCP, Mbps", "share / TCP", "loss", title=title)
    table.add_column("CPU: sender, receiver, s")
    for line in lines:
        table.add_row(
            CONTENDERS[line.contender].title,
            line.beside or "alone",
            f"{line.goodput_bps / 1e6:.2f}",
            f"{line.filled:.1%}",
            "" if line.tcp_bps is None else f"{line.tcp_bps / 1e6:.2f}",
            "" if line.share is None else f"{line.share:.2f}",
            f"{line.loss:.2%}",
            f"{line.sender_cpu_s:.2f}, {line.receiver_cpu_s:.2f}",
        )
    Console().print(table)

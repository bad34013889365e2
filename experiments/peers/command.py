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
from engine.command.lines import complain, visible
from engine.command.signals import Interrupted, interruptible
from engine.command.tables import print_table
from experiments.figures.peers import KeptLine
from experiments.figures.peers import keep as keep_lines
from experiments.lan.namespaces import BedError
from experiments.peers.contenders import CONTENDERS, Contender
from experiments.peers.fast import FAST, Crowd, FastLine, FastTransfer, fast_transfer, median_line
from experiments.peers.network import BOTTLENECK_BPS, QUEUE_BYTES, RECEIVERS
from experiments.peers.transfer import TransferError, Transferred, transfer

SHAPED = ("mtcp", "mtcp-default", "tfmcc", "uftp", "norm")
"""Who is compared behind a bottleneck."""

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
    size: Annotated[
        float | None, typer.Option(help="The file, in MB.", min=0.1, max=1e6, show_default="8; with --fast 1000")
    ] = None,
    runs: Annotated[int, typer.Option(help="Of each, alone and beside a TCP.", min=1)] = 3,
    tcp: Annotated[str, typer.Option(help="The TCP's congestion control.")] = "reno",
    switch: Annotated[str, typer.Option(help="embedded or bmv2, as of `canopy emulate`.")] = "embedded",
    fast: Annotated[bool, typer.Option("--fast", help="At the speed of the machine, without a bottleneck.")] = False,
    receivers: Annotated[int, typer.Option(help="With --fast.", min=1, max=200)] = 1,
    lossy: Annotated[int, typer.Option(help="With --fast: so many receivers lose 1 % of the packets.", min=0)] = 0,
    link: Annotated[
        float, typer.Option(help="With --fast: Mbit/s of each receiver's link; 0: unbounded.", min=0)
    ] = 0.0,
    delay: Annotated[
        float, typer.Option(help="With --fast: ms that a frame is on its way from or to the sender.", min=0)
    ] = 0.0,
    keep: Annotated[bool, typer.Option("--keep", help="With --fast: keep the medians, for the documents.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")] = False,
) -> None:
    """Move a file to 8 receivers behind a bottleneck of 10 Mbps, with Canopy, uftp and NORM, alone and beside a TCP.
    With --fast: as fast as this machine can, over one bridge and without a TCP.

    Needs root; uftp and libnorm1 are Debian packages. Exit status: 0 when all transfers came about, 1 when not, 2 for
    bad input.
    """
    unknown = [name for name in names or [] if name not in CONTENDERS]
    if unknown:
        fail(f"compare-peers: no `{unknown[0]}` (there are {', '.join(CONTENDERS)})")
    contenders = [CONTENDERS[name] for name in names or (FAST if fast else SHAPED)]
    if os.geteuid() != 0:
        fail("compare-peers needs root")
    lacking = missing(contenders)
    lacking += [program for program in ("nft", "ethtool") if lossy and not shutil.which(program)]
    if lacking:
        fail(f"compare-peers: not installed: {', '.join(lacking)}")
    megabytes = size or (1000.0 if fast else 8.0)
    if fast:
        if lossy > receivers:
            fail(f"compare-peers: {lossy} lossy receivers of {receivers}")
        if (link or delay) and keep:
            fail("compare-peers: --link and --delay, or --keep, not both")
        crowd = Crowd(receivers, lossy, link * 1e6, delay / 1e3)
        _compare_fast(contenders, megabytes, crowd, runs, as_json=as_json, kept=keep)
        return
    errors = Console(stderr=True)
    found: dict[tuple[str, str | None], list[Transferred]] = defaultdict(list)
    failures = []
    try:
        with interruptible(), tempfile.TemporaryDirectory(prefix="canopy-peers-") as folder:
            file = _payload(Path(folder), megabytes)
            # Round by round, so that a change of the machine's load meets all alike.
            for _ in range(runs):
                for contender in contenders:
                    for beside in (None, tcp):
                        try:
                            one = transfer(contender, file, beside, switch, errors.print)
                        except TransferError as error:
                            failures.append(str(error))
                            errors.print(visible(f"canopy: {error}"), style="red", markup=False)
                        else:
                            found[contender.name, beside].append(one)
    except Interrupted as interrupt:
        fail("interrupted", SIGNALLED + interrupt.number)
    lines = [mean_line(name, beside, results) for (name, beside), results in found.items()]
    if as_json:
        network = {"bottleneck_bps": BOTTLENECK_BPS, "queue_bytes": QUEUE_BYTES, "receivers": RECEIVERS}
        print(json.dumps({**network, "lines": [asdict(line) for line in lines], "failures": failures}))
    else:
        _print(lines, megabytes)
    if failures:
        raise typer.Exit(EXIT_FAILED)


def _payload(folder: Path, megabytes: float) -> Path:
    """The file that is moved. Python makes no more random bytes than 268 million at once."""
    path, content = folder / "payload.bin", Random(1)
    with path.open("wb") as file:
        for _ in range(int(megabytes)):
            file.write(content.randbytes(10**6))
        file.write(content.randbytes(int(megabytes % 1 * 1e6)))
    return path


def _compare_fast(
    contenders: Sequence[Contender], megabytes: float, crowd: Crowd, runs: int, *, as_json: bool, kept: bool
) -> None:
    found: dict[str, list[FastTransfer]] = defaultdict(list)
    failures = []
    try:
        with interruptible(), tempfile.TemporaryDirectory(prefix="canopy-fast-") as folder:
            file = _payload(Path(folder), megabytes)
            for _ in range(runs):  # round by round, as above
                for contender in contenders:
                    try:
                        found[contender.name].append(fast_transfer(contender, file, crowd))
                    except (TransferError, BedError) as error:
                        failures.append(str(error))
                        complain(error)
    except Interrupted as interrupt:
        fail("interrupted", SIGNALLED + interrupt.number)
    lines = [median_line(name, crowd.receivers, results) for name, results in found.items() if results]
    load = os.getloadavg()[0]
    if kept:
        keep_lines([_kept(line, crowd, megabytes, load) for line in lines])
    if as_json:
        lines_json = [asdict(line) for line in lines]
        print(json.dumps({"megabytes": megabytes, "load": load, "lines": lines_json, "failures": failures}))
    else:
        loss = f", 1 % loss at {crowd.lossy}" if crowd.lossy else ""
        links = f"links of {crowd.link_bps / 1e6:g} Mbit/s" if crowd.link_bps else "unshaped"
        delay = f", {crowd.delay_s * 1e3:g} ms each way" if crowd.delay_s else ""
        title = f"{megabytes:g} MB to {crowd.receivers}{loss}, {links}{delay}, medians of {runs}"
        table = Table("", "goodput, Mbps", "start to end, s", "CPU: sender, receiver, s", "memory, MB", title=title)
        for line in lines:
            cpu = f"{line.sender_cpu_s:.2f}, {line.receiver_cpu_s:.2f}"
            memory = f"{line.sender_peak_bytes / 1e6:.0f}, {line.receiver_peak_bytes / 1e6:.0f}"
            title = CONTENDERS[line.contender].title
            table.add_row(title, f"{line.goodput_bps / 1e6:.0f}", f"{line.whole_s:.2f}", cpu, memory)
        print_table(table)
    if failures:
        raise typer.Exit(EXIT_FAILED)


def _kept(line: FastLine, crowd: Crowd, megabytes: float, load: float) -> KeptLine:
    contender = CONTENDERS[line.contender]
    return KeptLine(
        contender=line.contender,
        title=contender.title,
        is_ours=not contender.program and not contender.library,
        receivers=crowd.receivers,
        lossy=crowd.lossy,
        megabytes=megabytes,
        runs=line.runs,
        goodput_bps=round(line.goodput_bps),
        sender_cpu_s=round(line.sender_cpu_s, 2),
        load=round(load, 2),
    )


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
    print_table(table)

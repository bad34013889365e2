"""One WEBRC session over one switch, whoever answers the joins; and what its receivers measured."""

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from engine.command.programs import module_command
from experiments.joins.bed import Bed
from topologies.emulation.child import Child, ChildError, stop_all
from topologies.emulation.kernel import dying_with_parent
from topologies.emulation.session_run import ENDLESS_INPUT, stream_command
from topologies.results.run_folder import read_series

RECEIVERS: Final = ("r1", "r2", "r3", "r4")
RATE_BPS: Final = 2e6
"""Of each receiver's link."""
QUEUE_BYTES: Final = 100_000
"""0.4 s of it, as Fig. 7's."""
PARAMETERS: Final = {"session_rate_bps": 6e6}
GROUP, PORT = "232.6.0.0", 5000
PACKET_BITS: Final = 8 * 1024
UP_S: Final = 60.0
"""What an emulated network may take to come up."""


class CompareError(Exception):
    """A run did not come about; one line for the user."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The receivers' means over the last half of a run."""

    mrtt_s: float
    """From the call that joins a wave to the wave's first packet."""
    used: float
    """Of the receivers' links."""
    wasted: float
    """Of the packets that came: those of groups that had been left."""


def over_bridge(seconds: float, *, fast_leave: bool) -> Measured:
    """Around a Linux bridge. BedError, CompareError."""
    with (
        tempfile.TemporaryDirectory(prefix="canopy-joins-") as folder,
        Bed(RECEIVERS, RATE_BPS, QUEUE_BYTES, fast_leave=fast_leave) as bed,
    ):
        common = ["--protocol", "webrc", "--group", GROUP, "--port", str(PORT), "--quiet"]
        for name, value in PARAMETERS.items():
            common += ["--set", f"{name}={value}"]
        traces = {name: Path(folder) / f"{name}.jsonl" for name in RECEIVERS}
        options = ["--source", bed.addresses[bed.sender], "-o", os.devnull]
        commands = {
            name: stream_command("recv", *common, *options, "--trace", str(trace)) for name, trace in traces.items()
        }
        commands[bed.sender] = stream_command("send", *common, str(ENDLESS_INPUT))
        run_for(seconds, {name: bed.command(name, *command) for name, command in commands.items()}, Path(folder))
        return measure(list(traces.values()))


def run_for(seconds: float, commands: Mapping[str, Sequence[str]], logs: Path) -> None:
    """Run programs for so long, started one after the other and stopped together, whatever comes between.

    CompareError when one cannot be run or ends by itself."""
    programs: list[Child] = []
    try:
        for name, command in commands.items():
            programs.append(Child(name, command, logs / f"{name}.log"))
        time.sleep(seconds)
        if ended := [program for program in programs if program.returncode is not None]:
            raise CompareError(f"a program ended early: {ended[0].name}: {ended[0].last_words()}")
    except ChildError as error:
        raise CompareError(str(error)) from None
    finally:
        stop_all(programs)


def over_switch(seconds: float, *, announced: bool) -> Measured:
    """Around an emulated P4 switch. `announced`: it has the groups beforehand; else the controller answers joins."""
    with tempfile.TemporaryDirectory(prefix="canopy-joins-") as folder:
        scenario, out = Path(folder) / "joins.yaml", Path(folder) / "run"
        scenario.write_text(yaml.safe_dump(document(seconds, announced=announced), sort_keys=False), encoding="utf-8")
        command = module_command("topologies.cli", "emulate", str(scenario), "--json", "--no-report", "--out", str(out))
        environment = {**os.environ, "CANOPY_STATE_ROOT": str(Path(folder) / "state")}
        try:
            done = subprocess.run(
                dying_with_parent(command),
                check=False,
                capture_output=True,
                text=True,
                timeout=seconds + 3 * UP_S,
                env=environment,
            )
        except subprocess.TimeoutExpired as error:
            raise CompareError(f"the network was not done within {error.timeout:g} s") from None
        traces = [out / "series" / f"session-1-{name}.jsonl" for name in RECEIVERS]
        if not all(trace.exists() for trace in traces):
            raise CompareError(f"the network did not come up: {done.stderr.strip()[-300:]}")
        return measure(traces)


def document(seconds: float, *, announced: bool) -> dict[str, Any]:
    """The scenario with a P4 switch in place of the bridge."""
    queue = {"kind": "droptail", "bytes": f"{QUEUE_BYTES} B"}
    hosts = {name: {"kind": "host"} for name in ("sender", *RECEIVERS)}
    tails = [{"between": ["s1", name], "rate": f"{RATE_BPS:g} bps", "queue": queue} for name in RECEIVERS]
    session = {
        "id": 1,
        "protocol": "webrc",
        "sender": "sender",
        "group": GROUP,
        "port": PORT,
        "announced": announced,
        "realtime": True,
        "receivers": list(RECEIVERS),
        "parameters": dict(PARAMETERS),
    }
    return {
        "name": "joins",
        "duration": f"{seconds:g} s",
        "nodes": {"s1": {"kind": "p4"}, **hosts},
        "links": [{"between": ["sender", "s1"], "rate": "100 Mbps"}, *tails],
        "sessions": [session],
    }


def measure(traces: Sequence[Path]) -> Measured:
    """From the receivers' trace files. CompareError when one says nothing of the last half."""
    mrtts, used, wasted = [], [], []
    for trace in traces:
        rows = [row for row in read_series(trace) if "mrtt_s" in row]
        rows = [row for row in rows if row["t"] >= rows[-1]["t"] / 2 and row["mrtt_s"] is not None]
        if len(rows) < 2:
            raise CompareError(f"{trace.stem} heard nothing")
        first, last = rows[0], rows[-1]
        packets, gone = (_grown(first, last, name) for name in ("data_packets", "wasted_packets"))
        mrtts.append(sum(row["mrtt_s"] for row in rows) / len(rows))
        used.append(packets * PACKET_BITS / (last["t"] - first["t"]) / RATE_BPS)
        wasted.append(gone / (packets + gone) if packets + gone else 0.0)
    return Measured(*(sum(values) / len(values) for values in (mrtts, used, wasted)))


def _grown(first: Mapping[str, Any], last: Mapping[str, Any], name: str) -> int:
    return int(last[name] - first[name])

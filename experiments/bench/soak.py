"""`canopy bench soak`: sealed sessions of all protocols for a long time, while links, switches and the controller fail,
and whether any process's memory grows meanwhile. Simulated, or emulated in real time."""

import os
import subprocess
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

import yaml

from engine.command.programs import module_command
from experiments.bench.figure import BenchError
from hosts import protocols
from topologies.results.run_folder import RunFolder, RunFolderError
from topologies.results.summary import read_summary

STREAMS: Final = [name for name in protocols.names() if protocols.get(name).carries_realtime]
RELIABLE: Final = [name for name in protocols.names() if name not in STREAMS]
"""Without an end in a simulation; in an emulation a file as long as the links take for it."""
_RATE_BPS: Final = {True: 1e6, False: 200e3}
"""Of each receiver's link, emulated and simulated (ours: a simulation has to get through hours)."""
_FAULTS_S: Final = 60.0
"""One of three kinds in turn, so often."""
_LEAD_S: Final = 5.0
_POLL_S: Final = 1.0
SETTLED: Final = 0.25
"""The part of a run after which caches are full, and buffers have been used."""
GROWTH: Final = 0.05
LEAST_MB: Final = 3.0
"""Memory that has not grown by more than the one or the other from then on is flat (ours)."""
_NAME: Final = "soak"
_TRACE_S: Final = 10.0
"""From one row of a simulated trace to the next."""
_TO_THE_END: Final = 0.9
"""Whose last data were sent before that part of the time has ended early (ours)."""


@dataclass(frozen=True, slots=True)
class Memory:
    """A process that was there to the end, or nearly."""

    name: str
    settled_mb: float
    """Resident, after a quarter of the time."""
    last_mb: float
    """In the last tenth; both are medians."""
    most_mb: float

    @property
    def is_flat(self) -> bool:
        """Whether it has not grown."""
        return self.last_mb - self.settled_mb <= max(LEAST_MB, GROWTH * self.settled_mb)


@dataclass(frozen=True, slots=True)
class Soak:
    """One run."""

    seconds: float
    """Of the sessions' time."""
    took_s: float
    processes: list[Memory]

    @property
    def is_flat(self) -> bool:
        """Whether no process's memory has grown."""
        return all(one.is_flat for one in self.processes)


def measure(seconds: float, *, is_emulated: bool) -> Soak:
    """Run for so long. BenchError when it does not come about."""
    with tempfile.TemporaryDirectory(prefix="canopy-soak-") as place:
        path = Path(place) / "soak.yaml"
        path.write_text(yaml.safe_dump(document(seconds, is_emulated=is_emulated)), encoding="utf-8")
        options = ("--out", str(Path(place) / "run"), "--no-report", "--quiet", "--json")
        command = module_command("topologies.cli", "emulate" if is_emulated else "simulate", str(path), *options)
        with (Path(place) / "said").open("w+") as said:
            begin = time.monotonic()
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
            try:
                series = _watch(process)
            finally:
                process.terminate()
                process.wait()
            took = time.monotonic() - begin
            said.seek(0)
            words = said.read().strip()[-200:]
        if process.returncode not in (0, 1):  # files that are not through are no fault here
            raise BenchError(f"the run ended with status {process.returncode}: {words}")
        try:
            early = ended_early(read_summary(RunFolder(Path(place) / "run")), seconds)
        except RunFolderError:
            raise BenchError(f"the run came to no result: {words}") from None
        if early:
            raise BenchError(f"not all went on to the end: {'; '.join(early)}")
    return Soak(seconds, took, processes(series))


def ended_early(summary: Mapping[str, Any], seconds: float) -> list[str]:
    """What was over before its time, in words: then nobody has seen whether its memory grows. A session's last data are
    known to within a row of its trace."""
    found = []
    if summary["outcome"] != "time limit" or summary["duration_s"] < _TO_THE_END * seconds:
        found.append(f"the run was {summary['outcome']} after {summary['duration_s']:g} s of {seconds:g}")
    for session in summary["sessions"]:
        name, until = session["protocol"], session["sending_until"]
        if until is None or until < _TO_THE_END * seconds - _TRACE_S:
            found.append(f"{name} sent until {until or 0:g} s ({session['detail'] or session['state']})")
        gone = set(session["dropped"])
        if name in STREAMS:
            gone |= {one["host"] for one in session["receivers"] if not one["complete"]}
        found += [f"{host} did not stay" for host in sorted(gone)]
    return found


def document(seconds: float, *, is_emulated: bool) -> dict[str, object]:
    """The scenario."""
    nodes: dict[str, object] = {"s1": {"kind": "p4"}, "s2": {"kind": "p4"}}
    links: list[dict[str, object]] = [{"between": ["s1", "s2"], "rate": "100 Mbps", "delay": "2 ms"}]
    sessions = []
    rate = _RATE_BPS[is_emulated]
    for number, protocol in enumerate((*RELIABLE, *STREAMS), 1):
        sender, *receivers = (f"{protocol}_{end}" for end in ("s", "r1", "r2"))
        nodes |= {host: {"kind": "host"} for host in (sender, *receivers)}
        links.append({"between": [sender, "s1"], "rate": "100 Mbps", "delay": "1 ms"})
        for host in receivers:
            queue = {"kind": "droptail", "packets": 20}
            links.append({"between": [host, "s2"], "rate": f"{rate:.0f} bps", "delay": "5 ms", "queue": queue})
        content: dict[str, object] = {"realtime": True}
        if protocol in RELIABLE:
            content = {"size": f"{rate / 8 * seconds:.0f} B"} if is_emulated else {"endless": True}
        session = {"id": number, "protocol": protocol, "sender": sender, "group": f"239.7.{number}.1"}
        session |= {"port": 5000 + number, "membership": "any-source", "security": "group", "receivers": receivers}
        if protocol == "webrc":
            session["parameters"] = {"session_rate_bps": rate}
        sessions.append(session | content)
    faults = list(_faults(seconds))
    more = {"faults": faults} if faults else {}
    length = {"name": _NAME, "duration": f"{seconds:g} s"}
    return {
        **length,
        "nodes": nodes,
        "links": links,
        "sessions": sessions,
        **more,
        "simulation": {"trace": f"{_TRACE_S:g} s"},
    }


def _faults(seconds: float) -> Iterator[dict[str, object]]:
    kinds: Sequence[dict[str, object]] = (
        {"kind": "link-down", "link": ["s1", "s2"], "duration": "1 s"},
        {"kind": "controller-restart", "outage": "1 s"},
        {"kind": "switch-restart", "switch": "s2"},
    )
    for number in range(1, int((seconds - _LEAD_S) // _FAULTS_S) + 1):
        yield {**kinds[number % len(kinds)], "at": f"{number * _FAULTS_S:g} s"}


def _watch(process: subprocess.Popen[bytes]) -> dict[str, list[tuple[float, float]]]:
    """Resident memory of it and all below it by their names, (seconds, MB), until it ends."""
    series: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    begin = time.monotonic()
    while process.poll() is None:
        for pid in _family(process.pid):
            try:
                name, memory = _name(pid), _resident_mb(pid)
            except (OSError, ValueError):
                continue  # it has just ended
            series[f"{name} {pid}"].append((time.monotonic() - begin, memory))
        time.sleep(_POLL_S)
    return dict(series)


def _family(root: int) -> set[int]:
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path(f"/proc/{entry}/stat").read_text(encoding="latin-1").rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry)] = int(fields[1])
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def _resident_mb(pid: int) -> float:
    """ValueError for what has no memory any more."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise ValueError


def _name(pid: int) -> str:
    """What a program of ours is, and of which protocol or switch; else the program's name."""
    words = [word.decode(errors="replace") for word in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]
    if "-m" not in words:
        return Path(words[0]).name
    module = words[words.index("-m") + 1]
    after = words[words.index("-m") + 2 :]
    verb = after[0] if after and not after[0].startswith("-") and "/" not in after[0] else ""
    which = [after[after.index(option) + 1] for option in ("--protocol", "--device-id") if option in after]
    return " ".join(one for one in (module, verb, *which) if one)


def processes(series: Mapping[str, Sequence[tuple[float, float]]]) -> list[Memory]:
    """Of those that were there from a quarter of the time to its last tenth; without their process ids."""
    end = max((rows[-1][0] for rows in series.values()), default=0.0)
    found = []
    for name, rows in series.items():
        settled = [memory for at, memory in rows if SETTLED * end <= at <= (SETTLED + 0.1) * end]
        last = [memory for at, memory in rows if at >= 0.9 * end]
        if settled and last and rows[0][0] <= SETTLED * end:
            most = max(memory for _, memory in rows)
            found.append(Memory(name.rpartition(" ")[0], median(settled), median(last), most))
    return sorted(found, key=lambda one: one.name)

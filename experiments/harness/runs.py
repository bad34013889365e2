"""Runs of scenarios as processes of their own: `canopy simulate` and `canopy emulate`, several at a time."""

import contextlib
import json
import subprocess
import tempfile
import threading
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, TypeVar

import yaml

from engine.command.programs import module_command
from topologies.emulation.kernel import dying_with_parent
from topologies.results.run_folder import RunFolder, read_series

World: TypeAlias = Literal["sim", "emu", "lan", "formula"]
"""`lan`: Linux bridges between network namespaces (experiments/lan). `formula`: the row's measure computes by itself,
from the document and the seed; nothing is run."""
IN_REAL_TIME: Final[Collection[World]] = ("emu", "lan")
"""As root; and one at a time, so that what is measured is not the machine."""
ALWAYS_ALONE: Final[Collection[World]] = {"lan"}
"""Even for a quick look: at up to 100 Mbps it takes the machine."""
_COMMANDS: Mapping[World, Sequence[str]] = {
    "sim": ("topologies.cli", "simulate", "--no-report"),
    "emu": ("topologies.cli", "emulate", "--no-report"),
    "lan": ("experiments.lan.program",),
}
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""libyaml's where there is one: networks may have thousands of links."""
_FINISHED = (0, 1)
"""Exit statuses that leave results; 1 says that not everybody has a whole file, which is no concern of a rate's."""
_LAST_WORDS = 400
"""Characters of a failed program's output that are shown."""

Job = TypeVar("Job")
Result = TypeVar("Result")


class RunError(Exception):
    """A run ended without results; one line for the user."""


@dataclass(frozen=True, slots=True)
class Run:
    """A scenario, as its file would have it, in one of the two worlds; or what a formula is computed for."""

    document: Mapping[str, Any]
    seed: int
    world: World = "sim"


@dataclass(frozen=True, slots=True)
class Finished:
    """What a run left."""

    run: Run
    summary: Mapping[str, Any]
    folder: RunFolder

    def series(self, name: str) -> list[dict[str, Any]]:
        """Rows of one time series, by its file's name without ending; empty when it was not written."""
        return read_series(self.folder.series / f"{name}.jsonl")


class Programs:
    """The running programs, so that all of them can be ended. They do not outlive this one, however it ends."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._is_closed = False

    def run(self, command: Sequence[str]) -> tuple[int, str, str]:
        """Exit status and output of a program. RunError when programs are not wanted any more."""
        with self._lock:
            if self._is_closed:
                raise RunError("interrupted")
            program = subprocess.Popen(
                dying_with_parent(command), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            self._running.add(program)
        try:
            output, errors = program.communicate()
        finally:
            with self._lock:
                self._running.discard(program)
        return program.returncode, output, errors

    def close(self) -> None:
        """End all that run, and start no more."""
        with self._lock:
            self._is_closed = True
            for program in self._running:
                with contextlib.suppress(OSError):
                    program.terminate()


def scenario_text(document: Mapping[str, Any]) -> str:
    """A scenario's file: its nodes in their order, which gives them their addresses."""
    return str(yaml.dump(dict(document), Dumper=_DUMPER, sort_keys=False))


def execute(run: Run, programs: Programs, measure: Callable[[Finished], Result]) -> Result:
    """Run a scenario in a folder that is gone afterwards, and measure. RunError when it gives no results."""
    if run.world == "formula":
        return measure(Finished(run, {}, RunFolder(Path())))
    with tempfile.TemporaryDirectory(prefix="canopy-run-") as scratch:
        scenario = Path(scratch) / "scenario.yaml"
        scenario.write_text(scenario_text(run.document), encoding="utf-8")
        folder = RunFolder(Path(scratch) / "run")
        command = module_command(*_COMMANDS[run.world], str(scenario))
        command += ["--out", str(folder.path), "--seed", str(run.seed), "--json"]
        status, output, errors = programs.run(command)
        try:
            summary = json.loads(folder.summary.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            summary = None
        if status not in _FINISHED or summary is None:
            words = (errors or output).strip().replace(str(scenario), "scenario")
            raise RunError(words[-_LAST_WORDS:] or f"{' '.join(_COMMANDS[run.world])} ended with status {status}")
        finished = Finished(run, summary, folder)
        if run.world == "emu" and (death := _death(finished)):
            raise RunError(death)
        try:
            return measure(finished)
        except ValueError as error:
            raise RunError(str(error)) from error


def _death(run: Finished) -> str:
    """Who ended in the middle of an emulation though the scenario does not say so; empty when nobody did.

    What such a run leaves looks whole: traces end early, and what died of the network was started again. Of a session
    with a file it is nothing new that not everybody has it."""
    for session in run.summary["sessions"]:
        for receiver in session["receivers"]:
            if not session["sha256"] and receiver["expected"] and not receiver["complete"]:
                return f"session {session['id']}: {receiver['host']}: {receiver['detail']}"
    deaths = (f"{row['subject']} died at {row['t']:g} s" for row in run.series("events") if row["kind"] == "died")
    return next(deaths, "")


def in_parallel(
    jobs: Sequence[Job], work: Callable[[Job, Programs], Result], parallel: int
) -> Generator[tuple[Job, Result | RunError], None, None]:
    """Each job with its result, in the order in which they end, and of the jobs where they end together.
    Closing it ends the programs too.
    """
    programs = Programs()
    waiting: dict[Future[Result], Job] = {}
    with ThreadPoolExecutor(max_workers=max(parallel, 1)) as pool:
        try:
            waiting = {pool.submit(work, job, programs): job for job in jobs}
            while waiting:
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                for future in [future for future in waiting if future in done]:
                    job = waiting.pop(future)
                    try:
                        result: Result | RunError = future.result()
                    except RunError as error:
                        result = error
                    yield job, result
        finally:
            for future in waiting:
                future.cancel()
            programs.close()

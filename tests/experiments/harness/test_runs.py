import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from experiments.harness.runs import Finished, Programs, Run, RunError, execute, in_parallel
from tests.experiments.networks import small
from tests.waiting import wait_for
from topologies.emulation.kernel import process_start_time
from topologies.results.run_folder import RunFolder


def sink_bytes(run: Finished) -> float:
    return float(run.series("flow-0-sink")[-1]["received_bytes"])


def test_a_run_is_a_process_of_its_own_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert execute(Run(small(), 1), Programs(), sink_bytes) == pytest.approx(250_000, rel=0.02)
    assert list(tmp_path.iterdir()) == []


def test_a_scenario_that_cannot_be_run_is_told_in_its_own_words() -> None:
    with pytest.raises(RunError, match=r"scenario:.* traffic\[0\].rate: must be above zero"):
        execute(Run(small(rate="0 bps"), 1), Programs(), sink_bytes)


def test_a_measure_that_finds_nothing_is_a_failed_run() -> None:
    def measure(run: Finished) -> float:
        raise ValueError("nothing there")

    with pytest.raises(RunError, match="nothing there"):
        execute(Run(small(), 1), Programs(), measure)


class Emulated(Programs):
    """Leaves what an emulation of a stream without end does, and ends with status 1."""

    def __init__(self, detail: str, events: Sequence[Mapping[str, object]] = (), sha256: str = "") -> None:
        super().__init__()
        self._events = events
        receiver = {"host": "r1", "expected": True, "complete": not detail, "detail": detail}
        gone = {"host": "r2", "expected": False, "complete": False, "detail": "left"}
        self._summary = {"sessions": [{"id": 7, "sha256": sha256, "receivers": [receiver, gone]}], "flows": []}

    def run(self, command: Sequence[str]) -> tuple[int, str, str]:
        folder = RunFolder(Path(command[command.index("--out") + 1]))
        folder.series.mkdir(parents=True)
        folder.summary.write_text(json.dumps(self._summary))
        (folder.series / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in self._events))
        return 1, "", ""


def test_an_emulation_in_which_something_died_is_a_failed_run() -> None:
    """A rate up to a receiver's death is none of the run, and nor is one through a switch that was away."""
    run = Run(small(), 1, "emu")
    assert execute(run, Emulated(""), lambda finished: "measured") == "measured"
    with pytest.raises(RunError, match=r"session 7: r1: killed by signal 9"):
        execute(run, Emulated("killed by signal 9"), lambda finished: "measured")
    with pytest.raises(RunError, match=r"s1 died at 3.5 s"):
        execute(run, Emulated("", [{"t": 3.5, "kind": "died", "subject": "s1"}]), lambda finished: "measured")
    # Faults of the scenario are no failures, and a file that did not come in time is no concern of a rate's.
    fault = {"t": 3.5, "kind": "restart switch", "subject": "s1"}
    assert execute(run, Emulated("", [fault]), lambda finished: "measured") == "measured"
    assert execute(run, Emulated("still receiving", sha256="ab"), lambda finished: "measured") == "measured"


def test_jobs_run_side_by_side_and_one_failure_is_one_result() -> None:
    def work(job: int, programs: Programs) -> int:
        if job == 2:
            raise RunError("two")
        return programs.run(["sh", "-c", f"exit {job}"])[0]

    results = dict(in_parallel([1, 2, 3], work, 2))
    assert (results[1], results[3], str(results[2])) == (1, 3, "two")


def test_whoever_stops_listening_ends_the_programs() -> None:
    def work(job: str, programs: Programs) -> int:
        return programs.run(["sleep", job])[0]

    begin = time.monotonic()
    jobs = in_parallel(["0", "600", "600"], work, 2)
    assert next(jobs) == ("0", 0)
    jobs.close()
    assert time.monotonic() - begin < 60


def test_a_killed_parent_leaves_no_program_behind(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    command = ["sh", "-c", f"echo $$ > {told}.new; mv {told}.new {told}; exec sleep 600"]
    parent = f"from experiments.harness.runs import Programs; Programs().run({command})"
    with subprocess.Popen([sys.executable, "-c", parent]) as process:
        wait_for(told.exists, "it runs")
        process.kill()
    program = int(told.read_text())
    wait_for(lambda: process_start_time(program) is None, "it is gone")

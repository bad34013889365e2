import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments.runs import Finished, Programs, Run, RunError, execute, in_parallel
from tests.experiments.networks import small
from topologies.emulation.kernel import process_start_time


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
    deadline = time.monotonic() + 60
    parent = f"from experiments.runs import Programs; Programs().run({command})"
    with subprocess.Popen([sys.executable, "-c", parent]) as process:
        while not told.exists() and time.monotonic() < deadline:
            time.sleep(0.01)  # another process's progress
        process.kill()
    program = int(told.read_text())
    while process_start_time(program) is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process_start_time(program) is None

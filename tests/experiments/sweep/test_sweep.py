import os
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from engine.command.assemble import build
from experiments.harness.jobs import Job, JobsError, Metrics
from experiments.harness.runs import Finished, Run, RunError
from experiments.sweep.sweep import grid, metrics, run_sweep
from experiments.sweep.table import make_table
from tests.experiments.networks import small
from tests.waiting import wait_for
from topologies.results.run_folder import RunFolder
from topologies.scenario import Scenario, parse_scenario
from topologies.scenario.settings import Setting, SettingError

LOSSES = Setting("links.core.loss", (0.0, 0.5))


def scenario(**changes: object) -> Scenario:
    return parse_scenario(yaml.safe_dump(small() | changes, sort_keys=False))


def quiet(done: int, total: int) -> None:
    pass


class FakeRuns:
    """Notes which points were run; fails for some seeds, or is interrupted."""

    def __init__(self, failing: Sequence[int] = (), interrupted_after: int | None = None) -> None:
        self.run: list[Job] = []
        self._failing = failing
        self._left = interrupted_after

    def __call__(self, jobs: Sequence[Job]) -> Generator[tuple[Job, Metrics | RunError], None, None]:
        for job in jobs:
            if self._left is not None and len(self.run) == self._left:
                raise KeyboardInterrupt
            self.run.append(job)
            failed = job.run.seed in self._failing
            yield job, RunError("unlucky") if failed else {"goodput_bps": job.run.seed * 1e6}


def test_a_grid_has_every_combination_with_every_seed() -> None:
    points = grid(scenario(), Path(), [LOSSES, Setting("duration", ("1 s", "2 s", "3 s"))], 4)
    assert len(points) == len({point.key for point in points}) == 24
    assert points[4].settings == {"links.core.loss": 0.0, "duration": "2 s"}
    assert points[4].seed == points[4].document["seed"] == 1


def test_a_key_is_of_what_is_run_and_not_of_how_it_is_written() -> None:
    def key(changes: dict[str, object], *settings: Setting) -> str:
        return grid(scenario(**changes), Path(), settings, 1)[0].key

    plain = key({})
    assert key({"description": "other words", "seed": 9}) == plain
    assert key({"duration": "2000 ms"}) == key({}, Setting("duration", ("2 s",))) == plain
    assert key({"duration": "3 s"}) != plain
    nodes = dict(reversed(small()["nodes"].items()))
    assert key({"nodes": nodes}) != plain, "hosts get other addresses"


def test_a_key_is_of_a_sent_files_content_too(tmp_path: Path) -> None:
    session = {"id": 1, "protocol": "mtcp", "sender": "a0", "group": "232.0.0.1", "port": 5000, "receivers": ["b0"]}
    sending = scenario(sessions=[session | {"file": "data"}])
    keys = []
    for content in (b"one", b"two"):
        (tmp_path / "data").write_bytes(content)
        (point,) = grid(sending, tmp_path, [], 1)
        assert point.document["sessions"][0]["file"] == str(tmp_path / "data")
        keys.append(point.key)
    assert keys[0] != keys[1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ([Setting("seed", (1,))], "--seeds"),
        ([LOSSES, LOSSES], "twice"),
        ([Setting("links.core.rate", ("0 bps",))], r"rate=0 bps: links\[0\].rate: must be above zero"),
        ([Setting("nodes.left.kind", ("p4",))], "either P4 switches or plain routers"),
    ],
)
def test_bad_settings_are_told_before_anything_runs(settings: list[Setting], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        grid(scenario(), Path(), settings, 1)


def test_finished_runs_are_not_made_again(tmp_path: Path) -> None:
    points = grid(scenario(), Path(), [LOSSES], 3)
    broken = FakeRuns(interrupted_after=4)
    with pytest.raises(KeyboardInterrupt):
        run_sweep(points, tmp_path, broken, quiet)
    rest = FakeRuns()
    outcome = run_sweep(points, tmp_path, rest, quiet)
    assert [job.key for job in broken.run + rest.run] == [point.key for point in points]
    assert (len(outcome.records), outcome.reused) == (6, 4)
    assert [record.seed for record in outcome.records] == [1, 2, 3, 1, 2, 3]


def test_a_failed_run_is_told_and_tried_again(tmp_path: Path) -> None:
    points = grid(scenario(), Path(), [LOSSES], 2)
    outcome = run_sweep(points, tmp_path, FakeRuns(failing=[2]), quiet)
    assert outcome.failures == ["links.core.loss=0.0, seed 2: unlucky", "links.core.loss=0.5, seed 2: unlucky"]
    again = FakeRuns()
    assert len(run_sweep(points, tmp_path, again, quiet).records) == 4
    assert [job.run.seed for job in again.run] == [2, 2]


def test_a_result_that_was_cut_off_is_made_again(tmp_path: Path) -> None:
    points = grid(scenario(), Path(), [], 1)
    run_sweep(points, tmp_path, FakeRuns(), quiet)
    (kept,) = (tmp_path / "runs").glob("*.json")
    kept.write_text(kept.read_text()[:20])
    again = FakeRuns()
    run_sweep(points, tmp_path, again, quiet)
    assert len(again.run) == 1


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JobsError, match="file"):
        run_sweep([], tmp_path / "file", FakeRuns(), quiet)


def test_a_killed_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(small(), sort_keys=False))
    out = tmp_path / "out"
    arguments = [str(path), "--seeds", "4", "--jobs", "1", "--out", str(out)]
    command = [sys.executable, "-m", "experiments.sweep.command", *arguments]
    scratch = {**os.environ, "TMPDIR": str(tmp_path)}  # whoever is killed cannot clear it away
    with subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, env=scratch) as sweep:
        wait_for(lambda: list(out.glob("runs/*.json")), "the first run is kept", 120.0)
        os.killpg(sweep.pid, signal.SIGKILL)
    before = {kept: kept.stat().st_mtime_ns for kept in out.glob("runs/*.json")}
    assert 1 <= len(before) < 4
    assert not (out / "sweep.parquet").exists()
    done = CliRunner().invoke(build(["sweep"]), ["sweep", *arguments])
    assert done.exit_code == 0, done.stderr
    assert f"{len(before)} runs were there already" in done.stdout
    after = {kept: kept.stat().st_mtime_ns for kept in out.glob("runs/*.json")}
    assert len(after) == 4
    assert before.items() <= after.items()


def test_the_measurements_of_a_run(tmp_path: Path) -> None:
    receivers: list[dict[str, object]] = [
        {"expected": True, "complete": True, "goodput_bps": 5e6, "lost_packets": 3},
        {"expected": True, "complete": False, "goodput_bps": 4e6, "lost_packets": 2},
        {"expected": False, "complete": False, "goodput_bps": None, "lost_packets": 9},
    ]
    summary = {
        "duration_s": 7,
        "sessions": [{"id": 4, "receivers": receivers, "repair_packets": 2, "feedback_packets": None}],
        "flows": [{"goodput_bps": None}, {"goodput_bps": 10}],
        "bottleneck_utilisation": 0.9,
    }
    assert metrics(Finished(Run({}, 1), summary, RunFolder(tmp_path))) == {
        "duration_s": 7.0,
        "session_4.complete": 0.5,
        "session_4.goodput_bps": 4e6,
        "session_4.lost_packets": 5.0,
        "session_4.repair_packets": 2.0,
        "flow_1.goodput_bps": 10.0,
        "bottleneck_utilisation": 0.9,
    }
    receivers[1]["lost_packets"] = None  # it has an agent for a parent: 3 would not be the session's losses
    assert "session_4.lost_packets" not in metrics(Finished(Run({}, 1), summary, RunFolder(tmp_path)))


def test_the_table_has_means_with_intervals(tmp_path: Path) -> None:
    points = grid(scenario(), Path(), [LOSSES, Setting("duration", ("1 s", "2 s"))], 3)
    outcome = run_sweep(points, tmp_path, FakeRuns(), quiet)
    table = make_table(outcome.records)
    assert table.shape == (4, 9)
    row = table.row(3, named=True)
    assert (row["links.core.loss"], row["duration"], row["measurement"]) == (0.5, "2 s", "goodput_bps")
    assert (row["runs"], row["mean"]) == (3, 2e6)
    # Student's t for two degrees of freedom is 4.303; the standard error is 1e6 / sqrt(3).
    assert row["low"] == pytest.approx(2e6 - 4.302653 * 1e6 / 3**0.5)
    assert row["high"] == pytest.approx(2e6 + 4.302653 * 1e6 / 3**0.5)
    assert (row["seeds"], row["values"]) == ([1, 2, 3], [1e6, 2e6, 3e6])


def test_the_table_of_one_run_each_has_no_intervals(tmp_path: Path) -> None:
    outcome = run_sweep(grid(scenario(), Path(), [LOSSES], 1), tmp_path, FakeRuns(), quiet)
    assert make_table(outcome.records)["low"].to_list() == [None, None]

import json
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from experiments.harness.jobs import Job, JobsError, Metrics, run_jobs, write_whole
from experiments.harness.runs import Run, RunError


def job(key: str, **notes: object) -> Job:
    return Job(key, f"the job {key}", Run({}, 1), lambda run: {}, notes)


def quiet(done: int, total: int) -> None:
    pass


class FakeRuns:
    """Notes which jobs were run; those of some keys fail."""

    def __init__(self, *failing: str) -> None:
        self.run: list[str] = []
        self._failing = failing

    def __call__(self, jobs: Sequence[Job]) -> Generator[tuple[Job, Metrics | RunError], None, None]:
        for one in jobs:
            self.run.append(one.key)
            yield one, RunError("unlucky") if one.key in self._failing else {"is": one.key}


def test_results_are_kept_with_their_notes_and_found_again(tmp_path: Path) -> None:
    jobs = [job("one", seed=4), job("two")]
    told: list[tuple[int, int]] = []
    first = run_jobs(jobs, tmp_path / "made", FakeRuns("two"), lambda *numbers: told.append(numbers))
    assert (first.results, first.failures, first.reused) == ({"one": {"is": "one"}}, {"two": "unlucky"}, 0)
    assert told == [(0, 2), (1, 2), (2, 2)]
    kept = json.loads((tmp_path / "made" / "one.json").read_text())
    assert (kept["seed"], kept["metrics"]) == (4, {"is": "one"})
    again = FakeRuns()
    second = run_jobs(jobs, tmp_path / "made", again, quiet)
    assert again.run == ["two"]
    assert (len(second.results), second.reused) == (2, 1)


@pytest.mark.parametrize("content", ["", "{", '{"metrics": 1}', '{"seed": 1}', "[]"])
def test_what_is_no_result_is_made_again(tmp_path: Path, content: str) -> None:
    (tmp_path / "one.json").write_text(content)
    runs = FakeRuns()
    run_jobs([job("one")], tmp_path, runs, quiet)
    assert runs.run == ["one"]


def test_a_result_that_is_damaged_anywhere_is_made_again(tmp_path: Path) -> None:
    run_jobs([job("one")], tmp_path, FakeRuns(), quiet)
    path = tmp_path / "one.json"
    whole = path.read_bytes()
    for end in range(len(whole) - 2):
        path.write_bytes(whole[:end])
        assert run_jobs([job("one")], tmp_path, FakeRuns(), quiet).reused == 0
    for place in range(whole.index(b'"metrics'), len(whole) - 2):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        again = run_jobs([job("one")], tmp_path, FakeRuns(), quiet)
        assert again.results == {"one": {"is": "one"}}


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    write_whole(tmp_path / "file", "text")
    write_whole(tmp_path / "file", b"bytes")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"bytes"
    with pytest.raises(JobsError, match="No such file"):
        write_whole(tmp_path / "nowhere" / "file", "text")

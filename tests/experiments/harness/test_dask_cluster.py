import importlib
from pathlib import Path
from typing import Any

import pytest

from experiments.harness.dask_cluster import on_dask
from experiments.harness.jobs import Job, JobsError, local, run_jobs
from experiments.harness.runs import Finished, Run
from tests.experiments.networks import small


def measure(run: Finished) -> dict[str, Any]:
    """What the stream brought, so that what ran where can be told apart by nothing else."""
    return {"goodput_bps": run.summary["flows"][0]["goodput_bps"]}


def job(seed: int) -> Job:
    return Job(f"small-{seed}", f"seed {seed}", Run(small(loss=0.1) | {"duration": "1 s"}, seed), measure)


def quiet(done: int, total: int) -> None:
    pass


def test_a_cluster_gives_what_this_machine_gives(tmp_path: Path) -> None:
    jobs = [job(1), job(2)]
    distributed: Any = importlib.import_module("distributed")  # it has no types
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None, host="127.0.0.1", protocol="tcp://"
    ) as cluster:
        remote = run_jobs(jobs, tmp_path / "remote", on_dask(cluster.scheduler_address), quiet)
    assert remote.failures == {}
    assert remote.results == run_jobs(jobs, tmp_path / "local", local(2), quiet).results
    assert len({metrics["goodput_bps"] for metrics in remote.results.values()}) == 2


def test_a_cluster_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.harness.dask_cluster._CONNECT_TIMEOUT_S", 0.2)
    with pytest.raises(JobsError, match=r"--dask tcp://127\.0\.0\.1:1"):
        run_jobs([job(1)], tmp_path, on_dask("tcp://127.0.0.1:1"), quiet)

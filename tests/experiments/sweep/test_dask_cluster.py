import importlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from experiments.sweep.dask_cluster import on_dask
from experiments.sweep.settings import Setting
from experiments.sweep.sweep import SweepError, grid, local, run_sweep
from tests.experiments.networks import small
from topologies.scenario import parse_scenario


def quiet(done: int, total: int) -> None:
    pass


def test_a_cluster_gives_what_this_machine_gives(tmp_path: Path) -> None:
    scenario = parse_scenario(yaml.safe_dump(small(loss=0.1), sort_keys=False))
    points = grid(scenario, Path(), [Setting("duration", ("1 s",))], 2)
    distributed: Any = importlib.import_module("distributed")  # it has no types
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None, host="127.0.0.1", protocol="tcp://"
    ) as cluster:
        remote = run_sweep(points, tmp_path / "remote", on_dask(cluster.scheduler_address), quiet)
    assert remote.failures == []
    assert remote.records == run_sweep(points, tmp_path / "local", local(2), quiet).records


def test_a_cluster_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.sweep.dask_cluster._CONNECT_TIMEOUT_S", 0.2)
    points = grid(parse_scenario(yaml.safe_dump(small(), sort_keys=False)), Path(), [], 1)
    with pytest.raises(SweepError, match=r"--dask tcp://127\.0\.0\.1:1"):
        run_sweep(points, tmp_path, on_dask("tcp://127.0.0.1:1"), quiet)

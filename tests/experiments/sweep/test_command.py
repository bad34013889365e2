import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from engine.command.assemble import build
from tests.experiments.networks import small

RUNNER = CliRunner()
APP = build(["sweep"])


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(small(), sort_keys=False))
    return path


def test_a_sweep_makes_one_table_and_goes_on_where_it_was(scenario: Path, tmp_path: Path) -> None:
    arguments = ["sweep", str(scenario), "--seeds", "2", "--out", str(tmp_path / "out")]
    result = RUNNER.invoke(APP, [*arguments, "--set", "links.core.rate=500 kbps", "--json"])
    assert result.exit_code == 0, result.stderr
    rows = {row["measurement"]: row for row in json.loads(result.stdout)}
    assert rows["flow_0.goodput_bps"]["runs"] == 2
    assert rows["flow_0.goodput_bps"]["links.core.rate"] == "500 kbps"
    assert 450e3 < rows["flow_0.goodput_bps"]["mean"] < 500e3
    same = RUNNER.invoke(APP, [*arguments, "--set", "links.core.rate=500 kbps"])
    assert same.stdout.splitlines()[0].strip() == "links.core.rate=500 kbps"  # of one value: no column
    assert " flow_0.goodput, Mbps " in same.stdout
    again = RUNNER.invoke(APP, [*arguments, "--set", "links.core.rate=500 kbps, 600 kbps"])
    assert again.exit_code == 0
    assert "2 runs were there already" in again.stdout
    assert (tmp_path / "out" / "sweep.parquet").is_file()


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("links.coer.loss=0", "links has no `coer`; did you mean `core`? (there is core, "),
        ("links.core.loss", "is not PATH=VALUE"),
        ("links.core.loss=2", "links.core.loss=2: links[0].loss: must be between 0 and 1"),
    ],
)
def test_a_bad_setting_is_exit_status_2(scenario: Path, setting: str, message: str) -> None:
    result = RUNNER.invoke(APP, ["sweep", str(scenario), "--set", setting])
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_sweep_of_no_scenario_is_exit_status_2(tmp_path: Path) -> None:
    result = RUNNER.invoke(APP, ["sweep", str(tmp_path / "none.yaml")])
    assert result.exit_code == 2
    assert "No such file" in result.stderr

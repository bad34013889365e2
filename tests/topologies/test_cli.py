import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.topologies.scenarios import TEXT
from topologies import cli

QUICKSTART = Path(__file__).parents[2] / "topologies" / "quickstart.yaml"
RUNNER = CliRunner()


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(TEXT.replace("join: 2 s, ", ""))  # which a warning is about
    (tmp_path / "payload").write_bytes(b"abc")
    return path


def test_check_says_that_a_scenario_is_valid() -> None:
    result = RUNNER.invoke(cli.app, ["emulate", "--check", str(QUICKSTART)])
    assert result.exit_code == 0
    assert result.stdout == f"{QUICKSTART}: a valid scenario (9 hosts, 3 switches)\n"


@pytest.mark.parametrize("command", [["emulate", "--check"], ["emulate"], ["scenario", "check"]])
def test_mistakes_are_one_line_each_and_status_2(scenario: Path, command: list[str]) -> None:
    scenario.write_text(TEXT.replace("rate: 100 Mbps", "rate: 100").replace("10.0.0.1", "11.0.0.1"))
    result = RUNNER.invoke(cli.app, [*command, str(scenario)])
    assert result.exit_code == 2
    lines = result.stderr.splitlines()
    assert lines[0].startswith(f"{scenario}:")
    assert all("links[0].rate" in line or "nodes.b.address" in line for line in lines)


def test_a_missing_file_to_send_is_told_where_it_is_named(scenario: Path) -> None:
    (scenario.parent / "payload").unlink()
    result = RUNNER.invoke(cli.app, ["scenario", "check", str(scenario)])
    assert result.exit_code == 2
    line = TEXT.splitlines().index("    file: payload") + 1
    assert result.stderr == f"{scenario}:{line}: sessions[1].file: {scenario.parent / 'payload'}: no such file\n"


def test_a_scenario_that_is_not_there_is_told() -> None:
    result = RUNNER.invoke(cli.app, ["emulate", "/nowhere.yaml"])
    assert (result.exit_code, result.stderr) == (2, "/nowhere.yaml: No such file or directory\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--switch", "ovs"], "canopy: --switch: `ovs` is none of embedded, bmv2, bridge\n"),
        (["--file", "/nowhere"], "canopy: /nowhere: no such file\n"),
        (["--out", "/proc/nowhere"], "canopy: /proc/nowhere/logs: No such file or directory\n"),
    ],
)
def test_bad_options_are_one_line_and_status_2(
    scenario: Path, options: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scenario.parent)
    monkeypatch.setattr("topologies.emulation.runner.check_requirements", lambda switch: None)
    monkeypatch.setenv("CANOPY_STATE_ROOT", str(scenario.parent / "state"))
    result = RUNNER.invoke(cli.app, ["emulate", str(scenario), *options])
    assert result.exit_code == 2
    assert result.stderr.replace("/proc/nowhere: No such", "/proc/nowhere/logs: No such") == message
    assert not any(scenario.parent.glob("runs/*"))


def test_what_ran_nothing_may_be_told_again_with_the_same_folder(scenario: Path) -> None:
    out = scenario.parent / "out"
    result = RUNNER.invoke(cli.app, ["simulate", str(scenario), "--file", "/nowhere", "--out", str(out)])
    assert (result.exit_code, result.stderr) == (2, "canopy: /nowhere: no such file\n")
    assert not out.exists()


def test_without_root_nothing_is_touched(scenario: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(scenario.parent)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    before = sorted(os.listdir())
    result = RUNNER.invoke(cli.app, ["emulate", str(scenario)])
    assert result.exit_code == 2
    assert result.stderr.startswith("canopy: emulation needs root")
    assert sorted(os.listdir()) == before


def test_exec_without_an_emulation_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANOPY_STATE_ROOT", str(tmp_path))
    result = RUNNER.invoke(cli.app, ["exec", "r1", "--", "true"])
    assert result.exit_code == 2
    assert result.stderr.startswith("canopy: no emulation is running")


def test_exec_needs_a_program() -> None:
    assert RUNNER.invoke(cli.app, ["exec", "r1", "--"]).exit_code == 2
    assert RUNNER.invoke(cli.app, ["exec"]).exit_code == 2


def test_show_prints_a_scenario_at_length(tmp_path: Path) -> None:
    path = tmp_path / "star.yaml"
    path.write_text("name: star\nduration: 1 s\nnetwork: {tree: {depth: 1, fanout: 3}, access: {rate: 1 Mbps}}\n")
    result = RUNNER.invoke(cli.app, ["scenario", "show", str(path)])
    assert result.exit_code == 0
    assert "between: [r3, s1]" in result.stdout
    path.write_text(result.stdout)
    assert RUNNER.invoke(cli.app, ["scenario", "show", str(path)]).stdout == result.stdout


def test_the_schema_knows_every_kind_of_node_and_fault() -> None:
    result = RUNNER.invoke(cli.app, ["scenario", "schema"])
    definitions = json.loads(result.stdout)["$defs"]
    assert {"P4Switch", "Host", "Link", "Session", "TcpFlow", "SwitchRestart", "LinkDown"} <= set(definitions)


def test_a_run_does_not_load_what_few_need() -> None:
    """Each took half as long as all the rest."""
    script = (
        "import sys, topologies.cli, topologies.emulation.runner, topologies.simulation.runner\n"
        "print({'networkx', 'numpy', 'setuptools'} & set(sys.modules), 'mininet' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set() True"

import json

from typer.testing import CliRunner

from experiments.bench.cli import app


def test_a_small_fat_tree_is_programmed_and_repaired() -> None:
    result = CliRunner().invoke(app, ["control", "--k", "4", "--json"])
    assert result.exit_code == 0
    programmed, core, edge, memory = json.loads(result.stdout)["figures"]
    assert programmed["name"].startswith("20 switches, 16 hosts: ")
    assert 0 < core["value"] < programmed["value"] < programmed["target"] == 60
    assert 0 < edge["value"] < programmed["value"]
    assert memory["value"] > 0


def test_a_fat_tree_has_an_even_number_of_ports() -> None:
    result = CliRunner().invoke(app, ["control", "--k", "5"])
    assert result.exit_code == 2
    assert "k" in result.output

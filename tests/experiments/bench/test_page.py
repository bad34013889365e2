"""What `canopy bench page` draws, and what it prints."""

import json

import pytest
from typer.testing import CliRunner

from experiments.bench import page
from experiments.bench.cli import app
from experiments.figures.bench import Figure
from topologies.scenario import parse_scenario

RUNNER = CliRunner()


@pytest.mark.parametrize("count", [10, 200, 1000])
def test_a_network_has_the_nodes_that_were_asked_for(count: int) -> None:
    scenario = parse_scenario(json.dumps(page.network(count)))
    assert count <= len(scenario.nodes) <= count * 1.02 + 13
    assert len(scenario.sessions[0].receivers) == len(scenario.hosts) - 1


def test_figures_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "chromium", lambda: "browser")
    monkeypatch.setattr(page, "measure", lambda counts: [Figure(f"{counts[0]} nodes", 31.0, "pictures/s", 30)])
    result = RUNNER.invoke(app, ["page", "--nodes", "50", "--json"])
    assert json.loads(result.stdout)["figures"][0]["name"] == "50 nodes"


def test_without_a_browser_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "chromium", lambda: None)
    result = RUNNER.invoke(app, ["page"])
    assert result.exit_code == 1
    assert "no Chromium on PATH" in result.output

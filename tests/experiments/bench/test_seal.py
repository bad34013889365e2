import json

from typer.testing import CliRunner

from experiments.bench.cli import app
from experiments.bench.seal import accepted


def test_of_what_strangers_send_nothing_is_taken() -> None:
    assert accepted(20_000, 1) == 0


def test_the_command_says_so() -> None:
    result = CliRunner().invoke(app, ["seal", "--packets", "1000", "--repeat", "1", "--json"])
    assert result.exit_code == 0
    figures = json.loads(result.stdout)
    assert (figures["tried"], figures["accepted"]) == (1000, 0)
    assert figures["seal_bps"] > 0
    assert "accepted: 0 of 1,000" in CliRunner().invoke(app, ["seal", "--packets", "1000", "--repeat", "1"]).stdout

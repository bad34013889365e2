"""`canopy recv --daemon` on the command line: one clear line for what does not go together."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from hosts.programs.cli import app

COMMON = ["recv", "--group", "239.9.9.1", "--port", "5000", "--interface", "lo"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max-size", "1G"], "--max-size is for --daemon"),
        (["--max-size", ""], "--max-size is for --daemon"),
        (["--allow", "*.iso"], "--allow is for --daemon"),
        (["--daemon", "--session", "7"], "--session is not for --daemon"),
        (["--daemon", "--wait", "3"], "--wait is not for --daemon"),
        (["--daemon", "--json"], "--json is not for --daemon"),
        (["--daemon", "--local-port", "5001"], "--local-port is not for --daemon"),
        (["--daemon", "--max-size", "lots"], "--max-size: 'lots' is not a size (as 500M is)"),
        (["--daemon", "--out", "/nosuch"], "/nosuch: no such folder"),
        (["--daemon", "--status", "/nosuch/x"], "/nosuch is no folder"),
        (["--daemon", "--metrics", "nowhere"], "--metrics: `nowhere` is not HOST:PORT"),
        (["--daemon", "--metrics", "192.0.2.200:1"], "--metrics 192.0.2.200:1: Cannot assign requested address"),
    ],
)  # fmt: skip
def test_bad_input(arguments: list[str], message: str, tmp_path: Path) -> None:
    output = [] if "--out" in arguments else ["--out", str(tmp_path)]
    result = CliRunner().invoke(app, [*COMMON, *output, *arguments])
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1

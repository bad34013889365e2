import json

import pytest

from engine.command.assemble import run
from hosts import protocols


def test_the_protocols_are_listed_and_one_s_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protocols"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in ("mtcp", "rla", "tfmcc", "vlmcc", "webrc", "real-time data"))
    assert run(["protocols", "webrc", "--json"]) == 0
    assert "session_rate_bps" in {row["name"] for row in json.loads(capsys.readouterr().out)}


def test_an_unknown_one_is_refused_with_those_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protocols", "tcp"]) == 2
    assert "known: arbor, mtcp" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["send"], ["stream", "send"]])
def test_the_help_names_the_protocols(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command, "--help"]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())  # without the box around it
    assert f"One of {', '.join(protocols.names())}; canopy protocols says what each carries." in text

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


@pytest.mark.parametrize(
    ("command", "kind"),
    [(["send"], "carries_files"), (["recv"], "carries_files"), (["stream", "send"], "carries_realtime")],
)
def test_the_help_names_the_protocols_that_the_command_takes(
    command: list[str], kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "--help"]) == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())  # without the box around it
    taken = [name for name in protocols.names() if getattr(protocols.get(name), kind)]
    assert f"One of {', '.join(taken)}; canopy protocols says more of each." in text

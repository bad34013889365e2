"""`canopy broadcast` and `canopy recv --all`: over this machine's own interface, and what is refused."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer.testing

from hosts.programs import broadcast_cli, cli
from tests.hosts.programs.test_sdp import TEXT

RUNNER = typer.testing.CliRunner()
WHERE = ["--group", "239.255.7.29", "--port", "5929", "--interface", "lo"]


def program(module: str, *arguments: str) -> "subprocess.Popen[str]":
    code = f"from {module} import app; app()"
    return subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)


def test_all_files_of_a_folder_come_or_chosen_ones_and_the_sender_ends_in_time(tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    out.mkdir()
    for number in range(3):
        (folder / f"file {number}").write_bytes(bytes(range(256)) * 100 * number)
    settings = ["--max-rate", "8e6", "--set", "base_rate=20", "--set", "slot_s=2", "--set", "quiescence_s=4"]
    sdp = str(tmp_path / "session.sdp")
    sending = program(
        "hosts.programs.broadcast_cli", str(folder), *WHERE, "--duration", "40", *settings, "--json", "--sdp", sdp
    )
    choices = {"all": ["--all"], "only": ["--only", "*1"], "newest": ["--newest"], "taken": ["--only", "*1"]}
    (out / "taken").mkdir()
    (out / "taken" / "file 1").write_bytes(b"another")
    receivers = {}
    shown = {}
    try:
        while not Path(sdp).exists():
            assert sending.poll() is None
        for choice, words in choices.items():
            where = ("--sdp", sdp, "--interface", "lo", "-o", str(out / choice))
            receivers[choice] = program("hosts.programs.cli", "recv", *where, *words, "--json")
        for choice, receiving in receivers.items():
            shown[choice], _ = receiving.communicate(timeout=60)
            assert receiving.returncode == (2 if choice == "taken" else 0)
    finally:
        sending.terminate()
        told, _ = sending.communicate(timeout=20)
        for receiving in receivers.values():
            receiving.kill()
    assert (out / "taken" / "file 1").read_bytes() == b"another"
    (out / "taken" / "file 1").unlink()
    names = {"taken": set(), "all": {"file 0", "file 1", "file 2"}, "only": {"file 1"}, "newest": {"file 2"}}
    assert {choice: {path.name for path in (out / choice).iterdir()} for choice in choices} == names
    for path in out.glob("*/*"):
        assert path.read_bytes() == (folder / path.name).read_bytes()
    assert {file["file"] for file in json.loads(shown["all"])["files"]} == names["all"]
    assert json.loads(told)["files"] == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--until", "2001-02-03", "here"], "--until: that time is over"),
        (["--start", "soon", "here"], "--start: 'soon' is no time"),
        (["--rule", "*.iso", "here"], "--rule '*.iso': a pattern and settings"),
        ([], "Missing argument"),
        (["nowhere"], "nowhere: No such file"),
        (["."], "no file"),
        (["--set", "p=1", "here"], "factor P"),
        (["huge"], "huge cannot be sent: it has 1000000000000 bytes"),
    ],
)
def test_bad_input_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "here").write_bytes(b"x")
    with (tmp_path / "huge").open("wb") as huge:
        huge.truncate(10**12)  # sparse: who read it would not end
    monkeypatch.chdir(tmp_path / "empty" if arguments == ["."] else tmp_path)
    result = RUNNER.invoke(broadcast_cli.app, [*arguments, *WHERE])
    assert result.exit_code == 2
    assert words in result.output


def test_a_description_is_not_contradicted(tmp_path: Path) -> None:
    path = tmp_path / "a.sdp"
    path.write_text(TEXT, newline="")
    for arguments, words in (
        (["--port", "5001"], "--port 5001"),
        (["--group", "232.6.0.1"], "says 232.6.0.0"),
        (["--source", "10.0.0.2"], "--source 10.0.0.2"),
    ):
        result = RUNNER.invoke(cli.app, ["recv", "--sdp", str(path), *arguments])
        assert result.exit_code == 2
        assert words in result.output
    path.write_text("v=0\r\nnothing")
    result = RUNNER.invoke(cli.app, ["recv", "--sdp", str(path)])
    assert result.exit_code == 2
    assert "line 2" in result.output


def test_only_a_broadcast_has_more_files_than_one() -> None:
    result = RUNNER.invoke(cli.app, ["recv", *WHERE, "--protocol", "mtcp", "--all"])
    assert result.exit_code == 2
    assert "one file" in result.output

"""The controller as a process: bad input, signals, a second one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from controller.api import ApiClient
from controller.service import app
from tests.controller import networks
from tests.controller.nodes import free_port

LIMIT_S = 30.0


def network_file(tmp_path: Path) -> Path:
    data: dict[str, Any] = networks.line()
    for switch in data["switches"]:
        switch["address"] = f"127.0.0.1:{free_port()}"
    path = tmp_path / "net.json"
    path.write_text(json.dumps(data))
    return path


def start(network: Path, state_dir: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "controller.service", str(network), "--state-dir", str(state_dir)]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    assert "controller_start network=network switches=3" in process.stderr.readline()
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly_and_leaves_no_socket(tmp_path: Path, number: signal.Signals) -> None:
    state_dir = tmp_path / "state"
    process = start(network_file(tmp_path), state_dir)
    with ApiClient(state_dir / "controller.sock") as api:
        status = api.call("status")
        assert (status["pid"], status["switches"], status["switches_ready"]) == (process.pid, 3, 0)
        second = CliRunner().invoke(app, [str(tmp_path / "net.json"), "--state-dir", str(state_dir)])
        assert second.exit_code == 2
        assert "a controller runs there already" in second.output
        process.send_signal(number)
        _, log = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0
    assert "Traceback" not in log
    assert not (state_dir / "controller.sock").exists()
    events = [json.loads(line)["event"] for line in (state_dir / "events.jsonl").open()]
    assert (events[0], events[-1]) == ("controller_start", "controller_stop")


def test_after_a_kill_the_next_one_starts(tmp_path: Path) -> None:
    network, state_dir = network_file(tmp_path), tmp_path / "state"
    process = start(network, state_dir)
    process.kill()
    process.communicate(timeout=LIMIT_S)
    assert (state_dir / "controller.sock").exists()
    process = start(network, state_dir)
    process.terminate()
    process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{tmp}/missing.json", "--state-dir", "{tmp}/state"], "{tmp}/missing.json: No such file or directory"),
        (["{tmp}/bad.json", "--state-dir", "{tmp}/state"], "{tmp}/bad.json: switches: Field required"),
        (["{tmp}/net.json", "--state-dir", "{tmp}/net.json/x"], "{tmp}/net.json/x: Not a directory"),
        (["{tmp}/net.json", "--state-dir", "{tmp}/" + "x" * 100], "{tmp}/" + "x" * 100 + "/controller.sock: longer"),
        (["{tmp}/net.json", "--state-dir", "{tmp}/s", "--program", "{tmp}"], "{tmp}/canopy.p4info.txtpb: No such file"),
    ],
)
def test_bad_input_is_one_line_and_status_2(tmp_path: Path, arguments: list[str], message: str) -> None:
    network_file(tmp_path)
    (tmp_path / "bad.json").write_text("{}")
    result = CliRunner().invoke(app, [argument.format(tmp=tmp_path) for argument in arguments])
    assert result.exit_code == 2
    assert result.output.count("\n") == 1
    assert result.output.startswith("canopy controller: " + message.format(tmp=tmp_path))

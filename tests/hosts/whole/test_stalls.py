"""No turn of a program's event loop takes long while a file is on its way: what comes meanwhile would wait."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hosts.runtime.test_runtime import free_port

ROOT = Path(__file__).parents[3]
LONGEST_S = 0.005
SIZE = 60_000_000
"""Of which reading it for its packets' hashes takes many times as long as a turn may."""
TRIES = 5
"""Neighbours on a busy machine make a turn longer now and then, even in the thread's own time (interrupts, caches); a
stall of ours is there each time."""


def longest_turns(tmp_path: Path, protocol: str, loss: float) -> dict[str, float]:
    """Of a sender and a receiver on loopback, seconds of a processor."""
    common = ["--group", "232.7.7.21", "--port", str(free_port()), "--interface", "lo", "--protocol", protocol]

    def start(name: str, loss: float, *arguments: str) -> subprocess.Popen[str]:
        program = [sys.executable, "-m", "tests.hosts.watched", str(tmp_path / f"{name}.json"), str(loss)]
        return subprocess.Popen([*program, *arguments, *common], cwd=ROOT, stderr=subprocess.PIPE, text=True)

    into = ["-o", str(tmp_path / "in"), "--replace"]
    receiver = start("receiver", loss, "recv", "--source", "127.0.0.1", "--wait", "20", *into)
    sender = start("sender", 0.0, "send", str(tmp_path / "file"), "--receivers", "1")
    for process in (sender, receiver):
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    turns = {name: json.loads((tmp_path / f"{name}.json").read_text()) for name in ("sender", "receiver")}
    assert all(len(found) > 20 for found in turns.values())
    return {name: max(found) for name, found in turns.items()}


@pytest.mark.alone
@pytest.mark.parametrize(
    ("protocol", "loss"), [("mtcp", 0.0), ("rla", 0.0), ("tfmcc", 0.0), ("tfmcc", 0.01), ("arbor", 0.01)]
)
def test_no_turn_of_the_loop_is_long(tmp_path: Path, protocol: str, loss: float) -> None:
    with (tmp_path / "file").open("wb") as file:
        file.truncate(SIZE)  # sparse: the disk has nothing to do
    found = {"sender": 1.0, "receiver": 1.0}
    for _ in range(TRIES):
        for name, longest in longest_turns(tmp_path, protocol, loss).items():
            found[name] = min(found[name], longest)
        if max(found.values()) < LONGEST_S:
            return
    pytest.fail(f"each time a turn takes longer than {LONGEST_S} s: {found}")

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from topologies.emulation import state
from topologies.emulation.kernel import process_start_time
from topologies.emulation.state import Emulation, NodeRecord, StateError


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CANOPY_STATE_ROOT", str(tmp_path / "canopy"))
    return tmp_path / "canopy"


def put(root: Path, name: str, pid: int, started: int, nodes: dict[str, NodeRecord] | None = None) -> None:
    (root / name).mkdir(parents=True)
    known = {"r1": NodeRecord("host", pid)} if nodes is None else nodes
    state.write_record(root / name, Emulation(name, pid, started, "/run", "embedded", known))


def me() -> tuple[int, int]:
    return os.getpid(), process_start_time(os.getpid()) or 0


def test_a_record_is_read_back(root: Path) -> None:
    put(root, "quick-1", *me())
    record = state.read_record(root / "quick-1")
    assert record is not None
    assert record.nodes["r1"] == NodeRecord("host", os.getpid())
    assert record.is_running


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"nodes": 3}'])
def test_a_record_that_is_damaged_is_none(root: Path, text: str) -> None:
    (root / "quick-1").mkdir(parents=True)
    (root / "quick-1" / "emulation.json").write_text(text)
    assert state.read_record(root / "quick-1") is None


def test_a_pid_that_is_used_again_is_another_process(root: Path) -> None:
    pid, started = me()
    put(root, f"quick-{pid}", pid, started + 1)
    assert state.running_emulations() == []


def test_an_emulation_is_found_by_its_name_its_scenarios_or_alone(root: Path) -> None:
    put(root, "quick-1", *me())
    for name in (None, "quick", "quick-1"):
        assert state.find_emulation(name).name == "quick-1"
    put(root, "other-2", *me())
    assert state.find_emulation("other").name == "other-2"


def test_what_is_not_found_is_told(root: Path) -> None:
    with pytest.raises(StateError, match="no emulation is running"):
        state.find_emulation()
    put(root, "quick-1", *me())
    with pytest.raises(StateError, match=r"no emulation called `x` is running \(running: quick-1\)"):
        state.find_emulation("x")
    put(root, "quick-2", *me())
    with pytest.raises(StateError, match="several emulations are running"):
        state.find_emulation()


def test_one_whose_network_is_not_up_yet_is_not_found(root: Path) -> None:
    put(root, "quick-1", *me(), nodes={})
    assert state.running_emulations() == []


def test_a_state_directory_is_made_with_a_record(root: Path) -> None:
    path = state.create_state_directory("quick")
    assert path == root / f"quick-{os.getpid()}"
    assert (path / "sessions").is_dir()
    record = state.read_record(path)
    assert record is not None
    assert record.is_running
    assert [one.name for one in root.iterdir()] == [path.name]


def test_who_has_the_same_pid_elsewhere_has_another_name(root: Path) -> None:
    """In another pid namespace."""
    first = state.create_state_directory("quick")
    assert state.create_state_directory("quick") == root / f"quick-{os.getpid() + 1}"
    assert state.read_record(first) is not None


def test_a_state_root_that_is_a_file(root: Path) -> None:
    root.write_text("")
    with pytest.raises(StateError, match="canopy: File exists"):
        state.create_state_directory("quick")


def marked_sleeper(name: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); import time; time.sleep(60)"],
        env={**os.environ, state.MARK: name},
        stdout=subprocess.PIPE,
    )


def test_leftovers_are_removed_with_their_processes_and_nothing_else_is(root: Path) -> None:
    put(root, "dead-1", *me())
    alive = state.create_state_directory("alive")
    (root / "something else").mkdir()
    ours, theirs = marked_sleeper("dead-1"), marked_sleeper("dead-11")
    for process in (ours, theirs):
        assert process.stdout is not None
        process.stdout.read(1)
    try:
        assert state.remove_leftovers() == ["dead-1"]
        assert ours.wait(5) == -signal.SIGKILL
        assert theirs.poll() is None
    finally:
        theirs.kill()
        theirs.wait()
    assert sorted(path.name for path in root.iterdir()) == [alive.name, "something else"]


RUNNER = """
import sys
from topologies.emulation import state
print(state.create_state_directory("quick").name, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in another pid namespace"])
def test_what_a_living_process_has_made_is_left_alone(root: Path, elsewhere: bool) -> None:
    """Its pid means nothing in another namespace; what it leaves when it is killed does."""
    if elsewhere and os.geteuid() != 0:
        pytest.skip("needs root")
    around = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"] if elsewhere else []
    command = [*around, sys.executable, "-c", RUNNER]
    runner = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert runner.stdout is not None
    name = runner.stdout.readline().strip()
    try:
        assert state.remove_leftovers() == []
        assert (root / name / "emulation.json").exists()
    finally:
        runner.kill()
        runner.wait()
    runner.stdout.read()  # its children are gone, too
    assert state.remove_leftovers() == [name]
    assert list(root.iterdir()) == []


def test_no_state_root_is_no_emulation() -> None:
    assert state.running_emulations() == []
    assert state.remove_leftovers() == []

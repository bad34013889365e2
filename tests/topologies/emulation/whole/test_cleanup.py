"""Nothing stays behind: after Ctrl-C, after kill -9 of the runner, and beside another emulation."""

import os
import signal
import subprocess

import pytest

from tests.topologies.emulation.whole.conftest import Start
from tests.topologies.emulation.whole.harness import TWO_SWITCHES, Run, session
from tests.waiting import wait_for
from topologies.emulation.state import remove_leftovers

pytestmark = [pytest.mark.root, pytest.mark.emulation]

TRANSFER = TWO_SWITCHES.format(name="cleanup", rate="10 Mbps") + session("20 MB")
HELD = TWO_SWITCHES.format(name="neighbour", rate="10 Mbps")


def namespaces(run: Run) -> set[int]:
    """The network namespaces of an emulation's processes, other than the machine's."""
    found = {os.stat(f"/proc/{pid}/ns/net").st_ino for pid in run.processes()}
    return found - {os.stat("/proc/self/ns/net").st_ino}


def inhabited() -> set[int]:
    """All network namespaces that a process is in."""
    found = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                found.add(os.stat(f"/proc/{entry}/ns/net").st_ino)
            except OSError:
                continue
    return found


def interfaces() -> str:
    return subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout


def test_ctrl_c_leaves_nothing(start: Start) -> None:
    before = interfaces()
    run = start(TRANSFER)
    run.wait_until_sent(200_000)
    used = namespaces(run)
    assert len(used) == 4  # the switches', and three hosts'
    assert run.interrupt() == 130
    summary = run.summary()
    assert summary["outcome"] == "interrupted"
    assert {receiver["detail"] for receiver in summary["sessions"][0]["receivers"]} <= {"still receiving"}
    assert "interrupted" not in summary["sessions"][0]["detail"]
    assert not run.processes()
    assert not used & inhabited()
    assert run.state is None
    assert interfaces() == before


def test_ctrl_c_while_it_is_being_set_up_leaves_nothing(start: Start) -> None:
    run = start(TRANSFER)
    wait_for(lambda: len(run.processes()) >= 3, "the first nodes are there")
    assert run.interrupt() == 130
    assert not run.processes()
    assert run.state is None


def test_a_killed_runner_takes_its_processes_along_and_the_next_run_removes_the_rest(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(TRANSFER)
    neighbour = start(HELD, "--hold")  # which must be left alone
    neighbour.wait_until_up()
    run.wait_until_sent(200_000)
    used = namespaces(run)
    outsider = run.start("r1", "sleep", "600")  # not the runner's child
    wait_for(lambda: any("sleep 600" in line for line in run.processes().values()), "the outsider runs")
    run.process.kill()
    run.wait()
    wait_for(lambda: all("sleep 600" in line for line in run.processes().values()), "its children are gone", 10)

    monkeypatch.setenv("CANOPY_STATE_ROOT", str(run.state_root))
    state = run.state
    assert state is not None
    assert remove_leftovers() == [state.name]
    assert outsider.wait(5) == -signal.SIGKILL
    assert not run.processes()
    assert not used & inhabited()
    assert run.state is None

    assert neighbour.execute("r1", "true").returncode == 0
    assert neighbour.pid_of("controller.service")
    assert neighbour.interrupt() == 0
    assert neighbour.state is None

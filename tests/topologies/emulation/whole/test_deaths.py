"""kill -9 of a switch, the controller and a receiver during a transfer, as an outsider would do it."""

import os
import signal
from pathlib import Path

import pytest

from tests.topologies.emulation.whole.conftest import Start
from tests.topologies.emulation.whole.harness import TWO_SWITCHES, session
from tests.waiting import wait_for

pytestmark = [pytest.mark.root, pytest.mark.emulation]

TRANSFER = TWO_SWITCHES.format(name="deaths", rate="20 Mbps")


@pytest.mark.parametrize(("victim", "at"), [("s1", 100_000), ("s2", 1_500_000)])
def test_a_switch_is_killed(start: Start, victim: str, at: int) -> None:
    run = start(TRANSFER + session("4 MB"))
    run.wait_until_sent(at)
    os.kill(run.pid_of("switch", f"{victim}-eth1"), signal.SIGKILL)
    assert run.wait() == 0, run.said()
    assert any(f"{victim} was killed (signal 9) and is started again" in note for note in run.summary()["notes"])


def test_the_controller_is_killed(start: Start) -> None:
    run = start(TRANSFER + session("4 MB"))
    run.wait_until_sent(500_000)
    os.kill(run.pid_of("controller.service"), signal.SIGKILL)
    assert run.wait() == 0, run.said()
    assert any("controller was killed (signal 9)" in note for note in run.summary()["notes"])


def test_a_receiver_is_killed(start: Start) -> None:
    run = start(TRANSFER + session("4 MB", drop_after="2 s"), "--keep-files")
    run.wait_until_sent(1_000_000)
    os.kill(run.pid_of("recv", f"{Path('1') / 'r2'}"), signal.SIGKILL)
    assert run.wait() == 1
    r1, r2 = run.summary()["sessions"][0]["receivers"]
    assert r1["complete"]
    assert not r2["complete"]
    assert "killed by signal 9" in r2["detail"]
    assert not (run.folder / "received" / "1" / "r2" / "session-1.bin").exists()


def test_nobody_waits_for_a_receiver_that_died_before_it_joined(start: Start) -> None:
    run = start(TRANSFER + session("1 MB"))

    def victims() -> list[int]:
        return [pid for pid, line in run.processes().items() if "recv" in line and str(Path("1") / "r2") in line]

    wait_for(lambda: bool(victims()), "r2 is started")
    os.kill(victims()[0], signal.SIGKILL)
    assert run.wait() == 1
    summary = run.summary()
    r1, r2 = summary["sessions"][0]["receivers"]
    assert r1["complete"]
    assert not r2["complete"]
    assert summary["duration_s"] < 30

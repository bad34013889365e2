import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.waiting import wait_for
from topologies.emulation.child import Child, ChildError, accepts_connections, stop_all
from topologies.emulation.kernel import process_start_time

SLEEPER = [sys.executable, "-c", "print('up', flush=True); import time; time.sleep(60)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)",
]


def started(command: list[str], log: Path) -> Child:
    child = Child("it", command, log)
    child.wait_until(lambda: "up" in log.read_text(), 20.0, "up")
    return child


def test_it_has_a_process_group_and_a_log_of_its_own(tmp_path: Path) -> None:
    child = started(SLEEPER, tmp_path / "log")
    assert os.getpgid(child.pid) == child.pid
    assert child.returncode is None
    child.stop()
    assert child.returncode == -signal.SIGTERM
    assert child.last_words() == "up"


def test_results_can_go_to_a_file_of_their_own(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; print('result'); print('noise', file=sys.stderr)"]
    child = Child("it", command, tmp_path / "log", output=tmp_path / "out")
    with pytest.raises(ChildError, match="it ended with status 0: noise"):
        child.wait_until(lambda: False, 20.0, "ready")
    assert (tmp_path / "out").read_text() == "result\n"


def test_one_that_will_not_end_is_killed(tmp_path: Path) -> None:
    child = started(STUBBORN, tmp_path / "log")
    child.stop(grace_s=0.05)
    assert child.returncode == -signal.SIGKILL


def test_several_are_stopped_within_one_grace(tmp_path: Path) -> None:
    children = [started(STUBBORN, tmp_path / f"log{n}") for n in range(3)] + [started(SLEEPER, tmp_path / "log")]
    begin = time.monotonic()
    stop_all(children, grace_s=0.1)
    assert time.monotonic() - begin < 5.0
    assert [child.returncode for child in children] == [-signal.SIGKILL] * 3 + [-signal.SIGTERM]


def test_signalling_one_that_has_ended_does_nothing(tmp_path: Path) -> None:
    child = started(SLEEPER, tmp_path / "log")
    child.kill()
    child.signal(signal.SIGTERM)
    child.stop()
    assert child.returncode == -signal.SIGKILL


def test_what_cannot_be_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(ChildError, match=r"it: cannot run /no/such: No such file or directory"):
        Child("it", ["/no/such"], tmp_path / "log")


def test_one_that_is_never_ready_is_told_with_its_log(tmp_path: Path) -> None:
    child = started(SLEEPER, tmp_path / "log")
    with pytest.raises(ChildError, match=r"it was not ready within 0\.1 s \(see .*log\)"):
        child.wait_until(lambda: False, 0.1, "ready")
    child.kill()


def test_a_child_does_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    script = f"""
import time
from pathlib import Path
from topologies.emulation.child import Child
child = Child("it", {SLEEPER!r}, Path({str(tmp_path / "log")!r}))
print(child.pid, flush=True)
time.sleep(60)
"""
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert process_start_time(pid) is not None
    parent.kill()
    parent.wait()
    wait_for(lambda: process_start_time(pid) is None, "it is gone", 10.0)


def test_nothing_of_a_library_of_the_parent_runs_in_the_child(tmp_path: Path) -> None:
    """As gRPC's handlers do, which write into the child's log when they find threads."""
    script = f"""
import os
from pathlib import Path
from topologies.emulation.child import Child
os.register_at_fork(after_in_child=lambda: os.write(1, b"handler"))
child = Child("it", ["true"], Path({str(tmp_path / "log")!r}))
while child.returncode is None:
    pass
print("ended", child.returncode, child.last_words())
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "ended 0 it said nothing\n"


def test_nothing_listens_where_nothing_does() -> None:
    assert not accepts_connections("127.0.0.1:1")

"""State directories: how a running emulation is found and entered, and what a killed one left is removed
(docs/emulation.md).
"""

import contextlib
import errno
import fcntl
import json
import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Final, NoReturn

from engine.command.whole import write_whole
from topologies.emulation.kernel import enter_network_namespace, network_namespace, process_start_time

MARK = "CANOPY_EMULATION"
"""The environment variable that every process of an emulation carries; its value is the state directory's name."""

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*-\d+")
_KILL_DEADLINE_S = 5.0
_LOCK: Final = "lock"
"""A file that the runner holds a lock of (flock) as long as it lives. Its pid says nothing to those in another pid
namespace, to whom it may be somebody else, or nobody."""
_NAMES: Final = 1000
"""That are tried, where others have the runner's pid (ours)."""
_held: Final[list[int]] = []
"""Descriptors of this process's locks, which it holds to its end."""


class StateError(Exception):
    """A state directory cannot be made, or no running emulation is found; one line for the user."""


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """A node of a running emulation; `pid` is a process in its network namespace."""

    kind: str
    pid: int


@dataclass(frozen=True, slots=True)
class Emulation:
    """What `emulation.json` says."""

    name: str
    pid: int
    started: int
    """The runner's start time in clock ticks since boot: with its pid, which process it is."""
    run_folder: str
    switch: str
    nodes: dict[str, NodeRecord]

    @property
    def is_running(self) -> bool:
        """Whether its runner lives in this process's pid namespace: others' emulations cannot be entered."""
        return process_start_time(self.pid) == self.started


def state_root() -> Path:
    """The directory that has one state directory for each running emulation."""
    return Path(os.environ.get("CANOPY_STATE_ROOT", "/run/canopy"))


def create_state_directory(scenario: str) -> Path:
    """Make this process's state directory, under the scenario's name and its pid, or the next number that is free.
    StateError when that cannot be."""
    root, pid = state_root(), os.getpid()
    try:
        root.mkdir(mode=0o755, parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=".", dir=root))  # nobody takes it for one without an owner
        partial.chmod(0o755)
        (partial / "sessions").mkdir()
        _held.append(os.open(partial / _LOCK, os.O_RDWR | os.O_CREAT, 0o600))
        fcntl.flock(_held[-1], fcntl.LOCK_EX)
        path = _named(partial, root, scenario, pid)
    except OSError as error:
        raise StateError(f"{root}: {error.strerror or error}") from None
    write_record(path, Emulation(path.name, pid, process_start_time(pid) or 0, "", "", {}))
    return path


def _named(partial: Path, root: Path, scenario: str, pid: int) -> Path:
    """The directory under its name. OSError."""
    for number in count(pid):
        path = root / f"{scenario}-{number}"
        try:
            return partial.rename(path)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR) or number == pid + _NAMES:
                shutil.rmtree(partial, ignore_errors=True)
                raise
    raise AssertionError("numbers have no end")


def _is_held(path: Path) -> bool:
    """Whether whoever made a state directory lives, in whatever pid namespace."""
    try:
        lock = os.open(path / _LOCK, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def write_record(path: Path, emulation: Emulation) -> None:
    """Write `emulation.json` whole."""
    write_whole(path / "emulation.json", json.dumps(asdict(emulation), indent=2) + "\n")


def read_record(path: Path) -> Emulation | None:
    """What `emulation.json` in a state directory says; None when there is none that can be read."""
    try:
        data = json.loads((path / "emulation.json").read_text(encoding="utf-8"))
        data["nodes"] = {name: NodeRecord(**node) for name, node in data["nodes"].items()}
        return Emulation(**data)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def running_emulations() -> list[Emulation]:
    """Those whose runner lives and whose network is up, newest first."""
    records = [record for path in _state_directories() if (record := read_record(path)) is not None]
    return sorted(
        (record for record in records if record.is_running and record.nodes),
        key=lambda record: record.started,
        reverse=True,
    )


def find_emulation(name: str | None = None) -> Emulation:
    """The running emulation of that name (the scenario's will do), or the only one. StateError says what is wrong."""
    running = running_emulations()
    if not running:
        raise StateError("no emulation is running (start one with `canopy emulate FILE --hold`)")
    wanted = [one for one in running if name is None or name in (one.name, one.name.rpartition("-")[0])]
    known = ", ".join(one.name for one in running)
    if not wanted:
        raise StateError(f"no emulation called `{name}` is running (running: {known})")
    if len(wanted) > 1:
        raise StateError(f"several emulations are running ({known}): say which with --run NAME")
    return wanted[0]


def execute_on(emulation: Emulation, node: str, command: Sequence[str]) -> NoReturn:
    """Replace this process with `command` in the network namespace of `node`, so that terminal, signals and exit status
    are the program's own. StateError when there is no such node, or one may not; OSError when it cannot be run.

    The program is part of the emulation: it ends with it."""
    record = emulation.nodes.get(node)
    if record is None:
        raise StateError(f"{emulation.name} has no node `{node}` (it has {', '.join(emulation.nodes)})")
    try:
        enter_network_namespace(record.pid)
    except PermissionError:
        raise StateError("entering a node's namespace needs root") from None
    except OSError as error:
        raise StateError(f"{node} is gone: {error.strerror}") from None
    os.execvpe(command[0], list(command), {**os.environ, MARK: emulation.name, "CANOPY_NODE": node})


def remove_leftovers() -> list[str]:
    """Kill the processes and remove the state directories of emulations whose runner was killed; their names.

    A namespace and its interfaces vanish with the last process in it, so nothing else is left to remove."""
    removed = []
    for path in _state_directories():
        if _is_held(path):
            continue
        kill_marked(path.name)
        shutil.rmtree(path, ignore_errors=True)
        removed.append(path.name)
    return removed


def kill_marked(name: str, namespaces: frozenset[int] = frozenset()) -> None:
    """Kill every process that carries an emulation's mark or is in one of its network namespaces, but not this one."""
    deadline = time.monotonic() + _KILL_DEADLINE_S
    while pids := list(_marked(name, namespaces)):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return  # in an uninterruptible sleep: nothing more can be done about it
        time.sleep(0.01)


def _marked(name: str, namespaces: frozenset[int]) -> Iterator[int]:
    mark = f"{MARK}={name}".encode()
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        if process_start_time(int(entry)) is None:
            continue
        try:
            environment = Path(f"/proc/{entry}/environ").read_bytes()
        except OSError:
            continue
        if mark in environment.split(b"\0") or network_namespace(entry) in namespaces:
            yield int(entry)


def _state_directories() -> list[Path]:
    try:
        return sorted(path for path in state_root().iterdir() if path.is_dir() and _NAME.fullmatch(path.name))
    except OSError:
        return []

"""Where a running emulation keeps its state: the controller's socket, its event log, the sessions' status files.

STATE_DIR/controller.sock    the API (docs/controller.md)
STATE_DIR/controller.lock    locked while a controller runs there
STATE_DIR/events.jsonl       events, one JSON object a line
STATE_DIR/down_links.json    links that are down, for the next controller
STATE_DIR/members.json       members, for the next controller
STATE_DIR/sessions/N.json    status of session N (docs/status.md)
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SOCKET_NAME = "controller.sock"
LOCK_NAME = "controller.lock"
EVENTS_NAME = "events.jsonl"
DOWN_LINKS_NAME = "down_links.json"
MEMBERS_NAME = "members.json"
SESSIONS_NAME = "sessions"

_SOCKET_PATH_BYTES = 107  # sun_path of unix(7) without its final zero


class StateDirError(Exception):
    """A state directory cannot be used, or none was found. The message is one line for the user."""


def default_roots() -> list[Path]:
    """Directories that hold one state directory for each running emulation; CANOPY_STATE_ROOT replaces them all."""
    if root := os.environ.get("CANOPY_STATE_ROOT"):
        return [Path(root)]
    roots = [Path("/run/canopy")]
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        roots.append(Path(runtime) / "canopy")
    return roots


def find_running(name: str | None = None, roots: list[Path] | None = None) -> Path:
    """The state directory of the emulation of that name (the scenario's will do), or of the only one whose controller
    answers. A name that none has may be a directory's. Raises StateDirError."""
    roots = default_roots() if roots is None else roots
    found = [path for root in roots for path in _socket_paths(root)]
    running = [path.parent for path in found if _answers(path)]
    wanted = [one for one in running if name is None or name in (one.name, one.name.rpartition("-")[0])]
    if len(wanted) > 1:
        names = ", ".join(sorted(one.name for one in wanted))
        raise StateDirError(f"several emulations are running ({names}): say which with --run NAME")
    if wanted:
        return wanted[0]
    if name is not None and ("/" in name or Path(name).is_dir()):
        return Path(name)
    closed = [root for root in roots if root.is_dir() and not os.access(root, os.R_OK | os.X_OK)]
    closed += [path.parent for path in found if path.exists() and not os.access(path, os.R_OK | os.W_OK)]
    if closed:
        raise StateDirError(f"{closed[0]}: only root may look at the emulations there: run it as root (sudo)")
    called = "" if name is None else f" called {name}"
    raise StateDirError(
        f"no emulation{called} is running (looked in {', '.join(map(str, roots))}; --state-dir looks elsewhere)"
    )


def check_socket_path(directory: Path) -> Path:
    """The socket's path in a state directory. Raises StateDirError when the system could not bind it."""
    path = directory / SOCKET_NAME
    if len(os.fsencode(path)) > _SOCKET_PATH_BYTES:
        raise StateDirError(f"{path}: longer than the {_SOCKET_PATH_BYTES} bytes a Unix socket's path may have")
    return path


@contextmanager
def claim(directory: Path) -> Iterator[None]:
    """Create a state directory and hold its lock, so that one controller runs there. Raises StateDirError."""
    try:
        (directory / SESSIONS_NAME).mkdir(parents=True, exist_ok=True)
        lock = (directory / LOCK_NAME).open("w")
    except OSError as error:
        raise StateDirError(f"{directory}: {error.strerror or error}") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise StateDirError(f"{directory}: a controller runs there already") from None
        # Holding the lock means that a socket which is there was left behind by a controller that was killed.
        (directory / SOCKET_NAME).unlink(missing_ok=True)
        yield


def _socket_paths(root: Path) -> list[Path]:
    try:
        return [root / SOCKET_NAME, *root.glob(f"*/{SOCKET_NAME}")]
    except OSError:
        return []


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(2.0)
        try:
            client.connect(str(path))
        except OSError:
            return False
        return True

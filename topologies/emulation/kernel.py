"""The few Linux system calls that Python 3.11 does not have."""

import ctypes
import os
import signal
from collections.abc import Callable
from pathlib import Path

CLONE_NEWNET = 0x40000000
"""linux/sched.h"""
PR_SET_PDEATHSIG = 1
"""linux/prctl.h"""

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def enter_new_network_namespace() -> None:
    """Move this thread, and every thread and process it starts from now on, into an empty network namespace.

    OSError (EPERM) without root."""
    _check(_libc.unshare(CLONE_NEWNET), "unshare")


def enter_network_namespace(pid: int) -> None:
    """Move this thread into the network namespace of a process. OSError when it is gone or one may not."""
    descriptor = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    try:
        _check(_libc.setns(descriptor, CLONE_NEWNET), "setns")
    finally:
        os.close(descriptor)


def die_with_parent() -> Callable[[], None]:
    """A `preexec_fn` after which the child is killed when the thread that started it ends, even by kill -9."""
    parent = os.getpid()

    def prepare() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it ended before the call
            os._exit(1)

    return prepare


def network_namespace(pid: int | str = "self") -> int | None:
    """The inode that identifies a process's network namespace; None when the process is gone."""
    try:
        return os.stat(f"/proc/{pid}/ns/net").st_ino
    except OSError:
        return None


def process_start_time(pid: int) -> int | None:
    """When a process started, in clock ticks since boot (proc(5), field 22); None when it is gone or a zombie.

    A pid together with its start time names one process for good; a pid alone is used again."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="latin-1").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])

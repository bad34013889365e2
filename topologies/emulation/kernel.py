"""The few Linux system calls that Python 3.11 does not have."""

import ctypes
import errno
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWNET = 0x40000000
"""linux/sched.h"""
MS_BIND = 1 << 12
MS_REC = 1 << 14
MS_PRIVATE = 1 << 18
"""linux/mount.h"""

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def enter_new_network_namespace() -> None:
    """Move this thread, and every thread and process it starts from now on, into an empty network namespace.

    It gets a mount namespace too, with a /sys that shows the new interfaces: programs look there. OSError (EPERM)
    without root."""
    _check(_libc.unshare(CLONE_NEWNET | CLONE_NEWNS), "unshare")
    _check(_libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount")
    _check(_libc.mount(b"sysfs", b"/sys", b"sysfs", 0, None), "mount")


def new_network_namespace() -> int:
    """The descriptor of an empty network namespace, which this thread stays out of. OSError (EPERM) without root.

    It has no name: it ends, with its interfaces, when no descriptor and no process holds it any more."""
    outside = _current_network_namespace()
    try:
        _check(_libc.unshare(CLONE_NEWNET), "unshare")
        try:
            return _current_network_namespace()
        finally:
            _check(_libc.setns(outside, CLONE_NEWNET), "setns")
    finally:
        os.close(outside)


def _current_network_namespace() -> int:
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def bind_file(source: Path, target: Path) -> None:
    """Show `source` in place of `target` in this mount namespace. OSError when there is no `target`."""
    _check(_libc.mount(bytes(source), bytes(target), None, MS_BIND, None), f"mount {target}")


def enter_network_namespace(pid: int) -> None:
    """Move this process, which has one thread, into the network and mount namespaces of another.

    OSError when that is gone or one may not."""
    folder = os.getcwd()
    kinds = {"net": CLONE_NEWNET, "mnt": CLONE_NEWNS}
    descriptors = {kind: os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY) for kind in kinds}
    for kind, descriptor in descriptors.items():
        _check(_libc.setns(descriptor, kinds[kind]), "setns")
        os.close(descriptor)
    os.chdir(folder)


_DIE_WITH_PARENT = '[ "$PPID" = "$0" ] && exec "$@"'
"""A parent that ended before the call to prctl is no longer ours."""


def dying_with_parent(command: Sequence[str]) -> list[str]:
    """The command, run so that it is killed when the thread that started it ends, even by kill -9.

    Programs do it, as a `preexec_fn` would run Python between fork and exec, where a library with threads (gRPC) may
    have left anything. OSError (ENOENT) when there is no such program."""
    if shutil.which(command[0]) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command[0])
    return ["setpriv", "--pdeathsig", "KILL", "sh", "-c", _DIE_WITH_PARENT, str(os.getpid()), *command]


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

"""Network namespaces of the calling thread, for tests with real interfaces. Nothing needs a name or is left behind: a
namespace ends, with its interfaces, when its last descriptor is closed."""

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CLONE_NEWNET = 0x40000000  # sched.h
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> None:
    if result != 0:
        errno = ctypes.get_errno()
        raise OSError(errno, os.strerror(errno))


def _current() -> int:
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


class Namespace:
    """A network namespace that the calling thread can enter. Sockets stay in the one that they were made in."""

    def __init__(self) -> None:
        outside = _current()
        try:
            _check(_libc.unshare(_CLONE_NEWNET))
            self._fd = _current()
            ip("link", "set", "lo", "up")
        finally:
            _check(_libc.setns(outside, _CLONE_NEWNET))
            os.close(outside)

    @property
    def path(self) -> str:
        """What `ip link set ... netns` takes."""
        return f"/proc/{os.getpid()}/fd/{self._fd}"

    @contextmanager
    def entered(self) -> Iterator[None]:
        outside = _current()
        _check(_libc.setns(self._fd, _CLONE_NEWNET))
        try:
            yield
        finally:
            _check(_libc.setns(outside, _CLONE_NEWNET))
            os.close(outside)

    def close(self) -> None:
        os.close(self._fd)


@contextmanager
def namespaces(count: int) -> Iterator[list[Namespace]]:
    made = [Namespace() for _ in range(count)]
    try:
        yield made
    finally:
        for namespace in made:
            namespace.close()


def ip(*arguments: str) -> None:
    """Runs ip(8) in the calling thread's namespace."""
    subprocess.run(["ip", *arguments], check=True)


def quiet(interface: str) -> None:
    """No IPv6, whose router solicitations and reports would come between a test's frames."""
    Path(f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6").write_text("1")


def add_veth(switch_end: str, host_end: str, host: Namespace | None = None, address: str | None = None) -> None:
    """A pair of interfaces, both up; the host's end in its namespace if one is given."""
    ip("link", "add", switch_end, "type", "veth", "peer", "name", host_end)
    quiet(switch_end)
    quiet(host_end)
    ip("link", "set", switch_end, "up")
    if host is None:
        ip("link", "set", host_end, "up")
        return
    ip("link", "set", host_end, "netns", host.path)
    with host.entered():
        quiet(host_end)  # once more: an interface that moves gets its new namespace's settings
        ip("link", "set", host_end, "up")
        if address is not None:
            ip("address", "add", address, "dev", host_end)

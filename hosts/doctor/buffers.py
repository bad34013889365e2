"""Whether a receiver may wait for the processor without losing packets, and join as many groups as it likes."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hosts.doctor.finding import Finding
from hosts.runtime import sockets

SYSCTLS: Final = Path("/proc/sys")
GROUPS: Final = 64
"""A WEBRC session's channels and the base channel are fewer with any sensible parameters (ours)."""
FAST_BUFFER_BYTES: Final = 1 << 24
"""A tenth of a second at 1 Gbit/s: what a LAN's receiver may ask for (ours)."""


def check(sysctls: Path = SYSCTLS) -> Iterator[Finding]:
    """Socket buffers and memberships."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        given = sockets.size_receive_buffer(probe)
    wanted = sockets.RECEIVE_BUFFER_BYTES
    if given >= wanted:
        yield Finding("buffers", "receive buffer", "ok", f"{given} bytes")
    else:
        yield Finding(
            "buffers", "receive buffer", "advice", f"{given} bytes, {wanted} wanted",
            f"sysctl -w net.core.rmem_max={wanted}",
        )  # fmt: skip
    yield _least(sysctls, "net.core.rmem_max", FAST_BUFFER_BYTES, "above some 100 Mbps", "buffers")
    yield _least(sysctls, "net.core.wmem_max", 1 << 20, "above some 100 Mbps", "buffers")
    yield _least(sysctls, "net.ipv4.igmp_max_memberships", GROUPS, "for WEBRC, a group a channel", "multicast")
    yield _least(sysctls, "net.ipv4.igmp_max_msf", 10, "for sources of one group", "multicast")


def _least(sysctls: Path, name: str, least: int, why: str, area: str) -> Finding:
    try:
        value = int((sysctls / name.replace(".", "/")).read_text())
    except (OSError, ValueError):
        return Finding(area, name, "unknown", "cannot be read", parts=("agents", "emulation"))
    if value >= least:
        return Finding(area, name, "ok", str(value), parts=("agents", "emulation"))
    return Finding(area, name, "advice", f"{value}", f"{why}: sysctl -w {name}={least}", ("agents", "emulation"))

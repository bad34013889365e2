"""What this user may do."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hosts.doctor.finding import Finding, Part

_CAPABILITIES: Final = {"CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13, "CAP_SYS_ADMIN": 21}
"""linux/capability.h."""
_NEEDED: Final[dict[str, tuple[Part, ...]]] = {
    "CAP_NET_RAW": ("switch", "emulation"),
    "CAP_NET_ADMIN": ("emulation",),
    "CAP_SYS_ADMIN": ("emulation",),
}
_PROGRAMS: Final = {"mnexec": "mininet", "ip": "iproute2", "tc": "iproute2", "ethtool": "ethtool", "sysctl": "procps"}


def check(status: Path = Path("/proc/self/status")) -> Iterator[Finding]:
    """Capabilities and programs."""
    held = _held(status)
    for name, parts in _NEEDED.items():
        if held >> _CAPABILITIES[name] & 1:
            yield Finding("permissions", name, "ok", "held", parts=parts)
        else:
            yield Finding("permissions", name, "missing", f"not held by user {os.geteuid()}", "run it as root", parts)
    for program, package in _PROGRAMS.items():
        place = shutil.which(program)
        if place is not None:
            yield Finding("programs", program, "ok", place, parts=("emulation",))
        else:
            yield Finding("programs", program, "missing", "not on PATH", f"apt install {package}", ("emulation",))


def _held(status: Path) -> int:
    for line in status.read_text().splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16)
    return 0

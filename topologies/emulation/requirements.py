"""What an emulation needs of the machine, found out before anything is changed on it."""

import importlib.util
import os
import shutil
import subprocess

SWITCHES = ("embedded", "bmv2", "bridge")
"""The kinds of switch that an emulation may have."""
UNCONTROLLED = ("bridge",)
"""Those that no controller knows."""

WITHOUT_ROOT = (
    "emulation needs root: sudo .venv/bin/canopy emulate FILE. Without root these work: canopy simulate FILE, the same "
    "in virtual time; canopy emulate --check FILE; canopy send and canopy recv on a network that exists already"
)

_PROGRAMS = {"mnexec": "mininet", "ip": "iproute2", "tc": "iproute2", "ethtool": "ethtool", "sysctl": "procps"}
"""Program -> Debian package."""


class RequirementError(Exception):
    """Something is missing; one line for the user."""


def check_requirements(switch: str) -> None:
    """RequirementError names the first thing that an emulation with that kind of switch lacks here."""
    if os.geteuid() != 0:
        raise RequirementError(WITHOUT_ROOT)
    if importlib.util.find_spec("mininet") is None:
        raise RequirementError(
            "Mininet's Python package is missing (Debian package `mininet`; the virtual environment must see the "
            "system's packages)"
        )
    for program, package in _PROGRAMS.items():
        if shutil.which(program) is None:
            raise RequirementError(f"`{program}` is missing (Debian package `{package}`)")
    if switch == "bmv2" and shutil.which("simple_switch_grpc") is None:
        raise RequirementError("`simple_switch_grpc` is not on PATH (--switch embedded needs nothing more)")


def check_namespace() -> None:
    """To be called in the run's own namespace. RequirementError when this kernel cannot make veth pairs."""
    made = _run("ip", "link", "add", "probe0", "type", "veth", "peer", "name", "probe1")
    if made.returncode != 0:
        raise RequirementError(f"this kernel cannot make veth interfaces: {_reason(made)}")
    _run("ip", "link", "del", "probe0")


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _reason(result: subprocess.CompletedProcess[str]) -> str:
    return (result.stderr or result.stdout).strip().splitlines()[-1] if result.stderr or result.stdout else "no reason"

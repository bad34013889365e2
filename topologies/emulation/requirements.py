"""What an emulation needs of the machine, found out before anything is changed on it."""

import importlib.util
import os
import shutil
import subprocess

from topologies.emulation.linkspec import TC_KINDS

WITHOUT_ROOT = (
    "emulation needs root: network namespaces, veth interfaces and AF_PACKET sockets. "
    "Run it with sudo. Without root these work: canopy emulate --check FILE, canopy send and canopy recv on a network "
    "that exists already, canopy bench, and the unit and packet-level tests (make test-python)"
)

_PROGRAMS = {
    "mnexec": "mininet",
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "sysctl": "procps",
}
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


def traffic_control_kinds() -> frozenset[str]:
    """The queueing disciplines of `TC_KINDS` that this kernel has; to be called in the run's own namespace."""
    options = {
        "tbf": "rate 1mbit burst 10k limit 10k",
        "netem": "delay 1ms",
        "red": "limit 100000 min 10000 max 30000 avpkt 1000 burst 20 bandwidth 10mbit probability 0.1",
        "pfifo": "limit 10",
        "bfifo": "limit 10000",
    }
    found = []
    for kind in TC_KINDS:
        if _run("tc", "qdisc", "replace", "dev", "lo", "root", kind, *options[kind].split()).returncode == 0:
            found.append(kind)
            _run("tc", "qdisc", "del", "dev", "lo", "root")
    return frozenset(found)


def tcp_congestion_controls() -> list[str]:
    """The congestion control algorithms that this kernel's TCP has ready or can load."""
    shown = _run("sysctl", "-n", "net.ipv4.tcp_available_congestion_control")
    return shown.stdout.split()


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _reason(result: subprocess.CompletedProcess[str]) -> str:
    return (result.stderr or result.stdout).strip().splitlines()[-1] if result.stderr or result.stdout else "no reason"

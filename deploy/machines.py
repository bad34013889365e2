"""Machines that systemd boots, on one kernel: systemd-nspawn on overlays, and veth pairs between them.

To be used in mount, process and network namespaces of one's own, with which everything goes away.
"""

import contextlib
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BOOT_S: Final = 120
STEP_S: Final = 300
"""On a machine that is busy with other things."""
_QUIET: Final = ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--boot"]


def run(*command: str) -> str:
    """Run a program; its output. RuntimeError when it fails, with what it said."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


@contextlib.contextmanager
def overlay(lower: Path, place: Path) -> Iterator[Path]:
    """A writable view of a folder; what is written goes to `place` and stays there until the next time."""
    for name in ("upper", "work", "root"):
        shutil.rmtree(place / name, ignore_errors=True)
        (place / name).mkdir(parents=True)
    options = f"lowerdir={lower},upperdir={place / 'upper'},workdir={place / 'work'}"
    run("mount", "-t", "overlay", "overlay", "-o", options, str(place / "root"))
    try:
        yield place / "root"
    finally:
        run("umount", "--lazy", str(place / "root"))


def link(one: str, other: str) -> None:
    """A cable between two interfaces, which are to be moved to where they belong."""
    run("ip", "link", "add", one, "type", "veth", "peer", "name", other)


@dataclass
class Machine:
    """A booted one."""

    name: str
    process: subprocess.Popen[bytes]
    leader: int

    def shell(self, script: str) -> str:
        """Run a script as root does, in /root. It stops at the first failure, which is a RuntimeError."""
        inside = ["nsenter", "--target", str(self.leader), "--all", "--root", "--wd"]
        environment = ["/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8"]
        return run("timeout", str(STEP_S), *inside, *environment, "sh", "-ec", f"cd /root\n{script}")

    def take(self, other: "Machine", files: Sequence[str], folder: str) -> None:
        """What `scp` does from the other one."""
        target = Path(f"/proc/{self.leader}/root{folder}")
        target.mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copy(f"/proc/{other.leader}/root{file}", target)


@contextlib.contextmanager
def booted(name: str, root: Path, interfaces: Mapping[str, str], macs: Mapping[str, str]) -> Iterator[Machine]:
    """Boot a machine from its root folder. `interfaces`: name there -> name of the one that is moved there."""
    console = (root.parent / "console.log").open("wb")
    process = subprocess.Popen(
        [*_QUIET, "--directory", str(root), f"--machine={name}", "--private-network"],
        stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        machine = Machine(name, process, _leader(process))
        _wait(machine)
        for there, here in interfaces.items():
            run("ip", "link", "set", here, "netns", str(machine.leader), "name", there)
            if there in macs:
                machine.shell(f"ip link set {there} address {macs[there]}")
        yield machine
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        console.close()


def _leader(process: subprocess.Popen[bytes]) -> int:
    """The machine's first process, which is nspawn's child."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + BOOT_S
    while time.monotonic() < deadline and process.poll() is None:
        for child in children.read_text().split():
            with contextlib.suppress(OSError):
                if Path(f"/proc/{child}/comm").read_text().strip() == "systemd":
                    return int(child)
        time.sleep(0.05)
    raise RuntimeError("the machine does not boot")


def _wait(machine: Machine) -> None:
    """Until systemd has started what it starts."""
    deadline = time.monotonic() + BOOT_S
    while time.monotonic() < deadline:
        with contextlib.suppress(RuntimeError):
            state = machine.shell("systemctl is-system-running || true").strip()
            if state in ("running", "degraded"):
                return
        time.sleep(0.2)
    raise RuntimeError(f"{machine.name} has not booted within {BOOT_S} s")

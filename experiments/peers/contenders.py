"""Who is compared: how each one's receivers and sender are started, and where a receiver's file is afterwards."""

import atexit
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

from engine.command.programs import module_command
from experiments.peers.network import SENDER, receiver
from hosts.programs.keyfile import new_keys, write_keys
from topologies.emulation.session_run import waiting_options

Command: TypeAlias = Sequence[str]

GROUP: Final = "239.1.0.9"
"""What receivers join first, whoever sends."""
_PRIVATE_GROUP: Final = "239.1.1.9"
"""uftp's data travel on a second group."""
_PORT: Final = 5009
_WAIT_S: Final = 20
_UFTP_RTT: Final = "0.1:0.05:0.5"
"""To begin with, least and most: with uftp's 0.5 s to begin with, every phase takes seconds. NORM is told the same."""

_MTCP_QUEUE: Final[Command] = ("--set", "rules=paper", "--set", "alpha=10", "--set", "beta=14")
"""Packets: Vegas yields to a TCP that fills a queue, unless it keeps a share of the queue itself. The bottleneck's has
room for 33 full frames. Chosen in simulation (experiments/results/NOTES.md); 2 and 4, the defaults, are for short
queues."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A program that moves a file to many."""

    name: str
    title: str
    receive: Callable[[int, Path], Command]
    """Receiver 1, 2, ... and its folder -> its program."""
    send: Callable[[Path, int], Command]
    """File and number of receivers -> the sender's, which ends when all have the file."""
    program: str = ""
    """What has to be on PATH; empty: nothing but this project."""
    library: str = ""
    """What has to be installed beside it."""


def _interface(host: str) -> str:
    return f"{host}-eth0"


@cache
def _keys() -> Path:
    """A group's keys, in a file that is there until this program ends."""
    folder = TemporaryDirectory(prefix="canopy-keys-")
    atexit.register(folder.cleanup)
    path = Path(folder.name) / "peers.keys"
    write_keys(path, new_keys())
    return path


def _canopy(protocol: str, *settings: str, name: str = "", title: str = "", is_sealed: bool = False) -> Contender:
    options = ["--protocol", protocol, "--group", GROUP, "--port", str(_PORT)]
    canopy = module_command("hosts.programs.cli")

    def sealed() -> Command:
        return ["--secret-file", str(_keys())] if is_sealed else []

    def receive(number: int, folder: Path) -> Command:
        place = ["--interface", _interface(receiver(number)), "--output", str(folder)]
        return [*canopy, "recv", *options, *sealed(), *place, "--quiet"]

    def send(file: Path, receivers: int) -> Command:
        joined = waiting_options(protocol, receivers, _WAIT_S)
        place = ["--interface", _interface(SENDER)]
        return [*canopy, "send", *options, *sealed(), *settings, *place, *joined, "--quiet", str(file)]

    return Contender(name or protocol, f"Canopy, {title or protocol.upper()}", receive, send)


def _uftp(*, is_open: bool = False) -> Contender:
    def groups() -> Command:
        return ["-M", GROUP, "-P", _PRIVATE_GROUP, "-p", str(_PORT), "-t", "8", "-I", _interface(SENDER)]

    def receive(number: int, folder: Path) -> Command:
        place = ["-I", _interface(receiver(number)), "-D", str(folder)]
        return ["uftpd", "-d", "-M", GROUP, "-p", str(_PORT), *place, "-t"]

    def send(file: Path, receivers: int) -> Command:
        return ["uftp", *groups(), "-C", "tfmcc", "-r", _UFTP_RTT, str(file)]

    def send_open(file: Path, receivers: int) -> Command:
        return ["uftp", *groups(), "-R", "-1", str(file)]

    if is_open:
        return Contender("uftp-open", "uftp -R -1 (no congestion control)", receive, send_open, program="uftp")
    return Contender("uftp", "uftp -C tfmcc", receive, send, program="uftp")


def _norm() -> Contender:
    program = module_command("experiments.peers.norm_program")

    def receive(number: int, folder: Path) -> Command:
        return [*program, "recv", GROUP, str(_PORT), _interface(receiver(number)), str(folder), str(number)]

    def send(file: Path, receivers: int) -> Command:
        return [*program, "send", GROUP, str(_PORT), _interface(SENDER), str(file), str(receivers)]

    return Contender("norm", "NORM (libnorm)", receive, send, library="libnorm.so.1")


CONTENDERS: Final[Mapping[str, Contender]] = {
    contender.name: contender
    for contender in (
        _canopy("mtcp", *_MTCP_QUEUE),
        _canopy("mtcp", name="mtcp-default", title="MTCP, default thresholds"),
        _canopy("tfmcc"),
        _canopy("rla"),
        _canopy("arbor", title="Arbor"),
        *(
            _canopy(protocol, name=f"{protocol}-sealed", title=f"{protocol.upper()}, sealed", is_sealed=True)
            for protocol in ("mtcp", "tfmcc", "rla")
        ),
        _uftp(),
        _uftp(is_open=True),
        _norm(),
    )
}

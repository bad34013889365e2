"""The same file at the speed of the machine: one sender and its receivers on one bridge, without any shaping.

Only the data phase counts: from the first data that reach a receiver until the last receiver has the file, in a folder
in memory, for the disk is not what is compared. Rates in bit/s, times in seconds.
"""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Final

from engine.command.programs import module_command
from experiments.lan.namespaces import FLOODS_S, Namespaces
from experiments.peers.contenders import Contender
from experiments.peers.network import SENDER, receiver
from experiments.peers.program import HostProgram
from experiments.peers.transfer import TransferError, arrived, received
from topologies.emulation.kernel import dying_with_parent

FAST: Final = ("mtcp-default", "tfmcc", "rla", "arbor", "uftp", "uftp-open", "norm")
"""Who is compared."""
_MEMORY: Final = Path("/dev/shm")
_BRIDGE: Final = "lan"
_WIRE: Final = "wire"
_ADDRESS: Final = "10.79.0.{}"
_LEAD_S: Final = 2.5
"""Until all receivers listen (ours)."""
_LIMIT_S: Final = 600.0
_DATA_BYTES: Final = 100_000
"""What a receiver has got when it is not only announcements (ours)."""
_POLL_S: Final = 0.005
_POLLS_OF_MEMORY: Final = 20
"""Memory is looked at once in so many (ours)."""
_BURST_BYTES: Final = 128 * 1024
"""Which a shaped port sends at once: two of the bundles that the kernel cuts later (ours)."""
_QUEUE_S: Final = 0.02
"""Of a shaped port (ours)."""
_LOSSES: Final = (
    ("add", "table", "ip", "lossy"),
    ("add", "chain", "ip", "lossy", "in", "{ type filter hook prerouting priority -300; }"),
    ("add", "rule", "ip", "lossy", "in", "udp", "length", ">", "500", "numgen", "random", "mod", "100", "0", "drop"),
)
"""Of data only: 1 % of what is longer than control packets are."""


@dataclass(frozen=True, slots=True)
class FastTransfer:
    """One transfer."""

    goodput_bps: float
    """The file's bits over the data phase."""
    whole_s: float
    """From the sender's start to its end."""
    sender_cpu_s: float
    receiver_cpu_s: float
    """Of one receiver, in the mean. Both from a program's start to its end."""
    sender_peak_bytes: int
    receiver_peak_bytes: int
    """The most memory that the sender, and that a receiver, has had in use."""


@dataclass(frozen=True, slots=True)
class FastLine:
    """Medians over a contender's runs."""

    contender: str
    receivers: int
    runs: int
    goodput_bps: float
    whole_s: float
    sender_cpu_s: float
    receiver_cpu_s: float
    sender_peak_bytes: float
    receiver_peak_bytes: float


def median_line(contender: str, receivers: int, found: Sequence[FastTransfer]) -> FastLine:
    """ValueError without runs."""
    if not found:
        raise ValueError("no runs")
    return FastLine(
        contender,
        receivers,
        len(found),
        median(one.goodput_bps for one in found),
        median(one.whole_s for one in found),
        median(one.sender_cpu_s for one in found),
        median(one.receiver_cpu_s for one in found),
        median(one.sender_peak_bytes for one in found),
        median(one.receiver_peak_bytes for one in found),
    )


@dataclass(frozen=True, slots=True)
class Crowd:
    """Who receives."""

    receivers: int
    lossy: int = 0
    """Of them, the first ones, that lose 1 % of the packets that come."""
    link_bps: float = 0.0
    """What the bridge sends each of them, with its headers; 0: as much as comes."""
    delay_s: float = 0.0
    """How long a frame is on its way between the sender and the bridge, either way."""


class Unshaped(Namespaces):
    """One bridge, whose ports are only shaped when the crowd's links have a rate. BedError when the kernel has none."""

    def __init__(self, crowd: Crowd) -> None:
        super().__init__()
        self._names = [SENDER, *(receiver(number) for number in range(1, crowd.receivers + 1))]
        self._lossy = self._names[1 : crowd.lossy + 1]
        self._link_bps = crowd.link_bps
        self._delay_s = crowd.delay_s
        self._wire: subprocess.Popen[bytes] | None = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._wire is not None:
            self._wire.kill()
            self._wire.wait()
        super().__exit__(kind, error, trace)

    def build(self) -> None:
        self.add(_BRIDGE)
        self.add_bridge(_BRIDGE, _BRIDGE)
        for number, name in enumerate(self._names, 1):
            self.add(name)
            self.attach(name, _BRIDGE, _BRIDGE, f"{_ADDRESS.format(number)}/24")
            if name == SENDER and self._delay_s:
                self._lengthen()
            self.on(name, "ip", "link", "set", "eth0", "down")
            self.on(name, "ip", "link", "set", "eth0", "name", f"{name}-eth0", "up")  # as in an emulation
            self.on(name, "ip", "link", "set", "lo", "up")
            self.on(name, "ip", "route", "add", "224.0.0.0/4", "dev", f"{name}-eth0")
        for name in self._names[1:] if self._link_bps else ():
            shaping = (
                "rate",
                f"{self._link_bps:.0f}bit",
                "burst",
                str(_BURST_BYTES),
                "latency",
                f"{_QUEUE_S * 1e3:g}ms",
            )
            self.on(_BRIDGE, "tc", "qdisc", "add", "dev", name, "root", "tbf", *shaping)
        if self._lossy:  # single packets are lost, not what the kernel cuts later
            self.on(SENDER, "ethtool", "-K", f"{SENDER}-eth0", "tx-udp-segmentation", "off")
        for name in self._lossy:
            for words in _LOSSES:
                self.on(name, "nft", *words)
        time.sleep(FLOODS_S)

    def _lengthen(self) -> None:
        """Put a wire between the sender and its port of the bridge: that port's name is its far end's then."""
        self.add(_WIRE)
        self.on(_BRIDGE, "ip", "link", "set", SENDER, "nomaster")
        self.on(_BRIDGE, "ip", "link", "set", SENDER, "netns", self.path(_WIRE))
        self.connect(_WIRE, "far", _BRIDGE, "far")
        self.on(_BRIDGE, "ip", "link", "set", "far", "master", _BRIDGE, "up")
        for end in (SENDER, "far"):
            self.on(_WIRE, "ip", "link", "set", end, "up")
        wire = module_command("experiments.lan.wire", SENDER, "far", str(self._delay_s))
        self._wire = subprocess.Popen(dying_with_parent(self.command(_WIRE, *wire)))


def fast_transfer(contender: Contender, file: Path, crowd: Crowd) -> FastTransfer:
    """Move the file to them. TransferError when not all receivers get it; BedError."""
    base = Path(tempfile.mkdtemp(prefix="canopy-fast-", dir=_MEMORY if _MEMORY.is_dir() else None))
    try:
        with Unshaped(crowd) as lan:
            return _move(contender, file, crowd.receivers, lan, base)
    finally:
        shutil.rmtree(base, ignore_errors=True)


def _move(contender: Contender, file: Path, receivers: int, lan: Unshaped, base: Path) -> FastTransfer:
    programs: list[HostProgram] = []
    folders = [base / receiver(number) for number in range(1, receivers + 1)]

    def start(host: str, command: Sequence[str]) -> HostProgram:
        programs.append(HostProgram(lan.command(host, *command), "fast", base / f"{host}.log"))
        return programs[-1]

    try:
        for number, folder in enumerate(folders, 1):
            folder.mkdir()
            start(receiver(number), contender.receive(number, folder))
        time.sleep(_LEAD_S)
        first = programs[0].pid
        before = received(first)
        begun_at = time.monotonic()
        begin: float | None = None
        sender = start(SENDER, contender.send(file, receivers))
        peaks, polls = [0] * len(programs), 0
        while not sender.has_ended():
            if not (polls := polls + 1) % _POLLS_OF_MEMORY:
                peaks = [max(peak, program.peak_bytes) for peak, program in zip(peaks, programs, strict=True)]
            if begin is None and received(first) > before + _DATA_BYTES:
                begin = time.time()
            if time.monotonic() > begun_at + _LIMIT_S:
                raise TransferError(f"{contender.title} did not end within {_LIMIT_S:g} s")
            time.sleep(_POLL_S)
        whole_s = time.monotonic() - begun_at
        if sender.status != 0 or begin is None:
            raise TransferError(f"{contender.title}: status {sender.status}: {sender.last_words()}")
        seconds = max(arrived(folder, file) for folder in folders) - begin
    except OSError as error:
        raise TransferError(f"{contender.title}: {error}") from None
    finally:
        for program in programs:
            program.end()
    cpu = [program.cpu_s for program in programs[:-1]]
    goodput_bps, receiver_cpu_s = file.stat().st_size * 8 / seconds, sum(cpu) / len(cpu)
    return FastTransfer(goodput_bps, whole_s, sender.cpu_s, receiver_cpu_s, peaks[-1], max(peaks[:-1]))

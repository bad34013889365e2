"""One transfer through the emulated network, by one contender, alone or beside a TCP; and what it amounted to."""

import hashlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml

from controller.api import ApiClient
from controller.statedir import SOCKET_NAME
from engine.command.programs import module_command
from experiments.peers.contenders import GROUP, Contender
from experiments.peers.network import BOTTLENECK_BPS, FAR, NEAR, RECEIVERS, SENDER, document, receiver
from experiments.peers.program import HostProgram
from topologies.emulation.kernel import dying_with_parent
from topologies.emulation.sampler import read_interface_counters
from topologies.emulation.state import Emulation, read_record
from topologies.results.bottleneck import rate_between
from topologies.results.run_folder import RunFolder, read_series

LEAD_S: Final = 5.0
"""The TCP is past its slow start when the session begins."""
UP_LIMIT_S: Final = 180.0
JOIN_LIMIT_S: Final = 90.0
TRANSFER_LIMIT_S: Final = 240.0
AFTER_S: Final = 5.0
"""What receivers may take to put their file in place after the sender has ended."""
_DATA_BYTES: Final = 20_000
"""What a receiver has got when it is not only announcements."""
_POLL_S: Final = 0.01


Rows: TypeAlias = Sequence[Mapping[str, Any]]
"""Of a time series."""


class TransferError(Exception):
    """A transfer did not come about; one line for the user."""


@dataclass(frozen=True, slots=True)
class Transferred:
    """One transfer. Rates in bit/s, times in seconds."""

    seconds: float
    """From the first data that reach a receiver until the last receiver has the file."""
    goodput_bps: float
    """The file's bits over that time."""
    filled: float
    """The part of the bottleneck that the session's and the TCP's frames used in that time."""
    tcp_bps: float | None
    """What the TCP brought in that time."""
    loss: float
    """The part of the sender's bytes that did not reach receiver 1."""
    sender_cpu_s: float
    receiver_cpu_s: float
    """Of one receiver, in the mean."""


@dataclass(frozen=True, slots=True)
class Window:
    """When a transfer was, in seconds since 1970, and what its programs took."""

    begin: float
    end: float
    sender_cpu_s: float
    receiver_cpu_s: float


def transfer(
    contender: Contender, file: Path, congestion_control: str | None, switch: str, said: Callable[[str], None]
) -> Transferred:
    """Bring up the network, move the file, take the network down. TransferError when not all receivers get it."""
    with tempfile.TemporaryDirectory(prefix="canopy-peers-") as scratch:
        base = Path(scratch)
        with _emulation(base, congestion_control, switch) as (emulation, state, ending):
            said(f"{contender.title}: the network is up")
            if congestion_control is not None:
                time.sleep(LEAD_S)
            window = _move(contender, file, emulation, state, base)
            ending()
        return _amount(RunFolder(base / "run"), file.stat().st_size, congestion_control is not None, window)


@contextmanager
def _emulation(
    base: Path, congestion_control: str | None, switch: str
) -> Iterator[tuple[Emulation, Path, Callable[[], None]]]:
    """A held network, its state directory, and what ends it in good order."""
    scenario = base / "peers.yaml"
    scenario.write_text(yaml.safe_dump(dict(document(congestion_control)), sort_keys=False), encoding="utf-8")
    command = module_command("topologies.cli", "emulate", str(scenario), "--hold", "--json", "--no-report")
    log = base / "emulation.log"
    with log.open("wb") as words:
        runner = subprocess.Popen(
            dying_with_parent([*command, "--switch", switch, "--out", str(base / "run")]),
            stdout=subprocess.DEVNULL,
            stderr=words,
            env={**os.environ, "CANOPY_STATE_ROOT": str(base / "state")},
            start_new_session=True,
        )

    def end() -> None:
        runner.send_signal(signal.SIGINT)
        runner.wait(UP_LIMIT_S)

    try:
        state = base / "state" / f"peers-{runner.pid}"
        record = None
        deadline = time.monotonic() + UP_LIMIT_S
        while record is None or not record.nodes:
            if runner.poll() is not None or time.monotonic() > deadline:
                raise TransferError(f"the network did not come up: {log.read_text(errors='replace').strip()[-400:]}")
            time.sleep(0.05)
            record = read_record(state)
        yield record, state, end
    finally:
        if runner.poll() is None:
            runner.terminate()
            try:
                runner.wait(15)
            except subprocess.TimeoutExpired:
                runner.kill()
                runner.wait()


def _move(contender: Contender, file: Path, emulation: Emulation, state: Path, base: Path) -> Window:
    receivers: list[HostProgram] = []
    folders = [base / "received" / receiver(number) for number in range(1, RECEIVERS + 1)]
    sender: HostProgram | None = None

    def start(host: str, command: Sequence[str]) -> HostProgram:
        way = ["mnexec", "-a", str(emulation.nodes[host].pid)]
        return HostProgram([*way, *command], emulation.name, base / f"{host}.log")

    try:
        for number, folder in enumerate(folders, 1):
            folder.mkdir(parents=True)
            receivers.append(start(receiver(number), contender.receive(number, folder)))
        _wait_for_members(state, receivers)
        first = emulation.nodes[receiver(1)].pid
        before = received(first)
        begin: float | None = None
        sender = start(SENDER, contender.send(file, RECEIVERS))
        deadline = time.monotonic() + TRANSFER_LIMIT_S
        while not sender.has_ended():
            if begin is None and received(first) > before + _DATA_BYTES:
                begin = time.time()
            if time.monotonic() > deadline:
                raise TransferError(f"{contender.title} did not end within {TRANSFER_LIMIT_S:g} s")
            time.sleep(_POLL_S)
        if sender.status != 0 or begin is None:
            raise TransferError(f"{contender.title}: status {sender.status}: {sender.last_words()}")
        end = max(arrived(folder, file) for folder in folders)
    except OSError as error:
        raise TransferError(f"{contender.title}: {error}") from None
    finally:
        for program in (*receivers, *([sender] if sender else [])):
            program.end()
    return Window(begin, end, sender.cpu_s, sum(program.cpu_s for program in receivers) / len(receivers))


def _wait_for_members(state: Path, receivers: Sequence[HostProgram]) -> None:
    """Until the controller knows all receivers as members of the group."""
    deadline = time.monotonic() + JOIN_LIMIT_S
    with ApiClient(state / SOCKET_NAME) as client:
        while True:
            groups = client.call("groups", counters=False)
            members = {host for found in groups if found["group"] == GROUP for host in found["members"]}
            if len(members) == len(receivers):
                return
            ended = next((program for program in receivers if program.has_ended()), None)
            if ended is not None:
                raise TransferError(f"a receiver ended with status {ended.status}: {ended.last_words()}")
            if time.monotonic() > deadline:
                raise TransferError(f"only {len(members)} of {len(receivers)} receivers have joined")
            time.sleep(0.1)


def received(pid: int) -> int:
    """Bytes that the host of a process has received."""
    counters = read_interface_counters(Path(f"/proc/{pid}/net/dev").read_text(encoding="ascii"))
    return sum(values["rx_bytes"] for name, values in counters.items() if name != "lo")


def arrived(folder: Path, file: Path) -> float:
    """When a receiver's file was there, whole. TransferError when it is not, or another."""
    path = folder / file.name
    deadline = time.monotonic() + AFTER_S
    while not path.is_file() and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    if not path.is_file() or _digest(path) != _digest(file):
        raise TransferError(f"{folder.name} does not have the file")
    # The time of the last change of any kind: programs may set the modification time to the source's.
    return path.stat().st_ctime


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _amount(folder: RunFolder, size: int, with_tcp: bool, window: Window) -> Transferred:
    epoch = float(json.loads(folder.summary.read_text(encoding="utf-8"))["epoch"])
    ports = read_series(folder.series / "ports.jsonl")
    return amount(ports, read_series(folder.series / "flow-0.jsonl") if with_tcp else None, size, epoch, window)


def amount(ports: Rows, flow: Rows | None, size: int, epoch: float, window: Window) -> Transferred:
    """From the series of a run (docs/emulation.md); times in them count from `epoch`. TransferError without them."""
    since, until = window.begin - epoch, window.end - epoch

    def counter(switch: str, neighbour: str, column: str) -> list[tuple[float, float]]:
        return [(row["t"], row[column]) for row in ports if (row["switch"], row["neighbour"]) == (switch, neighbour)]

    core = rate_between(counter(NEAR, FAR, "tx_bytes"), since, until)
    sent, got = counter(NEAR, SENDER, "rx_bytes"), counter(FAR, receiver(1), "tx_bytes")
    tcp = None if flow is None else rate_between([(row["t"], row["acked_bytes"]) for row in flow], since, until)
    if core is None or not sent or not got or (flow is not None and tcp is None):
        raise TransferError("nothing was measured during the transfer")
    seconds = until - since
    return Transferred(
        seconds,
        size * 8 / seconds,
        core / BOTTLENECK_BPS,
        tcp,
        max(0.0, 1 - (got[-1][1] - got[0][1]) / (sent[-1][1] - sent[0][1])),
        window.sender_cpu_s,
        window.receiver_cpu_s,
    )

"""One run on the LAN: its programs, and what they leave in a run folder.

A protocol that carries real-time data sends a stream without end, another a file, beside a TCP one too long to end.
"""

import os
import time
from pathlib import Path
from typing import Final

from engine.command.programs import module_command
from experiments.lan.network import SENDER, Lan
from experiments.lan.scenario import DATA_BYTES, LINK, LanScenario
from hosts import protocols
from topologies.emulation.child import Child, ChildError, stop_all
from topologies.emulation.flow_run import sink_command, source_command
from topologies.emulation.kernel import network_namespace
from topologies.emulation.sampler import read_interface_counters
from topologies.emulation.session_run import ENDLESS_INPUT, stream_command, waiting_options
from topologies.plan import FIRST_FLOW_PORT
from topologies.results.run_folder import RunFolder, SeriesWriter

_GROUP: Final = "232.78.0.1"
_PORT: Final = 5078
_LEAD_S: Final = 5.0
"""The TCP is past its slow start when the session begins (ours)."""
_JOIN_S: Final = 40.0
"""What a session may take to begin (ours)."""
_SLOWEST: Final = 4
"""A file alone may take so many times what it takes at the link's rate (ours)."""
_SAMPLE_S: Final = 0.1


class LanError(Exception):
    """A run did not come about; one line for the user."""


def run(scenario: LanScenario, folder: RunFolder, epoch: float, file: Path) -> None:
    """Build the network, run, take it down; `file` is written where one is sent. BedError, LanError."""
    for place in (folder.series, folder.logs):
        place.mkdir(parents=True, exist_ok=True)
    programs: list[Child] = []
    with Lan(scenario) as lan:

        def start(name: str, host: str, command: list[str]) -> Child:
            programs.append(Child(name, lan.command(host, *command), folder.logs / f"{name}.log"))
            return programs[-1]

        try:
            for number, flow in enumerate(scenario.traffic):
                address = f"{lan.addresses[flow.destination]}:{FIRST_FLOW_PORT + number}"
                sink, source = (folder.flow_trace(number, sink=sink) for sink in (True, False))
                start("sink", flow.destination, sink_command(flow, address, sink, epoch))
                start("source", flow.source, source_command(flow, address, source, epoch, seed=number))
                time.sleep(_LEAD_S)
            receivers = [start(name, name, _receive(scenario, lan, name, folder)) for name in scenario.names]
            sender = start(SENDER, SENDER, _send(scenario, lan, folder, file))
            _watch(scenario, sender, receivers[0], folder, epoch)
            # A receiver of a file ends with it; with another status, or of a stream, it has died.
            if ended := [one for one in receivers if one.returncode not in (None, 0)]:
                raise LanError(f"{ended[0].name} ended with status {ended[0].returncode}: {ended[0].last_words()}")
        except (ChildError, OSError) as error:
            raise LanError(str(error)) from None
        finally:
            stop_all(programs)


def _options(scenario: LanScenario, lan: Lan, host: str, folder: RunFolder) -> list[str]:
    (session,) = scenario.sessions
    options = ["--protocol", session.protocol, "--group", _GROUP, "--port", str(_PORT), "--session", str(session.id)]
    options += ["--source", lan.addresses[SENDER], "--interface", "eth0", "--quiet"]
    return [*options, "--trace", str(folder.series / f"session-{session.id}-{host}.jsonl")]


def _is_stream(scenario: LanScenario) -> bool:
    return protocols.get(scenario.sessions[0].protocol).carries_realtime


def _receive(scenario: LanScenario, lan: Lan, host: str, folder: RunFolder) -> list[str]:
    options = _options(scenario, lan, host, folder)
    if _is_stream(scenario):
        return stream_command("recv", *options, "-o", os.devnull)
    place = folder.received / host
    place.mkdir(parents=True, exist_ok=True)
    return module_command("hosts.programs.cli", "recv", *options, "--output", str(place))


def _send(scenario: LanScenario, lan: Lan, folder: RunFolder, file: Path) -> list[str]:
    options = _options(scenario, lan, SENDER, folder)
    if _is_stream(scenario):
        return stream_command("send", str(ENDLESS_INPUT), *options)
    with file.open("wb") as sparse:
        # Beside a TCP it is not to end before the time does.
        sparse.truncate(round(scenario.rate_bps / 8 * scenario.seconds * (2 if scenario.traffic else 1)))
    joined = waiting_options(scenario.sessions[0].protocol, scenario.receivers, _JOIN_S / 2)
    return module_command("hosts.programs.cli", "send", str(file), *options, *joined)


def _received(program: Child) -> int | None:
    """Bytes that a program's host has received; None before it is there, and when it has ended."""
    if network_namespace(program.pid) in (None, network_namespace()):
        return None
    try:
        counters = read_interface_counters(Path(f"/proc/{program.pid}/net/dev").read_text(encoding="ascii"))
    except OSError:
        return None
    return counters["eth0"]["rx_bytes"]


def _watch(scenario: LanScenario, sender: Child, first: Child, folder: RunFolder, epoch: float) -> None:
    """Until the file's end, or for the scenario's time from the first data on. LanError when there are none."""
    ends = not _is_stream(scenario) and not scenario.traffic
    limit = scenario.seconds * (_SLOWEST if ends else 1)
    series = SeriesWriter(folder.series / f"{LINK}.jsonl")
    begin, before, started = None, None, time.monotonic()
    try:
        while begin is None or time.monotonic() < begin + limit:
            received = _received(first)
            if received is not None:
                before = received if before is None else before
                series.write([{"t": time.time() - epoch, "bytes": received}])
                if begin is None and received > before + DATA_BYTES:
                    begin = time.monotonic()
            if sender.returncode is not None:
                if ends and sender.returncode == 0:
                    return
                raise LanError(f"the sender ended with status {sender.returncode}: {sender.last_words()}")
            if begin is None and time.monotonic() > started + _JOIN_S:
                raise LanError(f"no data within {_JOIN_S:g} s: {sender.last_words()}")
            time.sleep(_SAMPLE_S)
    finally:
        series.close()
    if ends:
        raise LanError(f"the file was not there within {limit:g} s")

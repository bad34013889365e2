"""From what a run left to its summary: who holds the file, how fast it came, how full the bottleneck was. No clock."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from controller.network import first_error
from controller.sessions import SessionStatus
from topologies.plan import Plan, Source
from topologies.results.bottleneck import Bottleneck, carried, counter_rate
from topologies.results.run_folder import RunFolder, RunFolderError, each_row
from topologies.scenario.activity import Flow
from topologies.scenario.scenario import Scenario
from topologies.scenario.session import Session

FAILED_STATES = ("failed", "aborted")
"""A sender's last words when it has not done what it should (docs/status.md)."""


@dataclass(slots=True)
class ReceiverResult:
    """One receiver of one session. Times are seconds since the network was ready."""

    host: str
    address: str
    expected: bool
    """Whether it should have the whole file: not when the scenario makes it leave or die."""
    complete: bool
    """Whether it holds the whole file under its final name, with the source's SHA-256."""
    detail: str
    sha256: str | None = None
    completed_at: float | None = None
    goodput_bps: float | None = None
    """The file's size over the time that it took, as the receiver says."""
    lost_packets: int | None = None
    repaired_packets: int | None = None
    parent: str | None = None
    """The host that was its parent in the logical tree when the sender last knew it."""

    def take_status(self, status: SessionStatus | None, hosts: Mapping[str, str]) -> None:
        """Put in what the sender said of it last; `hosts` are the hosts' names by address."""
        said = None if status is None else status.receivers.get(self.address)
        if status is not None and said is not None:
            self.lost_packets = said.lost_packets
            self.repaired_packets = said.repaired_packets
            parent = str(status.source) if said.parent is None else said.parent
            self.parent = hosts.get(parent.partition(":")[0])

    def take_sample(self, sample: Mapping[str, Any]) -> None:
        """Put in what it said of itself last, of which its sender may know nothing."""
        if self.lost_packets is None:
            self.lost_packets = sample.get("lost_packets")


@dataclass(slots=True)
class SessionResult:
    """One session."""

    id: int
    protocol: str
    sender: str
    file: str
    bytes: int
    sha256: str
    sending_from: float | None
    """When the sender sent its first data, to within 0.2 s; None: never."""
    sending_until: float | None
    """When it sent its last new data; what comes after is repairs and confirmations."""
    state: str
    detail: str
    feedback_packets: int | None = None
    repair_packets: int | None = None
    receivers: list[ReceiverResult] = field(default_factory=list)
    drop_after_s: float | None = None
    """The policy for slow receivers: one that is silent, or makes no progress, for so long is left behind."""
    dropped: list[str] = field(default_factory=list)
    """The hosts that this happened to."""
    cpu_s: float | None = None
    """What the sender's program took of a processor from the session's start to its end, user and system time. In a
    simulation: what its host's `feedback` says that handling feedback took; None without it."""

    @property
    def ok(self) -> bool:
        """Whether every expected receiver holds the whole file, and the sender does not say that it failed."""
        return not self.failed and all(receiver.complete for receiver in self.receivers if receiver.expected)

    @property
    def failed(self) -> bool:
        """Whether the sender says so; not when all that it lacks are receivers that the scenario makes leave or die,
        beside strangers."""
        dropped = {receiver.host for receiver in self.receivers} & set(self.dropped)
        lacking = {receiver.host for receiver in self.receivers if not receiver.complete} | dropped
        excused = {receiver.host for receiver in self.receivers if not receiver.expected}
        return self.state in FAILED_STATES and not (lacking and lacking <= excused)


@dataclass(slots=True)
class FlowResult:
    """One flow of cross traffic; `goodput_bps` is what its destination got (TCP: acknowledged) over its time."""

    kind: str
    source: str
    destination: str
    goodput_bps: float | None


@dataclass(slots=True)
class QueueResult:
    """A switch port's queue that marks, or drops by an AQM: its counts since the switch was last started."""

    switch: str
    port: int
    neighbour: str
    kind: str
    """As the scenario says it."""
    drop_aqm: int | None
    """Packets that CoDel, FQ-CoDel, PIE or DualPI2 dropped; what found no room is not among them. None: it is
    RED, whose drops ports.jsonl has."""
    marked_packets: int


INTERRUPTED: Final = "interrupted"
"""Outcome of a run that a signal has ended."""


@dataclass(slots=True)
class Summary:
    """`summary.json`."""

    scenario: str
    seed: int
    switch: str
    """`embedded`, `bmv2` or `bridge` of an emulation, `simulated` or `router` of a simulation."""
    started_at: str
    epoch: float
    """When the network was ready, seconds since 1970: where all times in the run folder start. 0 in a simulation, whose
    times are virtual."""
    duration_s: float
    ok: bool
    outcome: str
    """`done`, `time limit` or `interrupted`."""
    sessions: list[SessionResult]
    flows: list[FlowResult]
    bottleneck_utilisation: float | None
    bottlenecks: list[Bottleneck]
    queues: list[QueueResult]
    notes: list[str]
    run_folder: str
    version: int = 1

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@cache
def _adapter() -> TypeAdapter[Summary]:
    """Is made when a summary is read: no run waits for it."""
    return TypeAdapter(Summary)


MOST_NUMBER: Final = 2**63
"""Nothing that is measured in a run is as great."""


def read_summary(folder: RunFolder) -> dict[str, Any]:
    """A finished run's summary as plain data, with all fields and their types. RunFolderError names the file."""
    try:
        text = folder.summary.read_bytes()
    except OSError as error:
        raise RunFolderError(
            f"{folder.path}: no summary.json ({error.strerror}): no run folder, or not over yet"
        ) from None
    try:
        found = _adapter().validate_json(text, strict=True)
        json.loads(text, parse_float=_check, parse_int=_check, parse_constant=_check)
    except ValidationError as error:
        raise RunFolderError(f"{folder.summary}: not a run's summary: {first_error(error)}") from None
    except ValueError as error:
        raise RunFolderError(f"{folder.summary}: not a run's summary: {error}") from None
    return found.as_json()


def _check(text: str) -> None:
    """ValueError: no number, or one that nothing in a run can have."""
    if not abs(float(text)) < MOST_NUMBER:  # nor is it NaN
        raise ValueError(f"{text[:40]} is no number of a run")


def summarize(
    scenario: Scenario,
    plan: Plan,
    folder: RunFolder,
    sessions: list[SessionResult],
    flows: list[FlowResult],
    *,
    switch: str,
    started: datetime,
    epoch: float,
    duration_s: float,
    outcome: str,
    notes: Sequence[str],
) -> Summary:
    """The summary of a run whose time series are complete."""
    on_links, marking = carried(scenario, plan, sessions), {}
    for row in each_row(folder.series / "ports.jsonl"):
        for link in on_links:
            link.take(row)
        if "marked_packets" in row:
            marking[row["switch"], row["port"]] = row
    bottlenecks = [link.bottleneck for link in on_links]
    used = [bottleneck.utilisation for bottleneck in bottlenecks if bottleneck.utilisation is not None]
    for result in sessions:
        if result.state in FAILED_STATES and not result.failed:
            result.state = "done"  # its sender cannot know who was to leave
    return Summary(
        scenario=scenario.name,
        seed=scenario.seed,
        switch=switch,
        started_at=started.isoformat(timespec="seconds"),
        epoch=epoch,
        duration_s=round(duration_s, 3),
        ok=all(result.ok for result in sessions),
        outcome=outcome,
        sessions=sessions,
        flows=flows,
        bottleneck_utilisation=max(used, default=None),
        bottlenecks=bottlenecks,
        queues=_queue_results(plan, marking),
        notes=list(notes),
        run_folder=str(folder.path),
    )


def _queue_results(plan: Plan, last: Mapping[tuple[str, int], Mapping[str, Any]]) -> list[QueueResult]:
    """The queues that mark or have an AQM, of the last rows of ports.jsonl by switch and port."""
    return [
        QueueResult(
            switch=switch.name,
            port=port.number,
            neighbour=port.neighbour,
            kind=port.tx.queue.kind,
            drop_aqm=row.get("drop_aqm"),
            marked_packets=row["marked_packets"],
        )
        for switch in plan.switches.values()
        for port in switch.ports.values()
        if (row := last.get((switch.name, port.number))) is not None
    ]


def session_result(
    session: Session,
    source: Source,
    status: SessionStatus | None,
    trace: Sequence[Mapping[str, Any]],
    hosts: Mapping[str, str],
    *,
    epoch: float = 0.0,
) -> SessionResult:
    """A session without its receivers. `status` is the sender's last one, `trace` its rows, `hosts` are the hosts'
    names by address, and `epoch` is where times start, seconds of the trace's clock."""
    sending = sending_time(trace, epoch)
    return SessionResult(
        id=session.id,
        protocol=session.protocol,
        sender=session.sender,
        file=source.name,
        bytes=source.bytes,
        sha256=source.sha256,
        sending_from=None if sending is None else round(sending[0], 3),
        sending_until=None if sending is None else round(sending[1], 3),
        state="not started" if status is None else status.state,
        detail=_with_names((status.detail if status is not None else None) or "", hosts),
        feedback_packets=None if status is None else status.feedback_packets,
        repair_packets=None if status is None else status.repair_packets,
        drop_after_s=session.drop_after_s,
        dropped=dropped_hosts(status, hosts),
    )


def _with_names(text: str, hosts: Mapping[str, str]) -> str:
    """What a sender says, with its receivers' names in place of their addresses and ports."""
    return re.sub(r"(\d+(?:\.\d+){3}):\d+", lambda found: hosts.get(found[1], found[0]), text)


def dropped_hosts(status: SessionStatus | None, hosts: Mapping[str, str]) -> list[str]:
    """The receivers that were left behind; `hosts` are the hosts' names by address."""
    receivers = {} if status is None else status.receivers
    lost = (address.partition(":")[0] for address, said in receivers.items() if said.state == "lost")
    return [hosts.get(address, address) for address in lost]


def sending_time(trace: Sequence[Mapping[str, Any]], epoch: float) -> tuple[float, float] | None:
    """From when to when a sender had new data to send, from its trace (docs/trace.md).

    That is the last row before any was sent, and the last one before all was. Seconds since `epoch` (wall-clock)."""
    origin = next((row["started_at"] - epoch for row in trace if "started_at" in row), None)
    rows = [row for row in trace if "t" in row and row.get("sent_bytes") is not None]
    if origin is None or not rows or not rows[-1]["sent_bytes"]:
        return None
    everything = max(row["sent_bytes"] for row in rows)
    before = [row["t"] for row in rows if row["sent_bytes"] == 0]
    unfinished = [row["t"] for row in rows if row["sent_bytes"] < everything]
    first = before[-1] if before else 0.0
    return origin + first, origin + max(unfinished[-1] if unfinished else first, first)


def flow_result(flow: Flow, number: int, folder: RunFolder) -> FlowResult:
    """A flow of cross traffic, by its place in the scenario."""
    if flow.kind == "tcp":
        goodput = counter_rate(each_row(folder.flow_trace(number)), "acked_bytes")
    else:
        goodput = counter_rate(each_row(folder.flow_trace(number, sink=True)), "received_bytes")
    return FlowResult(flow.kind, flow.source, flow.destination, None if goodput is None else round(goodput))


def what_counts(sha256s: Iterable[str]) -> str:
    """What complete receivers do, for a person. `sha256s` of the sessions' sources; empty: it is no file."""
    return " or ".join(sorted({"hold the whole file" if sha256 else "took part to the end" for sha256 in sha256s}))

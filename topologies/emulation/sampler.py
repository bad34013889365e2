"""Measures a running emulation: port counters and queues, and what senders say of their sessions."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controller.sessions import SessionStatus, read_sessions
from topologies.run.plan import Plan
from topologies.run.run_folder import RunFolder, SeriesWriter

INTERVAL_S = 0.25
"""Between two samples: short beside a transfer of seconds, long beside a round trip time."""

_COUNTERS = ("rx_bytes", "rx_packets", "tx_bytes", "tx_packets")
_QUEUE_FIELDS = ("queue_packets", "queue_bytes", "drop_queue", "drop_red", "drop_loss")

_SESSION_FIELDS = (
    "state",
    "rate_bps",
    "goodput_bps",
    "cwnd",
    "rtt_s",
    "total_bytes",
    "sent_bytes",
    "repair_packets",
    "feedback_packets",
)
_RECEIVER_FIELDS = (
    "state",
    "acked_bytes",
    "cwnd",
    "rtt_s",
    "loss_rate",
    "lost_packets",
    "repaired_packets",
    "rate_bps",
)


class Sampler:
    """Writes the time series of a run folder, and keeps the newest values for the live view.

    Times are seconds since `epoch`, the wall-clock time at which the network was ready."""

    def __init__(self, plan: Plan, folder: RunFolder, state_directory: Path) -> None:
        self.epoch = time.time()
        self.sessions: dict[int, SessionStatus] = {}
        self._plan = plan
        self._state_directory = state_directory
        self._host_names = {str(host.address): host.name for host in plan.hosts.values()}
        self._written: dict[int, float] = {}
        self._ports = SeriesWriter(folder.series / "ports.jsonl")
        self._sessions = SeriesWriter(folder.series / "sessions.jsonl")
        self._receivers = SeriesWriter(folder.series / "receivers.jsonl")
        self._events = SeriesWriter(folder.series / "events.jsonl")

    def event(self, kind: str, subject: str) -> None:
        """Note that something was done to the network."""
        self._events.write([{"t": round(time.time() - self.epoch, 4), "kind": kind, "subject": subject}])

    def sample(self) -> None:
        """Take one sample of everything."""
        now = time.time()
        self._ports.write(self._port_rows(now))
        for status in read_sessions(self._state_directory / "sessions")[0]:
            self.sessions[status.session] = status
            if status.updated_at != self._written.get(status.session):
                self._written[status.session] = status.updated_at
                self._sessions.write([self._session_row(status)])
                self._receivers.write(self._receiver_rows(status))

    def close(self) -> None:
        """Finish the files."""
        for writer in (self._ports, self._sessions, self._receivers, self._events):
            writer.close()

    def host_name(self, address: str) -> str:
        """The host with that address, or the address."""
        return self._host_names.get(address, address)

    def _port_rows(self, now: float) -> list[dict[str, Any]]:
        counters = read_interface_counters(Path("/proc/thread-self/net/dev").read_text(encoding="ascii"))
        rows = []
        for switch in self._plan.switches.values():
            queues = read_port_stats(self._state_directory / "switches" / f"{switch.name}.json")
            for port in switch.ports.values():
                row: dict[str, Any] = {"t": round(now - self.epoch, 4), "switch": switch.name, "port": port.number}
                row["neighbour"] = port.neighbour
                row.update(counters.get(port.interface, {}))
                stats = queues.get(str(port.number), {})
                row.update({name: stats[name] for name in _QUEUE_FIELDS if name in stats})
                rows.append(row)
        return rows

    def _session_row(self, status: SessionStatus) -> dict[str, Any]:
        row: dict[str, Any] = {"t": round(status.updated_at - self.epoch, 4), "session": status.session}
        row.update({name: getattr(status, name) for name in _SESSION_FIELDS})
        if status.limiting is not None:
            row["limiting"] = self.host_name(status.limiting.receiver)
            row["limiting_reason"] = status.limiting.reason
        return row

    def _receiver_rows(self, status: SessionStatus) -> list[dict[str, Any]]:
        rows = []
        for address, receiver in status.receivers.items():
            row: dict[str, Any] = {"t": round(status.updated_at - self.epoch, 4), "session": status.session}
            row["receiver"] = self.host_name(address)
            row.update({name: getattr(receiver, name) for name in _RECEIVER_FIELDS})
            rows.append(row)
        return rows


def read_interface_counters(text: str) -> dict[str, dict[str, int]]:
    """Interface -> its byte and packet counters, from the text of /proc/net/dev."""
    counters = {}
    for line in text.splitlines()[2:]:
        name, _, rest = line.partition(":")
        numbers = rest.split()
        values = (int(numbers[0]), int(numbers[1]), int(numbers[8]), int(numbers[9]))
        counters[name.strip()] = dict(zip(_COUNTERS, values, strict=True))
    return counters


def read_port_stats(path: Path) -> Mapping[str, Mapping[str, int]]:
    """Port -> statistics, as `canopy switch --stats` writes them; nothing when there is no such file (yet)."""
    try:
        ports = json.loads(path.read_text(encoding="utf-8"))["ports"]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return ports if isinstance(ports, dict) else {}

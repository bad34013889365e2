"""Measures a running emulation: port counters and queues, and what senders say of their sessions."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controller.sessions import SessionStatus, read_sessions
from topologies.emulation.controller_events import ControllerEvents
from topologies.plan import Plan
from topologies.results.run_folder import RunFolder
from topologies.results.series import RunSeries, link_columns
from topologies.results.tail import Tail

INTERVAL_S = 0.25
"""Between two samples: short beside a transfer of seconds, long beside a round trip time."""

_COUNTERS = ("rx_bytes", "rx_packets", "tx_bytes", "tx_packets")
_QUEUE_FIELDS = ("queue_packets", "queue_bytes", "drop_queue", "drop_red", "drop_loss")


class Sampler(RunSeries):
    """Writes the time series of a run folder, and keeps the newest values for the live view.

    Times are seconds since `epoch`, the wall-clock time at which the network was ready."""

    def __init__(self, plan: Plan, folder: RunFolder, state_directory: Path) -> None:
        super().__init__(plan, folder, time.time())
        self._plan = plan
        self._folder = folder
        self._tails: dict[tuple[int, str], Tail] = {}
        self._state_directory = state_directory
        self._controller = ControllerEvents(state_directory, folder.logs / "controller-events.jsonl", self.epoch)

    def sample(self) -> None:
        """Take one sample of everything."""
        self.write_ports(self._port_rows(time.time()))
        for status in read_sessions(self._state_directory / "sessions")[0]:
            self._listen(status)
            self.write_status(status)
        self._controller.copy()

    def close(self) -> None:
        """Finish the files."""
        self._controller.close()
        super().close()

    def _listen(self, status: SessionStatus) -> None:
        """To what receivers say of themselves, where the sender does not know how far they are."""
        known = self.sessions.get(status.session)
        if known is not None and known.updated_at == status.updated_at:
            return
        for host in self._plan.hosts.values():
            address = str(host.address)
            said = status.receivers.get(address)
            if host.address == status.source or (said is not None and said.acked_bytes is not None):
                continue
            tail = self._tails.get((status.session, host.name))
            if tail is None:
                tail = Tail(self._folder.agent_trace(status.session, host.name))
                self._tails[status.session, host.name] = tail
            rows = tail.take()
            if rows and "t" in rows[-1]:  # the first line is a header
                self.heard(status.session, address, rows[-1])

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
                columns = (*_QUEUE_FIELDS, *link_columns(port.tx))
                row.update({name: stats[name] for name in columns if name in stats})
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

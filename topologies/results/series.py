"""The time series of a run folder: ports, switches, sessions and their receivers, who joins, events. Times are seconds
in the run."""

from collections.abc import Iterable, Mapping
from typing import Any

from controller.sessions import ReceiverStatus, SessionStatus
from topologies.plan import Plan
from topologies.results.run_folder import RunFolder, SeriesWriter
from topologies.scenario.network import DirectedLink, DropTail, Red

SESSION_FIELDS = (
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
"""Of a session's status, as sessions.jsonl has them."""
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


def link_columns(link: DirectedLink) -> tuple[str, ...]:
    """The columns of ports.jsonl that only a port with such a link has: what its AQM dropped and its queue marked, what
    was longer than its MTU, and what came later than the link's delay or twice."""
    columns = []
    if not isinstance(link.queue, DropTail | Red):
        columns.append("drop_aqm")
    if not isinstance(link.queue, DropTail) and (not isinstance(link.queue, Red) or link.queue.ecn):
        columns.append("marked_packets")
    if link.mtu is not None:
        columns.append("drop_mtu")
    if link.reorder is not None:
        columns.append("reordered_packets")
    if link.duplicate:
        columns.append("duplicated_packets")
    return tuple(columns)


class RunSeries:
    """Writes the series, and keeps each session's newest status. `epoch` is the time at which the run's times start, on
    the clock of the statuses."""

    def __init__(self, plan: Plan, folder: RunFolder, epoch: float) -> None:
        self.epoch = epoch
        self.sessions: dict[int, SessionStatus] = {}
        self._words: dict[int, dict[str, Mapping[str, Any]]] = {}
        """By session and address: what a receiver said of itself last."""
        self._host_names = {str(host.address): host.name for host in plan.hosts.values()}
        self._ports = SeriesWriter(folder.series / "ports.jsonl")
        self._sessions = SeriesWriter(folder.series / "sessions.jsonl")
        self._receivers = SeriesWriter(folder.series / "receivers.jsonl")
        self._events = SeriesWriter(folder.series / "events.jsonl")
        self._members = SeriesWriter(folder.series / "members.jsonl")
        self._switches = SeriesWriter(folder.series / "switches.jsonl")

    def host_name(self, address: str) -> str:
        """The host with that address, or the address."""
        return self._host_names.get(address, address)

    def event(self, at: float, kind: str, subject: str) -> None:
        """Note that something was done to the network, `at` seconds in the run."""
        self._events.write([{"t": round(at, 4), "kind": kind, "subject": subject}])

    def member(self, at: float, kind: str, session: int, receiver: str) -> None:
        """Note that a receiver was told to `join` or `leave` its session, or died without a word (`die`)."""
        self._members.write([{"t": round(at, 4), "kind": kind, "session": session, "receiver": receiver}])

    def write_feedback(self, at: float, counts: Mapping[str, Mapping[str, int]]) -> None:
        """What became of feedback at switches: switch -> outcome -> packets so far; nothing of those that saw none."""
        rows = ((name, {what: count for what, count in seen.items() if count}) for name, seen in counts.items())
        self._switches.write({"t": round(at, 4), "switch": name, "feedback": seen} for name, seen in rows if seen)

    def write_ports(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Rows of port counters and queues."""
        self._ports.write(rows)

    def write_status(self, status: SessionStatus) -> None:
        """What a sender says of its session; a status that was written before is left out."""
        before = self.sessions.get(status.session)
        status = self.sessions[status.session] = self._with_words(status)
        if before is None or before.updated_at != status.updated_at:
            self._sessions.write([self._session_row(status)])
            self._receivers.write(self._receiver_rows(status))

    def heard(self, session: int, address: str, row: Mapping[str, Any]) -> None:
        """A row of a receiver's own trace (docs/trace.md): what there is to be told of it where the sender does not
        know how far it is, as of real-time data and of an agent's children."""
        self._words.setdefault(session, {})[address] = row

    def close(self) -> None:
        """Finish the files."""
        for writer in (self._ports, self._sessions, self._receivers, self._events, self._members, self._switches):
            writer.close()

    def _with_words(self, status: SessionStatus) -> SessionStatus:
        """With what receivers say of themselves, where the sender does not know how far they are."""
        said = {}
        for address, row in self._words.get(status.session, {}).items():
            known = status.receivers.get(address)
            if _takes_part(row) and (known is None or known.acked_bytes is None):
                own = _own_status(row)
                said[address] = own if known is None else own.model_copy(update=known.model_dump(exclude_none=True))
        return status if not said else status.model_copy(update={"receivers": {**status.receivers, **said}})

    def _session_row(self, status: SessionStatus) -> dict[str, Any]:
        row: dict[str, Any] = {"t": round(status.updated_at - self.epoch, 4), "session": status.session}
        row.update({name: getattr(status, name) for name in SESSION_FIELDS})
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
            if receiver.parent is not None:
                row["parent"] = self.host_name(receiver.parent.partition(":")[0])
            rows.append(row)
        return rows


_STATES = {"member": "active", "confirming": "active", "listening": "active", "closed": "left"}
"""Of docs/trace.md: what docs/status.md calls them."""


def _takes_part(row: Mapping[str, Any]) -> bool:
    """Whether a receiver has been admitted, by its trace."""
    return row.get("state") not in ("listening", "joining") or bool(row.get("received_bytes"))


def _own_status(row: Mapping[str, Any]) -> ReceiverStatus:
    """What a receiver says of itself, as a sender says it."""
    state = row.get("state")
    return ReceiverStatus(
        state=_STATES.get(str(state), state),
        parent=row.get("parent"),
        cwnd=row.get("cwnd"),
        rtt_s=row.get("rtt_s"),
        loss_rate=row.get("loss_rate", row.get("loss_event_rate")),
        acked_bytes=row.get("received_bytes"),
        lost_packets=row.get("lost_packets"),
        rate_bps=row.get("rate_bps"),
    )

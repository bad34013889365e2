"""What came of one session, as far as both worlds know it from the same: its trace and the sender's last status."""

from collections.abc import Mapping, Sequence
from typing import Any

from controller.sessions import SessionStatus
from topologies.plan.members import drop_after_s
from topologies.plan.sources import Source
from topologies.results.results import SessionResult
from topologies.scenario.session import Session


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
        file=str(source.path),
        bytes=source.bytes,
        sha256=source.sha256,
        sending_from=None if sending is None else round(sending[0], 3),
        sending_until=None if sending is None else round(sending[1], 3),
        state="not started" if status is None else status.state,
        detail=(status.detail if status is not None else None) or "",
        feedback_packets=None if status is None else status.feedback_packets,
        repair_packets=None if status is None else status.repair_packets,
        drop_after_s=drop_after_s(session),
        dropped=dropped_hosts(status, hosts),
    )


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

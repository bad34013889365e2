"""What MTCP's endpoints show of themselves: the fields of docs/trace.md, which are those of docs/status.md."""

from typing import TYPE_CHECKING

from hosts.endpoint import Address, Sample
from hosts.mtcp.child import Child

if TYPE_CHECKING:
    from hosts.mtcp.sender import MtcpSender


def _child_row(child: Child, state: str, sender: "MtcpSender", now: float) -> dict[str, object]:
    agent = sender.agent
    payload = sender.options.payload_bytes
    sent = max(1, agent.end)
    return {
        "acked_bytes": agent.end_offset if state == "complete" else min(child.cumulative * payload, agent.end_offset),
        "rtt_s": child.rtt.mean if child.rtt.samples else None,
        "rtd_s": child.rtd.last if child.rtd.samples else None,
        "rtd_min_s": child.rtd.minimum if child.rtd.samples else None,
        "loss_rate": child.lost / sent,
        "lost_packets": child.lost,
        "repaired_packets": child.repaired,
        "repair_cwnd": child.repairs.window.cwnd,
        "advertised_window": child.window / payload,
        "feedback_packets": child.feedback,
        "last_heard_s": now - child.heard_at,
        "state": state,
    }


def _limiting(sender: "MtcpSender") -> dict[str, object] | None:
    """Who limits the rate, in the terms of docs/status.md."""
    children = sender.agent.children.values()
    if sender.state != "sending" or not children or sender.limit in ("application", "rate"):
        return None
    if sender.limit == "advertised_window":
        child = min(children, key=lambda child: child.window_end)
        reason = "advertised_window"
    else:
        # All children share the sender's cwnd: the one that lengthens the queue most, or lags behind, holds it down.
        child = max(children, key=lambda child: (child.rtd.last - child.rtd.minimum, -child.cumulative))
        reason = "cwnd"
    return {
        "receiver": child.address.host,
        "reason": reason,
        "cwnd": sender.agent.window.cwnd,
        "rtt_s": child.rtt.mean if child.rtt.samples else None,
        "loss_rate": child.lost / max(1, sender.agent.end),
        "advertised_window": child.window / sender.options.payload_bytes,
    }


def sender_sample(sender: "MtcpSender", now: float) -> Sample:
    """The sender's trace row."""
    agent = sender.agent
    summary = agent.summary()
    payload = sender.options.payload_bytes
    delays = [child.rtt.mean for child in agent.children.values() if child.rtt.samples]
    receivers = {address: _child_row(child, "active", sender, now) for address, child in agent.children.items()}
    for address, (state, _, child) in sender.ended.items():
        receivers[address] = _child_row(child, state, sender, now)
    return {
        "state": sender.state,
        "detail": sender.detail,
        "cwnd": agent.window.cwnd,
        "ssthresh": agent.window.ssthresh,
        "slow_start": agent.window.slow_start,
        "twnd": agent.transit.size / payload,
        "min_cwnd": summary.min_cwnd / payload,
        "max_twnd": summary.max_twnd / payload,
        "rtt_s": max(delays, default=None),
        "rto_rtd_s": agent.rto_rtd,
        "rto_rtt_s": agent.rto_rtt,
        "limit": sender.limit,
        "limiting": _limiting(sender),
        "sent_bytes": agent.end_offset,
        "acked_bytes": min(agent.base * payload, agent.end_offset),
        "data_packets": sender.counters["data_packets"],
        "repair_packets": sender.counters["repair_packets"],
        "feedback_packets": sender.counters["feedback_packets"],
        "receivers": _by_host(receivers),
    }


def _by_host(rows: dict[Address, dict[str, object]]) -> dict[str, dict[str, object]]:
    """Keyed by IPv4 address; with the port where two receivers share one."""
    hosts = [address.host for address in rows]
    return {address.host if hosts.count(address.host) == 1 else str(address): row for address, row in rows.items()}

"""What MTCP's endpoints show of themselves: the fields of docs/trace.md, which are those of docs/status.md."""

from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING

from hosts.endpoint import Address, Sample
from hosts.mtcp.child import Child
from hosts.mtcp.wire import UNLIMITED

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


def _limiting(sender: "MtcpSender", names: dict[Address, str]) -> dict[str, object] | None:
    """Who limits the rate, in the terms of docs/status.md."""
    children = sender.agent.children.values()
    if sender.state != "sending" or not children or sender.limit in ("application", "rate"):
        return None
    reason = "cwnd"
    if sender.limit == "advertised_window":
        child = min(children, key=lambda child: child.window_end)
        reason = "advertised_window"
    elif sender.limit == "sack":
        child = min(children, key=lambda child: child.cumulative)
    else:
        # The sender's cwnd is that of all its children; the one with the longest queue on its path holds it down.
        child = max(children, key=lambda child: child.rtd.mean - child.rtd.minimum)
    return {
        "receiver": names[child.address],
        "reason": reason,
        "cwnd": _cwnd(sender),
        "rtt_s": child.rtt.mean if child.rtt.samples else None,
        "loss_rate": child.lost / max(1, sender.agent.end),
        "advertised_window": child.window / sender.options.payload_bytes,
    }


def _cwnd(sender: "MtcpSender") -> float:
    """The window that governs the sender, in packets."""
    below = min((child.min_cwnd for child in sender.agent.children.values()), default=UNLIMITED)
    return min(sender.agent.window.cwnd, below / sender.options.payload_bytes)


def sender_sample(sender: "MtcpSender", now: float) -> Sample:
    """The sender's trace row."""
    agent = sender.agent
    counters = sender.counters
    summary = agent.summary()
    payload = sender.options.payload_bytes
    delays = [child.rtt.mean for child in agent.children.values() if child.rtt.samples]
    rows = {address: _child_row(child, "active", sender, now) for address, child in agent.children.items()}
    for address, (state, _, child) in sender.ended.items():
        rows[address] = _child_row(child, state, sender, now)
    names = _names(rows)
    return {
        "state": "closing" if sender.end_sent and not sender.closed else sender.state,
        "detail": sender.detail,
        "cwnd": _cwnd(sender),
        "ssthresh": agent.window.ssthresh,
        "slow_start": agent.window.slow_start,
        "twnd": agent.transit.size / payload,
        "min_cwnd": summary.min_cwnd / payload,
        "max_twnd": summary.max_twnd / payload,
        "rtt_s": max(delays, default=None),
        "rto_rtd_s": agent.rto_rtd,
        "rto_rtt_s": agent.rto_rtt,
        "limit": sender.limit,
        "limiting": _limiting(sender, names),
        "sent_bytes": agent.end_offset,
        "acked_bytes": min(agent.base * payload, agent.end_offset),
        "udp_bytes": counters["udp_bytes"],
        "data_packets": counters["data_packets"],
        "repair_packets": counters["repair_packets"],
        "feedback_packets": counters["feedback_packets"],
        "receivers": {names[address]: row for address, row in rows.items()},
    }


def _names(addresses: Collection[Address]) -> dict[Address, str]:
    """What receivers are called: by IPv4 address, and with the port where two share one."""
    hosts = Counter(address.host for address in addresses)
    return {address: address.host if hosts[address.host] == 1 else str(address) for address in addresses}

"""What MTCP's endpoints show of themselves: the fields of docs/trace.md, which are those of docs/status.md."""

from typing import TYPE_CHECKING

from hosts.endpoint import Address, Sample
from hosts.parts.naming import receiver_names
from hosts.protocols.mtcp.child import Child
from hosts.protocols.mtcp.control import State

if TYPE_CHECKING:
    from hosts.protocols.mtcp.receiver import MtcpReceiver
    from hosts.protocols.mtcp.sender import MtcpSender

_STATES = {
    State.ACTIVE: "active",
    State.COMPLETE: "complete",
    State.LEFT: "left",
    State.LOST: "lost",
    State.GONE: "complete",
}
"""In the words of docs/status.md."""


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
        "receiver": names.get(child.address, str(child.address)),
        "reason": reason,
        "cwnd": _cwnd(sender),
        "rtt_s": child.rtt.mean if child.rtt.samples else None,
        "loss_rate": child.lost / max(1, sender.agent.end),
        "advertised_window": child.window / sender.options.payload_bytes,
    }


def _cwnd(sender: "MtcpSender") -> float:
    """The window that governs the sender, in packets."""
    return min(sender.agent.window.cwnd, sender.agent.reports.min_cwnd / sender.options.payload_bytes)


def sender_sample(sender: "MtcpSender", now: float) -> Sample:
    """The sender's trace row."""
    agent = sender.agent
    counters = sender.counters
    summary = agent.summary()
    payload = sender.options.payload_bytes
    delays = [child.rtt.mean for child in agent.children.values() if child.rtt.samples]
    members = sender.roster.members
    names = receiver_names(members)
    rows: dict[Address, dict[str, object]] = {}
    for address, entry in members.items():
        child = agent.children.get(address) or sender.family.former.get(address)
        state = _STATES[entry.state]
        rows[address] = {"state": state} if child is None else _child_row(child, state, sender, now)
        if address not in agent.children and entry.parent in names:
            rows[address]["parent"] = names[entry.parent]
    return {
        "state": "closing" if sender.end_sent and not sender.closed else sender.state,
        "detail": sender.detail,
        "cwnd": _cwnd(sender),
        "own_cwnd": agent.window.cwnd,
        "ssthresh": agent.window.ssthresh,
        "slow_start": agent.window.slow_start,
        "twnd": agent.transit.size / payload,
        "min_cwnd": summary.min_cwnd / payload,
        "max_twnd": summary.max_twnd / payload,
        "rtt_s": max(delays, default=None),
        "rto_rtd_s": agent.delays.rto_rtd,
        "rto_rtt_s": agent.delays.rto_rtt,
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


def receiver_sample(receiver: "MtcpReceiver", now: float) -> Sample:
    """A receiver's trace row; an agent's also has the windows and what it does for its children."""
    reception = receiver.reception
    counters = receiver.counters
    place = receiver.place
    sample: dict[str, object] = {
        "state": receiver.state,
        "received_bytes": reception.received_bytes,
        "early_packets": len(reception.early),
        "unconsumed_bytes": reception.delivered - reception.consumed,
        "data_packets": counters["data_packets"],
        "repair_packets": counters["repair_packets"],
        "duplicate_packets": counters["duplicate_packets"],
        "nacks": counters["nacks"],
        "feedback_packets": counters["feedback_packets"],
    }
    if place.parent is not None:
        sample |= {"parent": str(place.parent), "level": len(place.lineage), "reparented": counters["reparented"]}
    if receiver.serving is not None:
        agent = receiver.serving.agent
        payload = receiver.options.payload_bytes
        summary = agent.summary()
        sample |= {
            "children": len(agent.children),
            "cwnd": agent.window.cwnd,
            "ssthresh": agent.window.ssthresh,
            "slow_start": agent.window.slow_start,
            "twnd": agent.transit.size / payload,
            "min_cwnd": summary.min_cwnd / payload,
            "max_twnd": summary.max_twnd / payload,
            "rto_rtd_s": agent.delays.rto_rtd,
            "rto_rtt_s": agent.delays.rto_rtt,
            "child_feedback_packets": counters["child_feedback_packets"],
            "child_repair_packets": counters["child_repair_packets"],
            "held_packets": len(agent.store.packets),
        }
    return sample

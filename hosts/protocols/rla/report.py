"""What RLA's sender shows of itself: the fields of docs/trace.md, which are those of docs/status.md."""

from typing import TYPE_CHECKING

from hosts.endpoint import Address, Sample
from hosts.parts.naming import receiver_names
from hosts.protocols.rla.branch import Branch

if TYPE_CHECKING:
    from hosts.protocols.rla.sender import RlaSender


def sender_sample(sender: "RlaSender", now: float) -> Sample:
    """The sender's trace row."""
    flow, counters = sender.flow, sender.counters
    listening = flow.listening
    rows = {address: _row(branch, "active", sender, now) for address, branch in flow.branches.items()}
    for address, ended in sender.ended.items():
        rows[address] = _row(ended.branch, ended.state, sender, now)
    names = receiver_names(rows)
    return {
        "state": "closing" if sender.end_sent and not sender.closed else sender.state,
        "detail": sender.detail,
        "cwnd": listening.cwnd,
        "ssthresh": listening.ssthresh,
        "awnd": listening.awnd,
        "num_trouble_rcvr": listening.troubled.count,
        "congestion_signals": listening.signals,
        "rare_signals": listening.rare,
        "forced_cuts": listening.forced_cuts,
        "randomized_cuts": listening.randomized_cuts,
        "window_timeouts": listening.timeouts,
        "timeouts": counters["timeouts"],
        "rtt_s": flow.srtt_max or None,
        "limit": sender.limit,
        "limiting": _limiting(sender, names, now),
        "sent_bytes": flow.end_offset,
        "acked_bytes": flow.base_offset,
        "udp_bytes": counters["udp_bytes"],
        "data_packets": counters["data_packets"],
        "repair_packets": counters["repair_packets"],
        "feedback_packets": counters["feedback_packets"],
        "summaries": counters["summaries"],
        "hole_reports": counters["hole_reports"],
        "receivers": {names[address]: row for address, row in rows.items()},
    }


def _row(branch: Branch, state: str, sender: "RlaSender", now: float) -> dict[str, object]:
    payload = sender.options.payload_bytes
    end_offset = sender.flow.end_offset
    return {
        "acked_bytes": end_offset if state == "complete" else min(branch.cumulative * payload, end_offset),
        "rtt_s": branch.rtt.mean if branch.rtt.samples else None,
        "loss_rate": branch.losses / max(1, sender.flow.end),
        "lost_packets": branch.losses,
        "repaired_packets": branch.retransmissions,
        "congestion_signals": branch.signals,
        "advertised_window": branch.window / payload,
        "feedback_packets": branch.acks,
        "last_heard_s": now - branch.heard_at,
        "state": state,
    }


def _limiting(sender: "RlaSender", names: dict[Address, str], now: float) -> dict[str, object] | None:
    """Who limits the rate, in the terms of docs/status.md."""
    branches = sender.flow.branches.values()
    if sender.state != "sending" or not branches or sender.limit == "application":
        return None
    reason = "loss"
    if sender.limit == "advertised_window":
        branch = min(branches, key=lambda branch: branch.window_end)
        reason = "advertised_window"
    elif sender.limit == "sack":
        branch = min(branches, key=lambda branch: branch.cumulative)
    else:
        # No single receiver governs the window; who signals most often weighs most.
        troubled = sender.flow.listening.troubled
        branch = min(branches, key=lambda branch: troubled.interval(branch.number, now))
    return {
        "receiver": names[branch.address],
        "reason": reason,
        "cwnd": sender.flow.listening.cwnd,
        "rtt_s": branch.rtt.mean if branch.rtt.samples else None,
        "loss_rate": branch.losses / max(1, sender.flow.end),
        "advertised_window": branch.window / sender.options.payload_bytes,
    }

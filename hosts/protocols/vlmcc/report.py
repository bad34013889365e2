"""What VLMCC's sender shows of itself: the fields of docs/trace.md, which are those of docs/status.md."""

from typing import TYPE_CHECKING

from hosts.endpoint import Sample
from hosts.protocols.vlmcc.control import Clocking

if TYPE_CHECKING:
    from hosts.protocols.vlmcc.sender import VlmccSender


def sender_sample(sender: "VlmccSender", now: float) -> Sample:
    """The sender's trace row."""
    control = sender.control
    leader = sender.election.leader
    counters = sender.counters
    has_leader = leader is not None
    return {
        "state": sender.state,
        "detail": sender.detail,
        "cwnd": control.window.cwnd,
        "slow_start": has_leader and control.window.slow_start,
        "in_travel": len(control.transit),
        "rtt_s": control.smoothed_rtt if control.rtt.samples else None,
        "base_rtt_s": control.base_rtt if has_leader else None,
        "loss_timeout_s": control.timeout if control.rtt.samples else None,
        "allowed_bps": control.rate * sender.options.packet_bytes * 8,
        "leader": None if leader is None else leader.address.host,
        "leader_lost": control.clocking is Clocking.LOST,
        "leader_changes": counters["leader_changes"],
        "challenges": counters["challenges"],
        "lost_packets": control.lost_packets,
        "known_receivers": len(sender.members),
        "limiting": _limiting(sender, now),
        "sent_bytes": sender.sent_bytes,
        "udp_bytes": counters["udp_bytes"],
        "data_packets": counters["data_packets"],
        "feedback_packets": counters["feedback_packets"],
    }


def _limiting(sender: "VlmccSender", now: float) -> dict[str, object] | None:
    """Who limits the rate, in the terms of docs/status.md."""
    leader = sender.election.leader
    if leader is None or sender.state != "sending":
        return None
    control = sender.control
    return {
        "receiver": leader.address.host,
        "reason": "application" if control.starved else "cwnd",
        "cwnd": control.window.cwnd,
        "rtt_s": control.smoothed_rtt,
        "loss_rate": control.lost_packets / max(1, sender.seq),
        "last_heard_s": now - leader.heard_at,
    }

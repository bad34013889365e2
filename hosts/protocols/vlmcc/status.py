"""What VLMCC's sender shows of itself: the fields of docs/trace.md, which are those of docs/status.md."""

from hosts.endpoint import Sample
from hosts.parts.realtime import RealtimeSender
from hosts.protocols.vlmcc.adaptive_control import AdaptiveControl
from hosts.protocols.vlmcc.control import Clocking
from hosts.protocols.vlmcc.election import Leader
from hosts.protocols.vlmcc.paper_control import PaperControl


def sender_sample(
    sender: RealtimeSender,
    control: PaperControl | AdaptiveControl,
    leader: Leader | None,
    now: float,
    *,
    packet_bytes: int,
    known_receivers: int,
) -> Sample:
    """The sender's trace row."""
    counters = sender.counters
    has_leader = leader is not None
    return {
        "state": sender.state,
        "detail": sender.detail,
        "cwnd": control.window.cwnd,
        "slow_start": has_leader and control.window.slow_start,
        **({"beside_others": control.window.beside_others} if isinstance(control, AdaptiveControl) else {}),
        "in_travel": len(control.transit),
        "rtt_s": control.smoothed_rtt if control.rtt.samples else None,
        "base_rtt_s": control.base_rtt if has_leader else None,
        "loss_timeout_s": control.timeout if control.rtt.samples else None,
        "allowed_bps": control.rate * packet_bytes * 8,
        "leader": None if leader is None else leader.address.host,
        "leader_lost": control.clocking is Clocking.LOST,
        "leader_changes": counters["leader_changes"],
        "challenges": counters["challenges"],
        "lost_packets": control.lost_packets,
        "known_receivers": known_receivers,
        "limiting": _limiting(sender, control, leader, now),
        "sent_bytes": sender.sent_bytes,
        "udp_bytes": counters["udp_bytes"],
        "data_packets": counters["data_packets"],
        "feedback_packets": counters["feedback_packets"],
    }


def _limiting(
    sender: RealtimeSender, control: PaperControl | AdaptiveControl, leader: Leader | None, now: float
) -> dict[str, object] | None:
    """Who limits the rate, in the terms of docs/status.md."""
    if leader is None or sender.state != "sending":
        return None
    return {
        "receiver": leader.address.host,
        "reason": "application" if control.starved else "cwnd",
        "cwnd": control.window.cwnd,
        "rtt_s": control.smoothed_rtt,
        "loss_rate": control.lost_packets / max(1, sender.seq),
        "last_heard_s": now - leader.heard_at,
    }

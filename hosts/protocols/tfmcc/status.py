"""What TFMCC's sender shows of itself: the fields of docs/trace.md, which are those of docs/status.md."""

from hosts.endpoint import Sample
from hosts.parts.realtime import RealtimeSender
from hosts.protocols.tfmcc.steering import Steering


def sender_sample(sender: RealtimeSender, steering: Steering, now: float) -> Sample:
    """The sender's trace row."""
    clr = steering.clr
    rounds = steering.rounds
    counters = sender.counters
    rate = steering.control.at(now) * 8
    return {
        "state": sender.state,
        "detail": sender.detail,
        "allowed_bps": rate,
        "slowstart": steering.slowstart,
        "slowstart_peak_bps": steering.slowstart_peak * 8,
        "round": rounds.number,
        "round_reports": rounds.reports,
        "max_rtt_s": rounds.max_rtt,
        "feedback_delay_s": steering.feedback_delay(now),
        "rtt_s": None if clr is None else clr.rtt,
        "clr": None if clr is None else clr.address.host,
        "clr_changes": counters["clr_changes"],
        "first_rtts": steering.first_rtts,
        "limiting": _limiting(steering, now) if sender.state == "sending" else None,
        "sent_bytes": sender.sent_bytes,
        "udp_bytes": counters["udp_bytes"],
        "data_packets": counters["data_packets"],
        "feedback_packets": counters["feedback_packets"],
    }


def _limiting(steering: Steering, now: float) -> dict[str, object] | None:
    """Who limits the rate, in the terms of docs/status.md."""
    clr = steering.clr
    if clr is None:
        return None
    return {
        "receiver": clr.address.host,
        "reason": "loss" if clr.loss_rate > 0 else "rtt",
        "rtt_s": clr.rtt,
        "loss_rate": clr.loss_rate,
        "rate_bps": clr.rate * 8,
        "last_heard_s": now - clr.heard_at,
    }

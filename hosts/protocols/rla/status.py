"""What RLA's sender shows of itself: the fields of docs/trace.md, which are those of docs/status.md."""

from collections.abc import Mapping

from hosts.endpoint import Address, Sample
from hosts.parts.naming import receiver_names
from hosts.parts.sending import StreamSender
from hosts.protocols.rla.branch import Branch, Ended
from hosts.protocols.rla.flow import Flow


def sender_sample(
    sender: StreamSender, flow: Flow, ended: Mapping[Address, Ended], now: float, *, state: str, limit: str
) -> Sample:
    """The sender's trace row. `limit`: what kept it from sending the next packet."""
    counters = sender.counters
    listening = flow.listening
    rows = {address: _row(branch, "active", flow, now) for address, branch in flow.branches.items()}
    for address, one in ended.items():
        rows[address] = _row(one.branch, one.state, flow, now)
    names = receiver_names(rows)
    return {
        "state": state,
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
        "rtt_s": flow.window.srtt_max or None,
        "limit": limit,
        "limiting": _limiting(flow, limit, names, now) if sender.state == "sending" else None,
        "sent_bytes": flow.end_offset,
        "acked_bytes": flow.base_offset,
        "udp_bytes": counters["udp_bytes"],
        "data_packets": counters["data_packets"],
        "repair_packets": counters["repair_packets"],
        "feedback_packets": counters["feedback_packets"],
        "summaries": counters["summaries"],
        "hole_reports": counters["hole_reports"],
        "receivers": {names[address]: row for address, row in rows.items()},
        **_misquoted(flow, names),
    }


def _misquoted(flow: Flow, names: Mapping[Address, str]) -> dict[str, object]:
    """Of whom a switch has said what they did not, if any has."""
    misquoted = flow.trust.misquoted
    return {"misquoted": [names.get(peer, str(peer)) for peer in misquoted]} if misquoted else {}


def waited_for(flow: Flow, limit: str, *, all_sent: bool = False) -> Branch | None:
    """The receiver that has got on least; None: none is waited for."""
    branches = flow.branches.values()
    if limit == "advertised_window":
        return min(branches, key=lambda branch: branch.window_end, default=None)
    slowest = min(branches, key=lambda branch: branch.cumulative, default=None)
    if limit == "application" and not (all_sent and slowest is not None and slowest.cumulative < flow.end):
        return None
    return slowest


def _row(branch: Branch, state: str, flow: Flow, now: float) -> dict[str, object]:
    payload = flow.options.payload_bytes
    end_offset = flow.end_offset
    return {
        "acked_bytes": end_offset if state == "complete" else min(branch.cumulative * payload, end_offset),
        "rtt_s": branch.rtt.mean if branch.rtt.samples else None,
        "loss_rate": branch.losses / max(1, flow.end),
        "lost_packets": branch.losses,
        "repaired_packets": branch.retransmissions,
        "congestion_signals": branch.signals,
        "advertised_window": branch.window / payload,
        "feedback_packets": branch.acks,
        "last_heard_s": now - branch.heard_at,
        "state": state,
    }


def _limiting(flow: Flow, limit: str, names: dict[Address, str], now: float) -> dict[str, object] | None:
    """Who limits the rate, in the terms of docs/status.md."""
    branches = flow.branches.values()
    branch = waited_for(flow, limit)
    if branch is None:
        return None
    reason = "advertised_window" if limit == "advertised_window" else "loss"
    if limit not in ("advertised_window", "sack"):
        # No single receiver governs the window; who signals most often weighs most.
        troubled = flow.listening.troubled
        branch = min(branches, key=lambda branch: troubled.interval(branch.number, now))
    return {
        "receiver": names[branch.address],
        "reason": reason,
        "cwnd": flow.listening.cwnd,
        "rtt_s": branch.rtt.mean if branch.rtt.samples else None,
        "loss_rate": branch.losses / max(1, flow.end),
        "advertised_window": branch.window / flow.options.payload_bytes,
    }

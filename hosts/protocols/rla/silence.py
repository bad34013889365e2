"""How long RLA's receivers may say nothing, and which of them the window waits for no longer (ours). Seconds."""

from collections.abc import Iterable

from hosts.parts.silence import patience_s
from hosts.protocols.rla.branch import Branch
from hosts.protocols.rla.inflight import InFlight


def is_silent(branch: Branch, inflight: InFlight, listened: int, lacking: int, now: float, delay_s: float) -> bool:
    """Whether a receiver, one of `listened`, has answered no data for long, of which others have packet `lacking`. An
    answer may be kept back for `delay_s`. The round trip of one that has shown nothing is not believed, and the same
    said again is no answer of it.
    """
    since, patience = branch.answered_at, patience_s(branch.rtt.mean if branch.presence.is_proven else 0.0)
    if not branch.presence.is_proven and now - since <= patience + delay_s:
        since, patience = branch.news_at, patience_s(branch.believed_rtt_s)
    since = max(since, inflight.packets[lacking].first_sent_at)
    return now - since > patience + delay_s and inflight.listened.lacking(lacking) < listened


def usual_silence_s(branches: Iterable[Branch], inflight: InFlight) -> float:
    """For how long one of those who are listened to may say nothing, as they do."""
    usual = [
        min(branch.interval.timeout, patience_s(branch.rtt.mean))
        for branch in branches
        if branch.interval.timeout is not None and branch.number not in inflight.set_aside
    ]
    return max(usual, default=0.0)


def merged_timeout_s(branches: Iterable[Branch]) -> float:
    """The longest timeout of those that switches' summaries tell of: what a summary says of a fast receiver it says
    when the slowest one has answered.
    """
    return max((branch.timeout for branch in branches if branch.merges), default=0.0)

"""Which of RLA's receivers the window waits for no longer (ours)."""

from hosts.parts.silence import patience_s
from hosts.protocols.rla.branch import Branch
from hosts.protocols.rla.inflight import InFlight


def is_silent(branch: Branch, inflight: InFlight, listened: int, lacking: int, now: float, delay_s: float) -> bool:
    """Whether a receiver, one of `listened`, has answered no data for long, of which others have packet `lacking`. An
    answer may be kept back for `delay_s`.
    """
    since = max(branch.answered_at, inflight.packets[lacking].first_sent_at)
    return now - since > patience_s(branch.rtt.mean) + delay_s and inflight.listened.lacking(lacking) < listened

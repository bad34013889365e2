"""Which receiver signals congestion so much more often than all others that it is to be dropped (RLA, 4.3)."""

from collections.abc import Collection

from hosts.protocols.rla.branch import Branch
from hosts.protocols.rla.options import RlaOptions
from hosts.protocols.rla.troubled import TroubledReceivers


def much_slower(
    branch: Branch, branches: Collection[Branch], troubled: TroubledReceivers, options: RlaOptions, now: float
) -> bool:
    """Whether it has signalled congestion `drop_slowest` times as often as the next one for long."""
    factor = options.drop_slowest
    if not factor or len(branches) < 2:
        return False
    own = troubled.interval(branch.number, now)
    others = min(troubled.interval(other.number, now) for other in branches if other is not branch)
    if own * factor >= others:
        branch.slow_since = None
        return False
    if branch.slow_since is None:
        branch.slow_since = now
    return now - branch.slow_since >= options.drop_slowest_after_s

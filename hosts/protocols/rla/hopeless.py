"""Which receivers RLA's sender waits for no longer (ours): who was silent, or made no progress though there was
something to make it with, for too long, or (when that is wanted) the slowest by far.
"""

from hosts.parts.silence import UNPROVEN_S, behind_text
from hosts.protocols.rla.branch import Branch
from hosts.protocols.rla.flow import Flow
from hosts.protocols.rla.slowest import much_slower
from hosts.wire.reason import Reason


def hopeless(
    flow: Flow, now: float, *, limit: str, end_sent: bool, others_are_through: bool
) -> list[tuple[Branch, Reason, str]]:
    """Those receivers, and why. `limit`: what keeps the sender from sending more (`report.sender_sample`);
    `others_are_through`: nobody else is waited for than those who have acknowledged next to nothing.

    Who is silent has less time when no more can be kept for it, or nothing shows that it is there.
    """
    options, branches = flow.options, flow.branches.values()
    blocked = flow.end_offset + options.payload_bytes if limit == "advertised_window" else 0
    found = []
    for branch in branches:
        has_all = branch.cumulative >= flow.end
        if has_all and branch.window_end >= blocked:  # at the end it has to say that it is through
            branch.progress_at = max(branch.progress_at, branch.opened_at) if end_sent else now
        behind = flow.behind_of(branch, now) if limit == "kept" else None
        is_unproven = not branch.presence.is_proven and branch.first < flow.end
        silent_for, heard_at = options.drop_after_s, branch.heard_at
        if others_are_through:
            silent_for = min(silent_for, UNPROVEN_S)
            if not has_all:  # the same said again is nothing said
                heard_at = min(heard_at, branch.news_at)
        reason = None
        if behind is not None or now - heard_at > silent_for:
            reason = Reason.UNPROVEN if is_unproven else Reason.SILENT
        elif now - branch.progress_at > options.drop_after_s:
            reason = Reason.STALLED if branch.presence.times else Reason.UNPROVEN
        elif much_slower(branch, branches, flow.listening.troubled, options, now):
            reason = Reason.SLOWEST
        if reason is not None:
            found.append((branch, reason, reason.text if behind is None else behind_text(behind)))
    return found

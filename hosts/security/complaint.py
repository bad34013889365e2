"""What is amiss when a member hears nothing that it can open, or an open session's something that is sealed; and that
others send in a session's group."""

from collections.abc import Mapping

from hosts.security.sealing import OPENED

_SEALED_ONES: tuple[tuple[str, str], ...] = (
    ("drop_stale", "a member's clock differs by more than five minutes, or somebody plays a recording"),
    ("drop_epoch", "what arrives is sealed with keys of another epoch"),
    ("drop_forged", "what arrives cannot be opened: is this the sender's secret?"),
    ("drop_open", "what arrives is not sealed: does the sender run without --secure?"),
)
"""Counter and words, what says most first."""


def complaint(counters: Mapping[str, int]) -> str | None:
    """One line for a person; None: there is no reason for one. Anybody may have sent what it is about, so nobody gives
    up for it."""
    if counters.get("drop_unsigned") and not counters.get("signed"):
        return "what arrives is not signed by the sender of this session's line"
    if counters.get(OPENED):
        return None
    for name, words in _SEALED_ONES:
        if counters.get(name):
            return words
    if counters.get("drop_sealed"):
        return "what arrives is sealed: this session wants the line that its sender printed, or --secret-file"
    return None


def others(counters: Mapping[str, int], session: int | None) -> str | None:
    """One line for a receiver's user, where another session than its own, `session`, is in the group; None: nothing of
    one has come. Either may be a stranger's."""
    if counters.get("changed_session"):
        return f"another session was announced in this group, and answers nothing: this is session {session}"
    if session is not None and counters.get("drop_other_session"):
        return f"another session is in this group, too: this is session {session} (--session takes one that you choose)"
    return None

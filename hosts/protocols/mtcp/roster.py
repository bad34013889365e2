"""Who takes part in a session below one node of the tree: kept by every agent, told upwards, complete at the sender."""

from hosts.endpoint import Address, Effect, Send
from hosts.parts.silence import is_success
from hosts.protocols.mtcp.tree_packets import MAX_ENTRIES, Entry, State, encode_report
from hosts.wire.reason import Reason

MAX_MEMBERS = 65_536
"""So many are remembered; reports of more are not believed (ours)."""
FINAL = (State.COMPLETE, State.LEFT, State.LOST, State.GONE)
WHOLE = (State.COMPLETE, State.GONE)
"""Those have everything, and nothing that comes later takes it away."""
_EPOCHS = 1 << 16


def newer(entry: Entry, known: Entry | None) -> Entry | None:
    """What is known of a member after `entry` has been told; None when it is no news."""
    if known is None:
        return entry
    ahead = (entry.epoch - known.epoch) % _EPOCHS
    is_later = 0 < ahead < _EPOCHS // 2
    if known.state in WHOLE:
        if is_later:
            return entry._replace(state=State.GONE if entry.state in (State.LOST, State.GONE) else State.COMPLETE)
        if ahead == 0 and known.state is State.COMPLETE and entry.state in (State.LOST, State.GONE):
            return entry._replace(state=State.GONE)
        return None
    if is_later or (ahead == 0 and entry.state > known.state):
        return entry
    return entry if entry.state in WHOLE else None


class Roster:
    """The members below a node, and which of them its parent has yet to be told of."""

    __slots__ = ("_in_report", "_number", "_repeat_at", "_reported_at", "members", "untold")

    def __init__(self) -> None:
        self.members: dict[Address, Entry] = {}
        self.untold: dict[Address, None] = {}
        """In the order in which they changed."""
        self._in_report: list[Entry] = []
        self._number = 0
        self._repeat_at = self._reported_at = 0.0

    def note(self, entry: Entry) -> Entry | None:
        """Take what somebody says of a member; what is known of it now, if that was news."""
        known = self.members.get(entry.address)
        news = newer(entry, known)
        if news is None or (known is None and len(self.members) >= MAX_MEMBERS):
            return None
        self.members[entry.address] = news
        self.untold[entry.address] = None
        return news

    def forget_unproven(self, address: Address) -> None:
        """Somebody else may have joined in its name."""
        known = self.members.get(address)
        if known is not None and known.reason is Reason.UNPROVEN:
            del self.members[address]

    def below(self, top: Address) -> list[Entry]:
        """All members below a node, in any state."""
        by_parent: dict[Address, list[Entry]] = {}
        for entry in self.members.values():
            by_parent.setdefault(entry.parent, []).append(entry)
        found: list[Entry] = []
        seen = {top}
        queue = [top]
        for parent in queue:
            for entry in by_parent.get(parent, ()):
                if entry.address not in seen:
                    seen.add(entry.address)
                    found.append(entry)
                    queue.append(entry.address)
        return found

    # --- what has come of the session

    def is_success(self, wanted: int) -> bool:
        """Whether a session for so many has come to its end as it should."""
        others = [entry.reason for entry in self.members.values() if entry.state not in WHOLE]
        return is_success(others, len(self.members) - len(others), wanted)

    @property
    def failed_text(self) -> str:
        """Who has not the whole, and why."""
        others = (entry for entry in self.members.values() if entry.state not in WHOLE)
        return "; ".join(f"{entry.address}: {entry.reason.text}" for entry in others)

    # --- telling the parent

    def tell_all(self) -> None:
        """There is a new parent, which knows nothing yet."""
        self.untold = dict.fromkeys(self.members)
        self._in_report = []

    @property
    def is_told(self) -> bool:
        """Whether the parent has acknowledged everything."""
        return not self.untold and not self._in_report

    @property
    def repeat_at(self) -> float | None:
        """When the report that was sent last is due again."""
        return self._repeat_at if self._in_report else None

    def unanswered_s(self, now: float) -> float:
        """For how long the parent has not acknowledged the report that it was sent last."""
        return now - self._reported_at if self._in_report else 0.0

    def report(self, session: int, parent: Address, now: float, interval_s: float) -> list[Effect]:
        """The report to send now, if there is one: the last one again when it is due, or the next."""
        if not self._in_report:
            if not self.untold:
                return []
            told = list(self.untold)[:MAX_ENTRIES]
            self._in_report = [self.members[address] for address in told]
            for address in told:
                del self.untold[address]
            self._number += 1
            self._reported_at = now
        elif now < self._repeat_at:
            return []
        self._repeat_at = now + interval_s
        return [Send(encode_report(session, self._number, self._in_report), parent)]

    def acknowledged(self, number: int) -> None:
        """The parent has that report."""
        if number == self._number % 2**32:
            self._in_report = []

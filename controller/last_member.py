"""Leaves at shared ports, until it is known whether somebody else there is a member (RFC 3376, section 6.4.2).

The switch tells of such a leave and forgets nobody. The port is asked `robustness` times, one last-member query
interval apart (sections 8.8 and 8.9); an interval after the last query the leave is sent to the switch once more, which
takes it unless somebody reported in between.
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.groups import GroupKey
from controller.network import Timing
from controller.trees import Attachment


@dataclass
class _Leave:
    due: float  # seconds on the caller's monotonic clock
    queries_left: int


class LastMembers:
    """Decides whom to ask and which leaves hold. There is at most one leave for each group and shared port."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._leaves: dict[tuple[GroupKey, Attachment], _Leave] = {}

    def left(self, key: GroupKey, where: Attachment, now: float) -> None:
        """Somebody at a shared port left a group."""
        self._leaves[key, where] = _Leave(now, self._timing.robustness)

    def due(self, now: float) -> tuple[list[tuple[GroupKey, Attachment]], list[tuple[GroupKey, Attachment]]]:
        """The groups that are to be asked for now and where, and the leaves that have waited long enough."""
        asked: list[tuple[GroupKey, Attachment]] = []
        over: list[tuple[GroupKey, Attachment]] = []
        for member, leave in self._leaves.items():
            if leave.due > now:
                continue
            leave.due = now + self._timing.last_member_s
            (asked if leave.queries_left else over).append(member)
            leave.queries_left -= 1
        for member in over:
            del self._leaves[member]
        return asked, over

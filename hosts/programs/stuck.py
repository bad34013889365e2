"""Receivers that answer and get nothing: what that may mean, said within seconds, not only when they are given up.

An MTU that has become less on the way lets small packets through, and large ones vanish.
"""

from collections.abc import Mapping
from typing import Any, Final

STUCK_S: Final = 5.0
"""Without progress, while packets leave and the receiver is heard (ours: several of the longest retransmission timeouts
that paths of a second have)."""
THROUGH: Final = ("complete", "left", "lost")
"""States of receivers that nothing is sent to any more (docs/status.md)."""
MOST_NAMES: Final = 4
"""That one line has."""


class Stuck:
    """Looks at a sender's rows, in the terms of docs/status.md, every second or so."""

    def __init__(self) -> None:
        self._stood: dict[str, tuple[int, float, int]] = {}  # bytes, since when, and packets that had been sent then
        self._said: set[str] = set()

    def look(self, row: Mapping[str, Any], now: float) -> str | None:
        """One line when there is something to say, once of each receiver."""
        sent = row.get("data_packets", 0) + row.get("repair_packets", 0)
        found = []
        for name, each in row.get("receivers", {}).items():
            acked, heard_s = each.get("acked_bytes"), each.get("last_heard_s")
            if acked is None or heard_s is None or each.get("state") in THROUGH:
                continue
            before, since, sent_before = self._stood.get(name, (-1, now, 0))
            if acked != before or acked >= (row.get("sent_bytes") or 0):
                self._stood[name] = acked, now, sent
            elif now - since >= STUCK_S > heard_s and sent > sent_before and name not in self._said:
                found.append(name)
        self._said.update(found)
        if not found:
            return None
        return (
            f"no data have reached {', '.join(found[:MOST_NAMES])} for {STUCK_S:g} s, and small packets do: "
            "has an MTU on the way become less? (--set payload_bytes=.. sends smaller ones)"
        )

"""Whether a stream has receivers: their last one may go while it is sent on, into nothing.

A protocol without feedback, as WEBRC, knows of none, and then nothing is said.
"""

from collections.abc import Mapping
from typing import Any, Final

GONE_S: Final = 5.0
"""So long nobody has limited the rate (ours): whom the next report comes from is known within a few round trips."""
GONE: Final = "no receiver is left; the stream goes on for whoever comes"


class Audience:
    """Looks at a sender's rows, in the terms of docs/status.md, every second or so."""

    def __init__(self) -> None:
        self.is_there: bool | None = None
        """None: it never was, as far as is known."""
        self._heard_at = 0.0

    def look(self, row: Mapping[str, Any], now: float) -> str | None:
        """One line when the last one has gone, and when somebody has come after that."""
        limiting = row.get("limiting")
        if limiting is not None:
            before, self.is_there, self._heard_at = self.is_there, True, now
            return f"{limiting['receiver']} receives the stream again" if before is False else None
        patience = max(GONE_S, 2 * (row.get("feedback_delay_s") or 0.0))  # where packets are rare, so are reports
        if self.is_there and row.get("state") == "sending" and now - self._heard_at >= patience:
            self.is_there = False
            return GONE
        return None

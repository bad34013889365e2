"""How far the data of sessions has come, as a switch knows it (p4src/assist/sessions.p4), in the plainest way."""

from dataclasses import dataclass

from hosts.wire.seq import extend
from tests.p4src.bench.program import number

SESSIONS = number("FEEDBACK_SESSIONS")
IDLE_MS = number("FEEDBACK_IDLE_MS")
NUMBERS_NEAR = 1 << 31
"""Sequence numbers begin here in the model, so that what is older than the first data is a number too."""


@dataclass
class _Row:
    session: int
    source: str
    highest: int
    ms: int


class PassedModel:
    """The sessions of one protocol."""

    def __init__(self, max_behind: int) -> None:
        """Feedback that is more packets behind the last data is not looked at."""
        self._max_behind = max_behind
        self._rows: dict[int, _Row] = {}

    def data(self, session: int, source: str, seq: int, now: int) -> None:
        """A data packet that was accepted, `now` in microseconds."""
        ms = now >> 10 | 1
        row = self._rows.get(session % SESSIONS)
        if row is not None and (row.session, row.source) == (session, source) and ms - row.ms < IDLE_MS:
            extended = extend(seq, row.highest)
            if extended >= row.highest:
                row.highest, row.ms = extended, ms
        elif row is None or ms - row.ms >= IDLE_MS:
            near = NUMBERS_NEAR if row is None else row.highest
            self._rows[session % SESSIONS] = _Row(session, source, extend(seq, near), ms)

    def highest(self, session: int) -> int:
        """The last packet of a session that is known."""
        return self._rows[session % SESSIONS].highest

    def in_range(self, session: int, cumulative: int, sack: int) -> int | None:
        """A cumulative number, extended; None when it, or the bitmap, is beyond what has passed."""
        row = self._rows.get(session % SESSIONS)
        if row is None or row.session != session:
            return None
        extended = extend(cumulative, row.highest)
        last = extended - 1 if not sack else extended + sack.bit_length()
        if last > row.highest or row.highest + 1 - extended > self._max_behind:
            return None
        return extended

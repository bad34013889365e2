"""Why somebody is refused, dropped or leaves: one list for all protocols, 8 bits on the wire."""

import enum
from typing import Final


class Reason(enum.IntEnum):
    """The code; `text` is for people."""

    NONE = 0
    INTERRUPTED = 1
    STARTED = 2
    FULL = 3
    SILENT = 4
    STALLED = 5
    WRONG_HASH = 6
    CANNOT_WRITE = 7
    REFUSED_FILE = 8
    BROKEN_STREAM = 9
    FAILED = 10
    TOO_SLOW = 11
    SLOWEST = 12
    UNPROVEN = 13
    NO_ROOM = 14
    MOVED = 16
    NOT_A_CHILD = 17
    BELOW = 18
    TOO_DEEP = 19
    NOT_HELD = 20
    SENDER_SILENT = 21

    @property
    def text(self) -> str:
        """One phrase for people."""
        return _TEXTS[self]


_TEXTS: Final = {
    Reason.NONE: "no reason given",
    Reason.INTERRUPTED: "interrupted",
    Reason.STARTED: "the session has already started",
    Reason.FULL: "the session has as many receivers as it takes",
    Reason.SILENT: "silent for too long",
    Reason.STALLED: "made no progress for too long",
    Reason.WRONG_HASH: "what arrived has the wrong hash",
    Reason.CANNOT_WRITE: "the file cannot be written",
    Reason.REFUSED_FILE: "the file is refused: there is one of that name, or none such is taken",
    Reason.BROKEN_STREAM: "the stream contradicts itself",
    Reason.FAILED: "failed",
    Reason.TOO_SLOW: "cannot take the session's least rate",
    Reason.SLOWEST: "much slower than all others",
    Reason.UNPROVEN: "silent for too long, and had acknowledged nothing or hardly anything",
    Reason.NO_ROOM: "has too little room on its disk: make some there, or let it receive elsewhere (--out)",
    Reason.MOVED: "has moved to another parent",
    Reason.NOT_A_CHILD: "is no child of this parent",
    Reason.BELOW: "lies above the parent that it asks",
    Reason.TOO_DEEP: "the tree is as deep as it may be",
    Reason.NOT_HELD: "lacks what its parent no longer has",
    Reason.SENDER_SILENT: "the sender was silent for too long",
}

"""A packet whose number is far ahead of all that came: the next one says whether the stream is there (RFC 3550, A.1,
MAX_DROPOUT and bad_seq)."""

from typing import Final

MOST_AHEAD: Final = 64
"""Packets that a number may be ahead without more (ours: RFC 3550's 3,000 is for who repairs nothing; after a longer
interruption one packet more is missing)."""


class Jump:
    """Numbers are extended ones."""

    __slots__ = ("_at",)

    def __init__(self) -> None:
        self._at = -1  # the packet that was far ahead

    def refuses(self, seq: int, highest: int) -> bool:
        """Whether packet `seq` is not to be taken; `highest` came before it, or -1: none."""
        return seq > highest + MOST_AHEAD and highest >= 0 and not self.is_confirmed(seq)

    @staticmethod
    def is_base_doubtful(seq: int, highest: int, taken: int) -> bool:
        """Whether the one packet that came so far, number `highest`, is no beginning: `seq` is far behind it. Then the
        newest is the beginning until a second agrees with it (A.1's probation). `taken`: packets taken."""
        return taken == 1 and seq < highest - MOST_AHEAD

    def is_confirmed(self, seq: int) -> bool:
        """Packet `seq` is more than `MOST_AHEAD` ahead. Whether one near it came before; else it is not to be taken."""
        before, self._at = self._at, seq
        return 0 < abs(seq - before) <= MOST_AHEAD and before >= 0

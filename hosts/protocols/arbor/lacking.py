"""When a file's receiver says what it lacks, among many: at random, and not what others have said already (ours).

The sender repairs by the number of symbols that the neediest lacks, and each repair tells how many of its block follow.
So a receiver that lacks no more than what is on its way is silent. The waits are those of receivers that want less
(`hosts.parts.spread`): a few speak in a round trip, however many there are.
"""

from math import inf
from random import Random
from typing import Final

from hosts.parts.fec.pieces import Piece
from hosts.parts.spread import Wait, spread_rtts

OPEN_BLOCKS: Final = 64
"""Blocks that somebody still lacks, at most: the receivers' and the sender's buffer, 23 MB (ours)."""
WORD_BLOCKS: Final = OPEN_BLOCKS // 4
"""When so many more are there, a receiver says so without its turn, if all could within a round trip's words (ours)."""
WORDS_PER_RTT: Final = 10
"""Of all receivers on what they have, when nothing is lacking: they take turns (ours)."""
LEAST_TURN_S: Final = 0.25
"""Between two words of a receiver (ours)."""
ANSWERED_RTTS: Final = 1.5
"""After so many round trips the answer to a request has come, unless the one or the other is lost (ours)."""


def spread_s(receivers: int, rtt: float) -> float:
    """Seconds within which all say something once."""
    return receivers * rtt / WORDS_PER_RTT


def turn_s(receivers: int, rtt: float) -> float:
    """Seconds between two words of a receiver on what it has."""
    return max(LEAST_TURN_S, spread_s(receivers, rtt))


class Lacking:
    """One receiver's. Times in seconds."""

    __slots__ = ("_coming", "_per_rtt", "_rng", "_wait")

    def __init__(self, rng: Random, per_rtt: float) -> None:
        """`per_rtt`: of many receivers that lack something so many say so in a round trip; 0: nobody waits."""
        self._rng = rng
        self._per_rtt = per_rtt
        self._wait = Wait()
        self._coming: dict[int, tuple[int, float]] = {}  # of a block: repairs that follow, and until when that holds

    @property
    def at(self) -> float:
        """When `due` is to be called; infinite: nothing is lacking."""
        return self._wait.at

    def came(self, piece: Piece, passed: int, rtt: float, now: float) -> None:
        """A repair, if the block is one of those that should be there."""
        if piece.block < passed and len(self._coming) <= OPEN_BLOCKS:
            self._coming[piece.block] = (piece.coming, now + ANSWERED_RTTS * rtt)

    def begin(self, receivers: int, rtt: float, now: float) -> None:
        """Something is lacking."""
        if self._wait.at == inf:
            self._wait.begin(spread_rtts(self._rng, receivers, self._per_rtt), rtt, now)

    def end(self) -> None:
        """Nothing is."""
        self._wait.end()
        self._coming.clear()

    def due(self, needs: list[tuple[int, int]], receivers: int, rtt: float, now: float) -> bool:
        """The wait is over: whether to say so. It looks again when an answer would have come."""
        if not needs:
            self.end()
            return False
        self._coming = {block: self._coming[block] for block, _ in needs if block in self._coming}
        self._wait.begin(ANSWERED_RTTS + spread_rtts(self._rng, receivers, self._per_rtt), rtt, now)
        return any(packets > self._expected(block, now) for block, packets in needs)

    def _expected(self, block: int, now: float) -> int:
        coming, until = self._coming.get(block, (0, 0.0))
        return coming if now < until else 0

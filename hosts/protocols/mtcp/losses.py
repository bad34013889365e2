"""Which losses of a parent's children mean congestion (ours; by the paper none does that is repaired, MTCP, 2).

Beside TCP, which takes each loss for congestion, a session must do so, too, once a round trip; and to be fair to a TCP
to the child that loses most, as often as that child loses something. What all children lack is one loss. But when each
loses other packets, all their losses together are many times as many: so each counts for the child's share of all that
was lost so far, and they mean congestion together (RLA's listening probability and TFMCC's current limiting receiver
answer the same question).
"""

from collections.abc import Iterable
from typing import Final

from hosts.protocols.mtcp.children import Child

ENOUGH: Final = 0.5
"""Half of the children's word for it is waited for, so that one that lost it as well, but does not say so, counts
little (ours)."""
MEMORY: Final = 16
"""Losses a child, on average, after which older ones count half (ours)."""


LATELY: Final = 1000
"""Packets: the share that is lost is that of about so many (ours: enough to tell 1 % from 2 %)."""


def note_loss(child: Child, seq: int) -> None:
    """The child lacks packet `seq`: its share of losses anew, an average that forgets by packets."""
    passed = max(0, seq - child.last_loss)
    child.loss_share = child.loss_share * (1 - 1 / LATELY) ** passed + 1 / LATELY
    child.last_loss = max(child.last_loss, seq)


class Losses:
    """What children have lost, in round trips with a loss."""

    __slots__ = ("_floor", "_owed", "heard")

    def __init__(self, first: int) -> None:
        """`first` is the first packet's sequence number."""
        self._floor = first  # losses of packets before it have been reacted on
        self.heard = 1.0
        """So much of what children say comes."""
        self._owed = 0.0  # what was lost and not reacted on, in losses

    def reacted(self, end: int) -> None:
        """All that was sent before packet `end` has been reacted on."""
        self._floor = max(self._floor, end)

    def means_congestion(self, child: Child, seq: int, end: int, children: Iterable[Child]) -> bool:
        """The child, one of `children`, lacks packet `seq`, and all before `end` was sent. Whether it is to be reacted
        on now.
        """
        if seq < child.loss_floor:
            return False
        child.loss_floor = end
        child.losses += 1
        losses = [other.losses for other in children]
        total = sum(losses)
        share = child.losses / total
        if total > MEMORY * len(losses):
            for other in children:
                other.losses /= 2
        if seq < self._floor:  # it has been reacted on before all had said so
            self._owed = min(max(0.0, self._owed), self._owed + share)
            return False
        self._owed += share
        if self._owed < ENOUGH * self.heard:
            return False
        self._owed = min(self._owed, 1.0) - 1
        self._floor = end
        return True

"""A small cell for the tests of this folder, whose answers are known."""

from dataclasses import replace
from typing import Any

from experiments.survey.distribution import Cell, Losses, Queue
from experiments.survey.tree import Branch, Tree

NEAR, FAR = "r1", "r2"


def small(**changes: Any) -> Cell:
    """Two receivers behind 2 Mbit/s, 40 ms and 100 ms away, alone; nothing is lost but in the queue."""
    tree = Tree((Branch("t1", "g1", 0.02),), (Branch(NEAR, "g1", 0.01), Branch(FAR, "t1", 0.02)))
    cell = Cell(
        seed=1,
        number=0,
        rate_bps=2e6,
        rtt_s=0.1,
        trunk_s=0.01,
        tree=tree,
        wanted_receivers=2,
        duration_s=20.0,
        is_beyond=False,
        queue=Queue("droptail", 2.0, False),
        losses=Losses("none", 0.0, True, (0.0, 0.0), 2.0),
        tcps=(),
        back=None,
        change=None,
        late={},
        dying=None,
        slow=None,
    )
    return replace(cell, **changes)

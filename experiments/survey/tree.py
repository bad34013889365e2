"""Random trees of routers with receivers on them, each branch with a delay of its own."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

ROOT: Final = "g1"
"""The router behind the bottleneck, where the tree begins."""
_RECEIVERS_A_ROUTER: Final = 3
"""On average, of those below the root (ours)."""
_LEAST_SHARE: Final = 0.1
"""Of the longest branch, in each: no delay is nothing (ours)."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A node of the tree, and its link to the node above."""

    name: str
    parent: str
    delay_s: float
    """One way."""


@dataclass(frozen=True, slots=True)
class Tree:
    """Routers and receivers, each after the router that it hangs on."""

    routers: Sequence[Branch]
    receivers: Sequence[Branch]

    def delays(self) -> dict[str, float]:
        """One way from the root to each receiver, seconds."""
        found = {ROOT: 0.0}
        for branch in (*self.routers, *self.receivers):
            found[branch.name] = found[branch.parent] + branch.delay_s
        return {branch.name: found[branch.name] for branch in self.receivers}


def draw_tree(rng: random.Random, receivers: int, longest_s: float) -> Tree:
    """A random recursive tree: each router hangs on one before it, each receiver on any, all equally likely; the
    farthest receiver is `longest_s` from the root."""
    above = [ROOT]
    routers = []
    for number in range(rng.randint(0, receivers // _RECEIVERS_A_ROUTER)):
        routers.append(Branch(f"t{number + 1}", rng.choice(above), rng.uniform(_LEAST_SHARE, 1)))
        above.append(routers[-1].name)
    leaves = [Branch(f"r{number + 1}", rng.choice(above), rng.uniform(_LEAST_SHARE, 1)) for number in range(receivers)]
    leaves_at = {leaf.parent for leaf in leaves}
    kept = _with_receivers(routers, leaves_at)
    scale = longest_s / max(Tree(kept, leaves).delays().values())
    return Tree(_scaled(kept, scale), _scaled(leaves, scale))


def _with_receivers(routers: Sequence[Branch], needed: set[str]) -> list[Branch]:
    """Without routers that have no receiver below them."""
    kept: list[Branch] = []
    for router in reversed(routers):
        if router.name in needed:
            kept.append(router)
            needed.add(router.parent)
    return kept[::-1]


def _scaled(branches: Sequence[Branch], factor: float) -> tuple[Branch, ...]:
    return tuple(Branch(branch.name, branch.parent, branch.delay_s * factor) for branch in branches)

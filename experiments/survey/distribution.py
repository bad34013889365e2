"""The networks of a survey. They are drawn from the survey's seed and the cell's number alone, each quantity with a
generator of its own; docs/survey.md states the distribution, which is not adjusted to what comes out of it.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from experiments.survey.bound import bounded
from experiments.survey.tree import Branch, Tree, draw_tree
from topologies.plan import derive_seed

FIRST_REPORTED_SEED: Final = 1000
"""Seeds below are for development: protocols may be mended by what comes out. From here on they are reported."""
RATES_BPS: Final = (1e6, 1e9)
RTTS_S: Final = (1e-3, 0.4)
QUEUES_BDP: Final = (0.2, 4.0)
MOST_RECEIVERS: Final = 64
QueueKind: TypeAlias = Literal["droptail", "red", "codel", "fq_codel", "pie", "dualpi2"]
QUEUE_KINDS: Final[Sequence[QueueKind]] = ("droptail", "red", "codel", "fq_codel", "pie", "dualpi2")
LossKind: TypeAlias = Literal["none", "independent", "bursts"]
LOSS_KINDS: Final[Sequence[LossKind]] = ("none", "independent", "bursts")
LOSSES: Final = (1e-4, 0.02)
BURSTS: Final = (2.0, 10.0)
"""Packets that a bad time lasts, on average."""
TCP_KINDS: Final = ("reno", "cubic", "bbr", "prague")
MOST_TCPS: Final = 4
ChangeKind: TypeAlias = Literal["delay", "rate"]
CHANGE_AT: Final = 0.5
"""Of the run; what is measured as settled comes after."""

_ALONE, _BACK, _STEADY, _LATE, _DEATH, _SLOW = 0.4, 0.25, 0.6, 0.25, 0.15, 0.15
"""How likely a cell is without cross traffic, with congestion on the way back, without a change, with late joins, with
a receiver that dies, with a slow one."""
_MOST_CHANGE: Final = 4.0
_EVENTS: Final = (0.2, 0.4)
"""When receivers join late or die, of the run."""
_DIGITS: Final = 4
"""Of a scenario's quantities."""


@dataclass(frozen=True, slots=True)
class Queue:
    """The bottleneck's, in both directions."""

    kind: QueueKind
    bdp: float
    """Its limit, of what the path holds at the bottleneck's rate and the longest round trip."""
    ecn: bool
    """Marks instead of dropping: never of DropTail, always of DualPI2."""


@dataclass(frozen=True, slots=True)
class Losses:
    """What links lose towards receivers, beside what queues drop."""

    kind: LossKind
    rate: float
    """The worst path's."""
    is_shared: bool
    """On the bottleneck's link; else on each receiver's own, at rates from 0 to the worst."""
    own: Sequence[float]
    """Each receiver's, in their order."""
    burst: float
    """Packets that a bad time lasts, on average."""


@dataclass(frozen=True, slots=True)
class Tcp:
    """One of the cross traffic's, beside the session through the bottleneck to one of its receivers."""

    kind: str
    delay_s: float
    """Of its sender's link, one way: what its path is longer by."""
    start_s: float


@dataclass(frozen=True, slots=True)
class Back:
    """Congestion on the way back, through the bottleneck's other direction."""

    kind: Literal["udp", "tcp"]
    load: float
    """Of the link at its lower rate, by UDP."""


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of the bottleneck's link in the middle of the run."""

    kind: ChangeKind
    value: float
    """The new delay, seconds one way, or rate, bit/s."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One network, and what happens on it. Times in seconds."""

    seed: int
    number: int
    rate_bps: float
    rtt_s: float
    """Of the farthest receiver, in the beginning."""
    trunk_s: float
    """The bottleneck's delay, one way."""
    tree: Tree
    wanted_receivers: int
    """So many were drawn, before the bound."""
    duration_s: float
    is_beyond: bool
    """It exceeds the bound: only a full survey runs it."""
    queue: Queue
    losses: Losses
    tcps: Sequence[Tcp]
    back: Back | None
    change: Change | None
    late: dict[str, float]
    """Receiver -> when it joins."""
    dying: tuple[str, float] | None
    """The receiver that dies, and when."""
    slow: tuple[str, float] | None
    """The receiver whose application reads slowly, and its rate, bit/s."""

    @property
    def change_s(self) -> float:
        """When the change comes, and when what is measured as settled begins."""
        return CHANGE_AT * self.duration_s

    @property
    def longest_rtt_s(self) -> float:
        """Of the farthest receiver, before or after the change."""
        longer = 0.0 if self.change is None or self.change.kind != "delay" else self.change.value - self.trunk_s
        return self.rtt_s + max(0.0, 2 * longer)

    @property
    def steady(self) -> list[str]:
        """The receivers that are there from beginning to end."""
        gone = None if self.dying is None else self.dying[0]
        return [branch.name for branch in self.tree.receivers if branch.name not in self.late and branch.name != gone]

    @property
    def name(self) -> str:
        """Of its scenarios."""
        return f"survey-{self.seed}-{self.number:04d}"


def draw(seed: int, number: int) -> Cell:
    """The cell of that number, from 0 on, of the survey with that seed."""

    def rng(quantity: str) -> random.Random:
        return random.Random(derive_seed(seed, f"survey cell {number} {quantity}"))

    rate = _log_uniform(rng("rate"), *RATES_BPS)
    rtt = _log_uniform(rng("rtt"), *RTTS_S)
    trunk = _rounded(rtt / 2 * rng("trunk").uniform(0.2, 0.8))
    change = _draw_change(rng("change"), rate, trunk)
    wanted = round(_log_uniform(rng("receivers"), 1, MOST_RECEIVERS))
    after = change.value if change is not None and change.kind == "rate" else rate
    longer = max(0.0, change.value - trunk) if change is not None and change.kind == "delay" else 0.0
    extent = bounded(wanted, (1 - CHANGE_AT) * after + CHANGE_AT * rate, rtt + 2 * longer)
    tree = _rounded_tree(draw_tree(rng("tree"), extent.receivers, rtt / 2 - trunk))
    names = [branch.name for branch in tree.receivers]
    duration = _rounded(extent.duration_s)
    late = _draw_late(rng("late"), names, duration)
    dying = _draw_dying(rng("death"), [name for name in names if name not in late], duration)
    tcps = _draw_tcps(rng("tcps"), rtt, duration)
    steady = [name for name in names if name not in late and (dying is None or name != dying[0])]
    return Cell(
        seed=seed,
        number=number,
        rate_bps=rate,
        rtt_s=rtt,
        trunk_s=trunk,
        tree=tree,
        wanted_receivers=wanted,
        duration_s=duration,
        is_beyond=extent.is_beyond,
        queue=_draw_queue(rng("queue")),
        losses=_draw_losses(rng("losses"), len(names)),
        tcps=tcps,
        back=_draw_back(rng("back")),
        change=change,
        late=late,
        dying=dying,
        slow=_draw_slow(rng("slow"), steady, rate / (1 + len(tcps))),
    )


def _draw_queue(rng: random.Random) -> Queue:
    kind = rng.choice(QUEUE_KINDS)
    bdp, marks = _log_uniform(rng, *QUEUES_BDP), rng.random() < 0.5
    return Queue(kind, bdp, kind == "dualpi2" or (kind != "droptail" and marks))


def _draw_losses(rng: random.Random, receivers: int) -> Losses:
    kind = rng.choice(LOSS_KINDS)
    rate = 0.0 if kind == "none" else _log_uniform(rng, *LOSSES)
    is_shared = rng.random() < 0.5
    own = [0.0 if is_shared else _rounded(rate * rng.random()) for _ in range(receivers)]
    worst = rng.randrange(receivers)
    if not is_shared:
        own[worst] = rate
    return Losses(kind, rate, is_shared, tuple(own), _rounded(rng.uniform(*BURSTS)))


def _draw_tcps(rng: random.Random, rtt_s: float, duration_s: float) -> tuple[Tcp, ...]:
    if rng.random() < _ALONE:
        return ()
    return tuple(
        Tcp(rng.choice(TCP_KINDS), _rounded(rng.uniform(0, rtt_s / 4)), _rounded(rng.uniform(0, 0.1 * duration_s)))
        for _ in range(rng.randint(1, MOST_TCPS))
    )


def _draw_back(rng: random.Random) -> Back | None:
    if rng.random() >= _BACK:
        return None
    return Back(rng.choice(("udp", "tcp")), _rounded(rng.uniform(0.5, 0.95)))


def _draw_change(rng: random.Random, rate_bps: float, trunk_s: float) -> Change | None:
    """A rate stays within those of the distribution."""
    if rng.random() < _STEADY:
        return None
    if rng.random() < 0.5:
        return Change("delay", _log_uniform(rng, trunk_s / _MOST_CHANGE, trunk_s * _MOST_CHANGE))
    least, most = max(RATES_BPS[0], rate_bps / _MOST_CHANGE), min(RATES_BPS[1], rate_bps * _MOST_CHANGE)
    return Change("rate", _log_uniform(rng, least, most))


def _draw_late(rng: random.Random, names: Sequence[str], duration_s: float) -> dict[str, float]:
    """One receiver at least is there from the beginning."""
    if rng.random() >= _LATE or len(names) < 2:
        return {}
    late = rng.sample(names, rng.randint(1, min(3, len(names) - 1)))
    return {name: _rounded(duration_s * rng.uniform(*_EVENTS)) for name in late}


def _draw_dying(rng: random.Random, names: Sequence[str], duration_s: float) -> tuple[str, float] | None:
    """Of those who are there from the beginning; another one stays."""
    if rng.random() >= _DEATH or len(names) < 2:
        return None
    return rng.choice(names), _rounded(duration_s * rng.uniform(*_EVENTS))


def _draw_slow(rng: random.Random, names: Sequence[str], share_bps: float) -> tuple[str, float] | None:
    """Of those who stay; it reads at a part of an equal share of the bottleneck."""
    if rng.random() >= _SLOW:
        return None
    return rng.choice(names), _rounded(share_bps * rng.uniform(0.2, 0.9))


def _log_uniform(rng: random.Random, least: float, most: float) -> float:
    return min(max(_rounded(math.exp(rng.uniform(math.log(least), math.log(most)))), least), most)


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _rounded_tree(tree: Tree) -> Tree:
    def rounded(branches: Sequence[Branch]) -> tuple[Branch, ...]:
        return tuple(Branch(branch.name, branch.parent, _rounded(branch.delay_s)) for branch in branches)

    return Tree(rounded(tree.routers), rounded(tree.receivers))

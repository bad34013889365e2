"""A protocol in a cell: what it came to, beside what a TCP gets in its place."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from experiments.harness.jobs import Metrics
from experiments.survey.distribution import Cell
from experiments.survey.references import worst
from experiments.survey.scenario import content, window_s
from hosts import protocols

State: TypeAlias = Literal["done", "left out", "failed"]

ENOUGH: Final = 0.85
"""Of what TCP gets: alone, and after a change."""
FAIR: Final = (0.5, 2.0)
"""Of the mean rate of the TCPs beside it."""
RECOVERY_S: Final = 20.0
STALL_RTTS, LEAST_STALL_S = 10, 5.0
"""No progress for so long, the longer of the two, is a stall."""
COLLAPSED: Final = 0.1
"""Less than this part of what TCP gets is none of a rate."""
_RECOVERED_RTTS, _LEAST_RECOVERED_S = 10, 1.0
"""A rate must be there for so long, the longer of the two."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Rates in bit/s, times in seconds. What does not apply to the cell, or was not measured, is None."""

    cell: Cell
    protocol: str
    state: State
    error: str = ""
    """Why it failed."""
    reference_bps: float | None = None
    """What a TCP to the worst receiver gets, or what a receiver reads where that is less."""
    of_tcp: float | None = None
    """The slowest receiver's goodput, of that."""
    of_link: float | None = None
    """The same, of the bottleneck's rate."""
    share: float | None = None
    """The same, of the mean rate of the TCPs beside it (or of what a receiver reads)."""
    recovery_s: float | None = None
    """From the change until it has `ENOUGH` of the new reference; None: no change, or not within the run."""
    metrics: Mapping[str, Any] | None = None
    """Those of the run."""
    reference: Mapping[str, Any] | None = None
    """Those of the reference run with the TCP that gets least."""

    @property
    def stalls(self) -> bool | None:
        """Whether its slowest receiver stood still for too long."""
        if self.metrics is None:
            return None
        return bool(self.metrics["stall_s"] > max(STALL_RTTS * self.cell.longest_rtt_s, LEAST_STALL_S))

    @property
    def collapses(self) -> bool | None:
        """Whether nearly nothing is left of what TCP gets."""
        return None if self.of_tcp is None else self.of_tcp < COLLAPSED

    @property
    def is_enough(self) -> bool | None:
        """Alone: whether it has `ENOUGH` of what TCP gets."""
        return None if self.of_tcp is None or self.cell.tcps else self.of_tcp >= ENOUGH

    @property
    def is_fair(self) -> bool | None:
        """Beside TCPs: whether its share is within `FAIR`."""
        return None if self.share is None else FAIR[0] <= self.share <= FAIR[1]

    @property
    def recovers(self) -> bool | None:
        """After a change: whether it recovers within `RECOVERY_S`, or the rest of a shorter run."""
        if self.state != "done" or self.cell.change is None:
            return None
        return self.recovery_s is not None and self.recovery_s <= RECOVERY_S

    @property
    def badness(self) -> float:
        """How far from what is asked for, to find the worst: 0 is all right, 1 twice as bad or half as much, and so on;
        each thing asked for that is not there adds its part."""
        found = 0.0
        if self.is_enough is False and self.of_tcp is not None:
            found += _octaves(self.of_tcp / ENOUGH)
        if self.share is not None and not self.is_fair:
            found += min(_octaves(self.share / bound) for bound in FAIR)
        if self.recovers is False:
            found += 1.0
        if self.stalls and self.metrics is not None:
            found += _octaves(self.metrics["stall_s"] / max(STALL_RTTS * self.cell.longest_rtt_s, LEAST_STALL_S))
        if self.collapses:
            found += 1.0
        return found


def judge(cell: Cell, protocol: str, metrics: Metrics, references: Sequence[Metrics]) -> Outcome:
    """A session's run beside the reference runs of its cell, of which there is at least one."""
    reference = references[worst([one["goodput_bps"] for one in references])]
    # An application that reads slowly holds back who waits for it: a reliable session, and a TCP.
    waits = cell.slow is not None and content(protocols.get(protocol)) == "endless"
    most = cell.slow[1] if waits and cell.slow is not None else math.inf
    goodput = metrics["goodput_bps"]
    expected = min(reference["goodput_bps"], most)
    tcps = metrics["tcps_bps"]
    beside = min(math.fsum(tcps) / len(tcps), most) if tcps else None
    after = cell.change.value if cell.change is not None and cell.change.kind == "rate" else cell.rate_bps
    recovery = None
    if cell.change is not None:
        recovery = recovery_s(cell, metrics["rates_bps"], min(_last_rate(reference["rates_bps"]), most))
    return Outcome(
        cell,
        protocol,
        "done",
        reference_bps=expected,
        of_tcp=goodput / expected if expected else None,
        of_link=goodput / after,
        share=goodput / beside if beside else None,
        recovery_s=recovery,
        metrics=metrics,
        reference=reference,
    )


def recovery_s(cell: Cell, rates_bps: Sequence[float], reference_bps: float) -> float | None:
    """Seconds from the change until the rates begin to have `ENOUGH` of the reference on average over max(10 RTT, 1 s);
    None when they do not before the end."""
    window = window_s(cell)
    width = math.ceil(max(_RECOVERED_RTTS * cell.longest_rtt_s, _LEAST_RECOVERED_S) / window)
    first = math.ceil(cell.change_s / window - 1e-9)
    for start in range(first, len(rates_bps) - width + 1):
        if math.fsum(rates_bps[start : start + width]) / width >= ENOUGH * reference_bps:
            return max(0.0, start * window - cell.change_s)
    return None


def _last_rate(rates_bps: Sequence[float]) -> float:
    """The mean of the last quarter of a run: what TCP has when it has settled after the change."""
    last = rates_bps[-max(1, len(rates_bps) // 4) :]
    return math.fsum(last) / len(last)


def _octaves(ratio: float) -> float:
    """How often it is doubled or halved; 10 for nothing at all."""
    return min(10.0, abs(math.log2(ratio))) if ratio > 0 else 10.0

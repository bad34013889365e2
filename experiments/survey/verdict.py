"""What a survey says of a protocol."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from pydantic import BaseModel

from experiments.harness.origin import Made
from experiments.survey.distribution import FIRST_REPORTED_SEED
from experiments.survey.goals import Count, Goals, count, goals
from experiments.survey.outcome import Outcome
from experiments.survey.survey import Plan, Surveyed

FILE_NAME: Final = "verdicts.json"
SeedKind: TypeAlias = Literal["development", "reporting"]


class Verdict(BaseModel):
    """A protocol's. Medians and tenths are over the cells; null where there is none."""

    protocol: str
    holds: bool
    """All of the following, in all cells that were run, of which there is one at least."""
    done: int
    left_out: int
    failed: int
    enough: Count
    """Alone: 85 % of what TCP gets."""
    fair: Count
    """Beside TCPs: 0.5 to 2 times their mean rate."""
    recovers: Count
    """After a change: 85 % of the new reference within 20 s."""
    moves: Count
    """No stall."""
    stands: Count
    """No collapse: a tenth of what TCP gets."""
    of_tcp_median: float | None
    """Alone, of what TCP gets."""
    of_tcp_tenth: float | None
    """The same, of which a tenth of the cells have less."""
    share_median: float | None
    recovery_median_s: float | None
    queue_p99_median_s: float | None
    variation_median: float | None
    feedback_median: float | None
    goals: Goals
    """In the kinds of networks that the protocols' goals name."""


class Verdicts(BaseModel):
    """`verdicts.json`, and what `--json` prints."""

    seed: int
    kind: SeedKind
    """Seeds for development are those by which protocols may be mended."""
    cells: int
    full: bool
    made: Made = Made()
    protocols: list[Verdict]


def verdicts(surveyed: Surveyed, made: Made) -> Verdicts:
    """Of all protocols, in the plan's order."""
    plan = surveyed.plan
    return Verdicts(
        seed=plan.seed,
        kind=seed_kind(plan),
        cells=plan.cells,
        full=plan.is_full,
        made=made,
        protocols=[
            verdict(protocol, [outcome for outcome in surveyed.outcomes if outcome.protocol == protocol])
            for protocol in plan.protocols
        ],
    )


def seed_kind(plan: Plan) -> SeedKind:
    """What the seed is for."""
    return "development" if plan.seed < FIRST_REPORTED_SEED else "reporting"


def verdict(protocol: str, outcomes: Sequence[Outcome]) -> Verdict:
    """Of one protocol."""
    states = [outcome.state for outcome in outcomes]
    counts = {
        "enough": count(outcome.is_enough for outcome in outcomes),
        "fair": count(outcome.is_fair for outcome in outcomes),
        "recovers": count(outcome.recovers for outcome in outcomes),
        "moves": count(None if outcome.stalls is None else not outcome.stalls for outcome in outcomes),
        "stands": count(None if outcome.collapses is None else not outcome.collapses for outcome in outcomes),
    }
    is_whole = states.count("done") > 0 and states.count("failed") == 0
    alone = [outcome.of_tcp for outcome in outcomes if outcome.of_tcp is not None and not outcome.cell.tcps]
    metrics: list[Mapping[str, Any]] = [outcome.metrics for outcome in outcomes if outcome.metrics is not None]
    return Verdict(
        protocol=protocol,
        holds=is_whole and all(one.holds == one.cells for one in counts.values()),
        done=states.count("done"),
        left_out=states.count("left out"),
        failed=states.count("failed"),
        **counts,
        of_tcp_median=_median(alone),
        of_tcp_tenth=_tenth(alone),
        share_median=_median(outcome.share for outcome in outcomes),
        recovery_median_s=_median(outcome.recovery_s for outcome in outcomes),
        queue_p99_median_s=_median(one["queue_p99_s"] for one in metrics),
        variation_median=_median(one["variation"] for one in metrics),
        feedback_median=_median(one["feedback"] for one in metrics),
        goals=goals(outcomes),
    )


def _median(values: Iterable[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return statistics.median(found) if found else None


def _tenth(values: Sequence[float]) -> float | None:
    return sorted(values)[len(values) // 10] if values else None

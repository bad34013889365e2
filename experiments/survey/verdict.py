"""What a survey says of a protocol."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from experiments.figures.survey import SeedKind, Verdict, Verdicts
from experiments.harness.origin import Made
from experiments.survey.distribution import FIRST_REPORTED_SEED
from experiments.survey.goals import count, goals
from experiments.survey.outcome import Outcome
from experiments.survey.survey import Plan, Surveyed

FILE_NAME: Final = "verdicts.json"


def verdicts(surveyed: Surveyed, made: Made) -> Verdicts:
    """Of all protocols, in the plan's order."""
    plan = surveyed.plan
    return Verdicts(
        seed=plan.seed,
        kind=seed_kind(plan),
        cells=plan.cells,
        full=plan.is_full,
        only=plan.only,
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

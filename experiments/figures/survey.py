"""A survey's verdicts, as `canopy survey --json` prints them and as they are kept, and as a table for a document."""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from pydantic import BaseModel

from experiments.harness.origin import Made

SeedKind: TypeAlias = Literal["development", "reporting"]


class Count(BaseModel):
    """In how many cells something holds, of those to which it applies."""

    cells: int
    holds: int


class Goals(BaseModel):
    """A protocol's. The least and the most are over the cells; null where there is none."""

    lossless: Count
    """Alone, nothing lost but in queues: 90 % of what TCP gets."""
    lossless_least: float | None
    """The least of these, of what TCP gets."""
    beside_loss_based: Count
    """Beside Reno and CUBIC only: 0.5 to 2 times their mean rate."""
    beside_least: float | None
    beside_most: float | None
    as_tcp: Count
    """Beside TCPs of any kind: 0.5 to 2 times what a TCP gets in its place beside them."""


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
    only: str = ""
    """The kind of all cells, when it was a survey of one."""
    made: Made = Made()
    protocols: list[Verdict]


_HEAD: Final = (
    "protocol",
    "cells run",
    "left out",
    "alone, 85 % of TCP's",
    "of TCP's: median, a tenth has less than",
    "share 0.5 to 2",
    "share: median",
    "recovers",
    "no stall",
    "no collapse",
    "queueing delay, 99 %: median",
    "holds",
)

_GOALS_HEAD: Final = (
    "protocol",
    "alone, no losses but in queues: 90 % of TCP's",
    "least",
    "beside Reno and CUBIC only: share 0.5 to 2",
    "least, most",
    "beside TCPs of any kind: 0.5 to 2 times a TCP in its place",
)


def survey_lines(text: str | bytes) -> list[list[str]]:
    """A head and a line for each protocol. ValidationError when the text is no survey's."""
    survey = Verdicts.model_validate_json(text)
    return [[_kind(survey), *_HEAD[1:]], *(list(_line(verdict)) for verdict in survey.protocols)]


def goals_lines(text: str | bytes) -> list[list[str]]:
    """Likewise, of the networks that the protocols' goals name."""
    survey = Verdicts.model_validate_json(text)
    return [[_kind(survey), *_GOALS_HEAD[1:]], *(list(_goals_line(verdict)) for verdict in survey.protocols)]


def _kind(survey: Verdicts) -> str:
    cells = f"{survey.cells} cells{survey.only and f', {survey.only}'}{', full' * survey.full}"
    return f"{_HEAD[0]} (seed {survey.seed}, for {survey.kind}; {cells})"


def _goals_line(verdict: Verdict) -> Sequence[str]:
    goals = verdict.goals
    return (
        verdict.protocol,
        counted(goals.lossless),
        part(goals.lossless_least),
        counted(goals.beside_loss_based),
        f"{number(goals.beside_least)}, {number(goals.beside_most)}",
        counted(goals.as_tcp),
    )


def _line(verdict: Verdict) -> Sequence[str]:
    failed = f", {verdict.failed} failed" if verdict.failed else ""
    delay = verdict.queue_p99_median_s
    return (
        verdict.protocol,
        f"{verdict.done}{failed}",
        str(verdict.left_out),
        counted(verdict.enough),
        f"{part(verdict.of_tcp_median)}, {part(verdict.of_tcp_tenth)}",
        counted(verdict.fair),
        number(verdict.share_median),
        counted(verdict.recovers),
        counted(verdict.moves),
        counted(verdict.stands),
        "-" if delay is None else f"{delay * 1e3:.2g} ms",
        "yes" if verdict.holds else "**no**",
    )


def counted(count: Count) -> str:
    """As "3 of 4", for a person."""
    return f"{count.holds} of {count.cells}" if count.cells else "-"


def part(value: float | None) -> str:
    """As a percentage."""
    return "-" if value is None else f"{value:.0%}"


def number(value: float | None) -> str:
    """With two digits."""
    return "-" if value is None else f"{value:.2g}"

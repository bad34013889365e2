"""The verdicts of a kept survey (`canopy survey --json`) as a table for a document."""

from collections.abc import Sequence
from typing import Final, Literal

from pydantic import BaseModel


class _Count(BaseModel):
    """In how many cells something holds."""

    cells: int
    holds: int


class _Goals(BaseModel):
    """In the kinds of networks that the protocols' goals name."""

    lossless: _Count
    lossless_least: float | None
    beside_loss_based: _Count
    beside_least: float | None
    beside_most: float | None
    as_tcp: _Count


class _Verdict(BaseModel):
    """On one protocol."""

    protocol: str
    holds: bool
    done: int
    left_out: int
    failed: int
    enough: _Count
    fair: _Count
    recovers: _Count
    moves: _Count
    stands: _Count
    of_tcp_median: float | None
    of_tcp_tenth: float | None
    share_median: float | None
    queue_p99_median_s: float | None
    goals: _Goals


class _Survey(BaseModel):
    """What `canopy survey --json` prints, as far as documents show it."""

    seed: int
    kind: Literal["development", "reporting"]
    cells: int
    full: bool
    protocols: list[_Verdict]


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
    survey = _Survey.model_validate_json(text)
    return [[_kind(survey), *_HEAD[1:]], *(list(_line(verdict)) for verdict in survey.protocols)]


def goals_lines(text: str | bytes) -> list[list[str]]:
    """Likewise, of the networks that the protocols' goals name."""
    survey = _Survey.model_validate_json(text)
    return [[_kind(survey), *_GOALS_HEAD[1:]], *(list(_goals_line(verdict)) for verdict in survey.protocols)]


def _kind(survey: _Survey) -> str:
    return f"{_HEAD[0]} (seed {survey.seed}, for {survey.kind}; {survey.cells} cells{', full' * survey.full})"


def _goals_line(verdict: _Verdict) -> Sequence[str]:
    goals = verdict.goals
    return (
        verdict.protocol,
        _count(goals.lossless),
        _part(goals.lossless_least),
        _count(goals.beside_loss_based),
        f"{_number(goals.beside_least)}, {_number(goals.beside_most)}",
        _count(goals.as_tcp),
    )


def _line(verdict: _Verdict) -> Sequence[str]:
    failed = f", {verdict.failed} failed" if verdict.failed else ""
    delay = verdict.queue_p99_median_s
    return (
        verdict.protocol,
        f"{verdict.done}{failed}",
        str(verdict.left_out),
        _count(verdict.enough),
        f"{_part(verdict.of_tcp_median)}, {_part(verdict.of_tcp_tenth)}",
        _count(verdict.fair),
        _number(verdict.share_median),
        _count(verdict.recovers),
        _count(verdict.moves),
        _count(verdict.stands),
        "-" if delay is None else f"{delay * 1e3:.2g} ms",
        "yes" if verdict.holds else "**no**",
    )


def _count(count: _Count) -> str:
    return f"{count.holds} of {count.cells}" if count.cells else "-"


def _part(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}"

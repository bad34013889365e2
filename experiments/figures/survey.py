"""The verdicts of a kept survey (`canopy survey --json`) as a table for a document."""

from collections.abc import Sequence
from typing import Final, Literal

from pydantic import BaseModel


class _Count(BaseModel):
    """In how many cells something holds."""

    cells: int
    holds: int


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


def survey_lines(text: str) -> list[list[str]]:
    """A head and a line for each protocol. ValidationError when the text is no survey's."""
    survey = _Survey.model_validate_json(text)
    kind = f"{_HEAD[0]} (seed {survey.seed}, for {survey.kind}; {survey.cells} cells{', full' * survey.full})"
    return [[kind, *_HEAD[1:]], *(list(_line(verdict)) for verdict in survey.protocols)]


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
        "-" if verdict.share_median is None else f"{verdict.share_median:.2g}",
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

"""When and how a broadcast sends which files: `--rule 'PATTERN priority=2 turns=3 start=TIME until=TIME cache=no'`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Final

from hosts.storage import CacheControl

SETTINGS: Final = ("priority", "turns", "start", "until", "cache")
CACHE: Final = {"no": "no-cache", "stale": "max-stale"}
"""What is said to caches (3GPP TS 26.346, 7.2.10): keep nothing of it, or whatever is there."""
MOST_PRIORITY: Final = 1e6
"""So that no file waits for others without end (ours)."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Of the files whose names match."""

    pattern: str = "*"
    """As fnmatch has them."""
    priority: float = 1.0
    """A file of twice the priority is through in half of the time."""
    turns: int = 0
    """How often all of a file is sent; 0: without end."""
    start: float = -math.inf
    """Unix time, seconds."""
    until: float = math.inf
    """Likewise."""
    cache: CacheControl = ""

    def holds(self, now: float) -> bool:
        """Whether its files are sent then."""
        return self.start <= now < self.until


class Rules:
    """Several; of those that match a name the first one counts, and the default where none does."""

    def __init__(self, rules: Sequence[Rule] = (), default: Rule | None = None) -> None:
        self._rules = (*rules, default or Rule())

    def of(self, name: str) -> Rule:
        """The one for a file."""
        return next(rule for rule in self._rules if fnmatchcase(name, rule.pattern))

    def are_over(self, now: float) -> bool:
        """Whether no file is sent any more."""
        return all(rule.until <= now for rule in self._rules)

    @property
    def have_times(self) -> bool:
        """Whether what is sent depends on the time."""
        return any(math.isfinite(time) for rule in self._rules for time in (rule.start, rule.until))


def parse_time(text: str, now: float) -> float:
    """Unix time: ISO 8601 (local time unless it says otherwise), or `+SECONDS` from now on. ValueError."""
    if text.startswith("+"):
        try:
            after = float(text)
        except ValueError:
            raise ValueError(f"'{text}' is no number of seconds") from None
        if not math.isfinite(after):
            raise ValueError(f"'{text}' is no time")
        return now + after
    try:
        return datetime.fromisoformat(text).astimezone(UTC).timestamp()
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"'{text}' is no time, as 2030-01-31T12:00 or +60") from None


def parse_rule(text: str, now: float, default: Rule) -> Rule:
    """PATTERN and settings; what it leaves out is as in the default. ValueError."""
    pattern, *settings = text.split() or [""]
    if not settings:
        raise ValueError(f"--rule '{text}': a pattern and settings are needed, as in '*.iso priority=2'")
    rule = replace(default, pattern=pattern)
    for setting in settings:
        name, _, value = setting.partition("=")
        if name not in SETTINGS:
            raise ValueError(f"--rule '{text}': there is no '{name}', only {', '.join(SETTINGS)}")
        try:
            if name == "priority":
                rule = replace(rule, priority=_priority(value))
            elif name == "turns":
                rule = replace(rule, turns=_turns(value))
            elif name == "start":
                rule = replace(rule, start=parse_time(value, now))
            elif name == "cache":
                rule = replace(rule, cache=CACHE.get(value) or int(parse_time(value, now)))
            else:
                rule = replace(rule, until=parse_time(value, now))
        except ValueError as error:
            raise ValueError(f"--rule '{text}': {name}: {error}") from None
    return rule


def _priority(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"'{text}' is no number") from None
    if not 1 / MOST_PRIORITY <= value <= MOST_PRIORITY:
        raise ValueError(f"{text} is not within {1 / MOST_PRIORITY:g} and {MOST_PRIORITY:g}")
    return value


def _turns(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise ValueError(f"'{text}' is no whole number") from None
    if value < 1:
        raise ValueError(f"{text} is less than 1")
    return value

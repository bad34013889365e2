"""What a check finds."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Part: TypeAlias = Literal["agents", "switch", "emulation"]
"""What somebody wants to run: `canopy send` and `recv`; `canopy switch`; `canopy emulate`."""
PARTS: Final[tuple[Part, ...]] = ("agents", "switch", "emulation")

Verdict: TypeAlias = Literal["ok", "advice", "missing", "unknown"]
"""Missing: it does not work. Advice: it works, less well. Unknown: it could not be looked at."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the table."""

    area: str
    subject: str
    verdict: Verdict
    found: str
    """What is there, in a few words."""
    advice: str = ""
    """What to do; empty when there is nothing to be done."""
    parts: tuple[Part, ...] = PARTS
    """Who needs it."""

"""When to send IGMP general queries (RFC 3376, section 8): on every switch in turn of its own clock.

A switch that (re)connects is queried at once, and again a quarter of the interval later, as often as the robustness
variable says (sections 8.6 and 8.7), with a short time to answer; then once per interval.
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.network import Timing

STARTUP_RESPONSE_S = 0.5  # members come back quickly; a few hosts a port need no spreading over seconds
MIN_SPACING_S = 1.0  # between two queries of a switch that somebody asks for


@dataclass
class _Schedule:
    due: float
    startup_left: int
    last: float = float("-inf")


class Querier:
    """Decides which switches are queried. Times are seconds on the caller's monotonic clock."""

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._switches: dict[str, _Schedule] = {}

    def start(self, switch: str, now: float) -> None:
        """A switch is ready: query it now, and then regularly."""
        self._switches[switch] = _Schedule(now, self._timing.robustness)

    def stop(self, switch: str) -> None:
        """A switch is gone."""
        self._switches.pop(switch, None)

    def hurry(self, switch: str, now: float) -> None:
        """Query a switch soon, because reports may have been missed: now, or when the last query is a second old."""
        schedule = self._switches.get(switch)
        if schedule is not None:
            schedule.due = min(schedule.due, max(now, schedule.last + MIN_SPACING_S))
            schedule.startup_left = max(schedule.startup_left, 1)

    def due(self, now: float) -> list[tuple[str, float]]:
        """The switches to be queried now, each with the time that hosts have to answer, seconds."""
        queries = []
        for switch, schedule in self._switches.items():
            if schedule.due > now:
                continue
            startup = schedule.startup_left > 0
            schedule.startup_left -= startup
            interval = self._timing.query_interval_s
            schedule.due = now + (interval / 4 if schedule.startup_left > 0 else interval)
            schedule.last = now
            response = min(STARTUP_RESPONSE_S, self._timing.query_response_s) if startup else None
            queries.append((switch, self._timing.query_response_s if response is None else response))
        return queries

    def wake_at(self) -> float | None:
        """When `due` should be called next; None while no switch is there."""
        return min((schedule.due for schedule in self._switches.values()), default=None)

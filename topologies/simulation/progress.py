"""How far a simulated run is: a bar on a terminal, a line every few seconds elsewhere."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from engine.command.lines import visible

REFRESH_S = 0.2
LINE_INTERVAL_S = 5.0
"""Wall-clock time between two lines, where there is no terminal."""


Share: TypeAlias = Callable[[], float | None]
"""How much of their files the sessions' receivers have, 0..1; None without files. Asked for when it is shown."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run is. Times in seconds."""

    now: float
    """Virtual time."""
    until: float
    """The run's limit; with sessions it may end long before."""
    wall: float
    events: int

    @property
    def events_per_s(self) -> float:
        """Events in a second of wall-clock time."""
        return self.events / self.wall if self.wall > 0 else 0.0

    def __str__(self) -> str:
        return f"{self.now:.2f} s simulated in {self.wall:.1f} s, {self.events_per_s / 1e3:,.0f} k events/s"


class View(Protocol):
    """Shows a run."""

    def update(self, progress: Progress, share: Share) -> None:
        """Show where it is."""

    def note(self, text: str) -> None:
        """Show one line that stays."""

    def close(self) -> None:
        """Leave the terminal as it was."""


def make_view(console: Console, *, quiet: bool) -> View:
    """A bar on a terminal, lines elsewhere, nothing when `quiet`."""
    if quiet:
        return SilentView()
    return BarView(console) if console.is_terminal else LineView(console)


class SilentView:
    """Shows nothing."""

    def update(self, progress: Progress, share: Share) -> None:
        """Nothing to show."""

    def note(self, text: str) -> None:
        """Nothing to show."""

    def close(self) -> None:
        """Nothing to restore."""


class LineView:
    """One line every `LINE_INTERVAL_S`."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next_at = LINE_INTERVAL_S

    def update(self, progress: Progress, share: Share) -> None:
        """Print a line when it is time to."""
        if progress.wall >= self._next_at:
            self._next_at = progress.wall + LINE_INTERVAL_S
            self.note(f"{progress}{describe(share())}")

    def note(self, text: str) -> None:
        """Print a line."""
        self._console.print(visible(text), markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Nothing to restore."""


class BarView:
    """A bar of virtual time, redrawn in place."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Bar(BarColumn(), TextColumn("{task.description}"), console=console, auto_refresh=False)
        self._task = self._bar.add_task("", total=1.0)
        self._next_at = 0.0
        self._bar.start()

    def update(self, progress: Progress, share: Share) -> None:
        """Redraw, a few times a second."""
        now = time.monotonic()
        if now < self._next_at:
            return
        self._next_at = now + REFRESH_S
        received = share()
        done = progress.now / progress.until if received is None else received
        self._bar.update(self._task, completed=done, description=f"{progress}{describe(received)}", refresh=True)

    def note(self, text: str) -> None:
        """Print a line above the bar."""
        self._console.print(visible(text), markup=False, highlight=False)

    def close(self) -> None:
        """Leave the last bar on the screen and give the cursor back."""
        self._bar.stop()


def describe(share: float | None) -> str:
    """What was received, in some words."""
    return "" if share is None else f"; {share:.0%} received"

"""A progress bar for a person at a terminal, and lines for what must be said anyway. All on standard error."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engine.command.lines import visible

if TYPE_CHECKING:  # a tenth of a second, of use only at a terminal
    from rich.console import Console
    from rich.progress import Progress, TaskID


_BESIDE = 15 + 8 + 2 + 5
"""Columns of sizes (999.9/999.9 MB), the time that is left, a bar of two, and what parts the six."""


class Display:
    """Shows one session. Quiet: nothing but errors; verbose: also what is seldom asked for."""

    def __init__(self, *, quiet: bool, verbose: bool = False) -> None:
        self._lines = sys.stderr
        self._console = _terminal()
        self.is_quiet = quiet
        self._verbose = verbose
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._total = 0
        self._label = ""
        self._passes = False  # a line stands that the next one overwrites

    def say(self, text: str) -> None:
        """One line, unless quiet."""
        if not self.is_quiet:
            self._line(text)

    def detail(self, text: str) -> None:
        """One line, when it is asked for."""
        if self._verbose:
            self.say(text)

    def fail(self, text: str) -> None:
        """One line, always."""
        self._line(f"canopy: {text}")

    def complain(self, text: str | None) -> None:
        """One line, always, when there is something."""
        if text is not None:
            self.fail(text)

    def stream(self, text: str) -> None:
        """A line that the next one overwrites, when there is a terminal: as much of it as that has room for."""
        if self._console is not None and self.is_watched:
            self._clear()
            self._console.print(visible(text)[: self._console.width - 1], markup=False, end="\r")
            self._passes = True

    def _line(self, text: str) -> None:
        self._clear()
        if self._console is not None:
            self._console.print(visible(text), markup=False)
        else:
            print(visible(text), file=self._lines, flush=True)

    def _clear(self) -> None:
        """Take away the line that stands only until there is another one."""
        if self._console is not None and self._passes:
            from rich.control import Control
            from rich.segment import ControlType

            self._console.control(Control((ControlType.ERASE_IN_LINE, 2)))
            self._passes = False

    def begin(self, label: str, total: int) -> None:
        """Show a bar, when there is a terminal to show it on."""
        if self._console is None or not self.is_watched or self._progress is not None:
            return
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
        from rich.table import Column

        self._progress = Progress(  # one line, in which the bar has what the words leave
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
            BarColumn(bar_width=None, table_column=Column(ratio=1)),
            DownloadColumn(table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[rate]}", table_column=Column(no_wrap=True)),
            TimeRemainingColumn(table_column=Column(no_wrap=True)),
            TextColumn("{task.fields[note]}", markup=False, table_column=Column(no_wrap=True)),
            console=self._console,
            auto_refresh=False,
            expand=True,
        )
        self._total = total
        self._label = _shortened(visible(label), self._console.width // 4)
        self._task = self._progress.add_task(self._label, total=total, rate="", note="")
        self._progress.start()

    def name(self, label: str) -> None:
        """What the bar is of, now."""
        if self._progress is not None and self._task is not None and self._console is not None:
            self._label = _shortened(visible(label), self._console.width // 4)
            self._progress.update(self._task, description=self._label)

    @property
    def is_watched(self) -> bool:
        """Whether somebody sees what is shown in passing."""
        return not self.is_quiet and self._console is not None

    @property
    def shows_progress(self) -> bool:
        """Whether there is a bar to move."""
        return self._progress is not None

    def update(self, done: int, row: Mapping[str, Any]) -> None:
        """Move the bar."""
        if self._progress is None or self._task is None or self._console is None:
            return
        rate = row.get("rate_bps")
        limiting = row.get("limiting") or {}
        note = f"limited by {limiting['receiver']} ({limiting['reason']})" if limiting else ""
        text = "" if rate is None else f"{rate / 1e6:.2f} Mbps"
        total = self._total
        if done > total > 0:  # a carousel, which sends it again and again
            done, note = total, f"sent {done / total:.1f} times"
        room = self._console.width - len(self._label) - len(text) - _BESIDE
        note = _shortened(visible(note), max(room, 0))
        self._progress.update(self._task, completed=done, rate=text, note=note, refresh=True)

    def end(self) -> None:
        """Leave the terminal as it was."""
        self._clear()
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…" if most > 0 else ""


def _terminal() -> Console | None:
    """Standard error, when it is a terminal: elsewhere plain lines do."""
    if not sys.stderr.isatty():
        return None
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)

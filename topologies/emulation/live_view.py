"""What a run shows while it goes on: a live table on a terminal, a line every few seconds elsewhere."""

import time
from typing import Protocol

from rich.console import Console, Group, JustifyMethod
from rich.live import Live
from rich.table import Table
from rich.text import Text

from controller.sessions import LimitingStatus, ReceiverStatus, SessionStatus
from engine.command.lines import visible
from engine.command.natural import natural
from topologies.emulation.sampler import Sampler
from topologies.scenario.quantity import format_measured_rate, format_rate, format_size

LINE_INTERVAL_S = 2.0
_RATE_WINDOW_S = 2.0


class LiveView(Protocol):
    """Shows a run."""

    def update(self, sampler: Sampler, elapsed_s: float) -> None:
        """Show the newest values."""

    def note(self, text: str) -> None:
        """Show one line that stays."""

    def close(self) -> None:
        """Leave the terminal as it was."""


def make_live_view(console: Console, quiet: bool) -> LiveView:
    """A table on a terminal, lines elsewhere, nothing when `quiet`."""
    if quiet:
        return SilentView()
    return TableView(console) if console.is_terminal else LineView(console)


class RateMeter:
    """Bit/s from a counter of bytes, over the last seconds."""

    def __init__(self) -> None:
        self._history: list[tuple[float, int]] = []

    def update(self, at: float, octets: int) -> float:
        """Add a reading; the rate since the oldest one of the window."""
        if not self._history or at > self._history[-1][0]:
            self._history.append((at, octets))
        while len(self._history) > 2 and self._history[1][0] <= at - _RATE_WINDOW_S:
            self._history.pop(0)
        (first, before), (last, after) = self._history[0], self._history[-1]
        return (after - before) * 8 / (last - first) if last > first else 0.0


class SilentView:
    """Shows nothing."""

    def update(self, sampler: Sampler, elapsed_s: float) -> None:
        """Nothing to show."""

    def note(self, text: str) -> None:
        """Nothing to show."""

    def close(self) -> None:
        """Nothing to restore."""


class LineView:
    """One line for each session every `LINE_INTERVAL_S`."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next_at = 0.0

    def update(self, sampler: Sampler, elapsed_s: float) -> None:
        """Print the lines when it is time to."""
        if elapsed_s < self._next_at:
            return
        self._next_at = elapsed_s + LINE_INTERVAL_S
        for status in sampler.sessions.values():
            self.note(f"{elapsed_s:6.1f} s  {session_line(status, sampler)}")

    def note(self, text: str) -> None:
        """Print a line."""
        self._console.print(visible(text), markup=False, highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Nothing to restore."""


class TableView:
    """A table for each session, redrawn in place: within the terminal's width and height, whoever limits first."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._meters: dict[tuple[int, str], RateMeter] = {}
        self._live = Live(console=console, auto_refresh=False, transient=False)
        self._live.start()

    def update(self, sampler: Sampler, elapsed_s: float) -> None:
        """Redraw."""
        parts: list[Text | Table] = [Text(f"{elapsed_s:.1f} s", style="dim")]
        titles = {number: Text(session_title(status, sampler)) for number, status in sampler.sessions.items()}
        width = max(self._console.width, 1)
        used = 2 + sum(len(title.wrap(self._console, width)) + _LINES_BESIDE for title in titles.values())
        room = max((self._console.height - used) // max(len(titles), 1), 1)
        for number, status in sampler.sessions.items():
            parts += [titles[number], self._table(status, sampler, room)]
        self._live.update(Group(*parts), refresh=True)

    def note(self, text: str) -> None:
        """Print a line above the tables."""
        self._console.print(visible(text), markup=False, highlight=False)

    def close(self) -> None:
        """Leave the last tables on the screen and give the cursor back."""
        self._live.stop()

    def _table(self, status: SessionStatus, sampler: Sampler, room: int) -> Table:
        """At most `room` receivers, the others in one line."""
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
        shown_columns = [
            name
            for name, least_width in _COLUMNS.items()
            if self._console.width >= least_width and (status.total_bytes or name not in _OF_AN_END)
        ]
        for column in shown_columns:
            width = _NAME_WIDTH if column == "receiver" else None
            justify: JustifyMethod = "left" if column in _WORDS else "right"
            table.add_column(column, no_wrap=True, max_width=width, justify=justify)

        def add_row(*cells: Text | str) -> None:
            row = dict(zip(_COLUMNS, cells, strict=True))
            table.add_row(*(row[column] for column in shown_columns))

        limiting = None if status.limiting is None else status.limiting.receiver
        rates = {
            address: self._meters.setdefault((status.session, address), RateMeter()).update(
                status.updated_at, receiver.acked_bytes or 0
            )
            for address, receiver in status.receivers.items()
        }
        ordered = sorted(
            status.receivers, key=lambda address: (address != limiting, natural(sampler.host_name(address)))
        )
        shown = ordered if len(ordered) <= room else ordered[: room - 1]
        for address in shown:
            receiver, limits = status.receivers[address], address == limiting
            share = _share(receiver, status)
            add_row(
                Text(sampler.host_name(address), style="bold" if limits else ""),
                bar(share),
                f"{share:.0%}",
                format_measured_rate(rates[address]),
                "" if receiver.rtt_s is None else f"{receiver.rtt_s * 1e3:.1f} ms",
                _count(receiver.lost_packets),
                _count(receiver.repaired_packets),
                Text(
                    _state(receiver, status.limiting if limits else None, self._console.width),
                    style=_STYLES.get(receiver.state, ""),
                ),
            )
        rest = [status.receivers[address] for address in ordered[len(shown) :]]
        if rest:
            share = sum(_share(receiver, status) for receiver in rest) / len(rest)
            complete = sum(receiver.state == "complete" for receiver in rest)
            add_row(
                Text(f"{len(rest)} others", style="dim"),
                bar(share),
                f"{share:.0%}",
                "",
                "",
                str(sum(receiver.lost_packets or 0 for receiver in rest)),
                str(sum(receiver.repaired_packets or 0 for receiver in rest)),
                Text(f"{complete} complete", style="dim"),
            )
        return table


_LINES_BESIDE = 1
"""Of a session's table: its head."""
_NAME_WIDTH = 14
_COLUMNS = {"receiver": 0, "progress": 72, "%": 0, "rate": 0, "RTT": 60, "lost": 50, "repaired": 72, "state": 0}
"""Of a table, each with the least width of a terminal that shows it."""
_OF_AN_END = ("progress", "%")
"""Those of what has one."""
_WORDS = ("receiver", "progress", "state")
_BAR_WIDTH = 12


def bar(share: float) -> str:
    """How much of something is done, told by characters: a terminal of 16 colours has no two shades of grey."""
    done = int(share * _BAR_WIDTH)
    return "█" * done + "░" * (_BAR_WIDTH - done)


_STYLES: dict[str | None, str] = {"complete": "green", "lost": "red", "left": "yellow"}


def session_title(status: SessionStatus, sampler: Sampler) -> str:
    """One line about the sender."""
    parts = [
        f"session {status.session} ({status.protocol}) from {sampler.host_name(str(status.source))}: {status.state}"
    ]
    if status.rate_bps is not None:
        parts.append(f"rate {format_rate(status.rate_bps)}")
    if status.cwnd is not None:
        parts.append(f"window {status.cwnd:.1f} packets")
    if status.total_bytes is not None and status.sent_bytes is not None:
        total = format_size(status.total_bytes)
        times = status.sent_bytes / status.total_bytes if status.total_bytes else 0.0
        parts.append(
            f"sent {total} {times:.1f} times" if times > 1.1 else f"sent {format_size(status.sent_bytes)} of {total}"
        )
    if status.repair_packets is not None:
        parts.append(f"{status.repair_packets} repairs")
    if status.feedback_packets is not None:
        parts.append(f"{status.feedback_packets} feedback packets")
    if status.is_stale(time.time()):
        parts.append("(no news from the sender)")
    return ", ".join(parts)


def session_line(status: SessionStatus, sampler: Sampler) -> str:
    """The sender and its receivers in one line."""
    line = session_title(status, sampler)
    shares = {address: _share(receiver, status) for address, receiver in status.receivers.items()}
    if shares:
        lost = sum(receiver.lost_packets or 0 for receiver in status.receivers.values())
        line += f"; {len(shares)} receivers, "
        if status.total_bytes:
            slowest = min(shares, key=lambda address: shares[address])
            complete = sum(receiver.state == "complete" for receiver in status.receivers.values())
            line += f"{complete} complete, slowest {sampler.host_name(slowest)} at {shares[slowest]:.0%}, "
        line += f"{lost} losses"
    return line


def _share(receiver: ReceiverStatus, status: SessionStatus) -> float:
    if not status.total_bytes:
        return 1.0 if receiver.state == "complete" else 0.0
    return min((receiver.acked_bytes or 0) / status.total_bytes, 1.0)


def _state(receiver: ReceiverStatus, limiting: LimitingStatus | None, width: int) -> str:
    """What it does, and of the one that limits why, in a word: `limits by window, active`."""
    state = receiver.state or ""
    if limiting is None:
        return state
    why = ""
    if limiting.reason and width >= _REASON_WIDTH:
        why = f" by {_REASONS.get(limiting.reason, limiting.reason)}"
    return f"limits{why}, {state}" if state else f"limits{why}"


_REASON_WIDTH = 72
"""The least width of a terminal with room for a reason."""
_REASONS = {"cwnd": "window", "advertised_window": "buffer", "rtt": "RTT"}
"""Words for those that are none, as the page of a run has them."""


def _count(number: int | None) -> str:
    return "" if number is None else str(number)

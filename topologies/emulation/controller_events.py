"""Keeps the controller's events in the run folder, with the run's times: its own file goes with the network."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controller.statedir import EVENTS_NAME
from topologies.results.run_folder import SeriesWriter
from topologies.results.tail import Tail


class ControllerEvents:
    """Copies what is new in a controller's event file."""

    def __init__(self, state_directory: Path, copy: Path, epoch: float) -> None:
        """`epoch` is when the run's times start, seconds since 1970."""
        self._tail = Tail(state_directory / EVENTS_NAME)
        self._writer = SeriesWriter(copy)
        self._epoch = epoch

    def copy(self) -> None:
        """Append what has come since. What was before the run began is at a time below 0."""
        self._writer.write(self._timed(row) for row in self._tail.take())

    def close(self) -> None:
        """Finish the copy."""
        self._writer.close()

    def _timed(self, row: Mapping[str, Any]) -> dict[str, Any]:
        at = row.get("time")
        return {**row, "time": round(at - self._epoch, 6)} if isinstance(at, int | float) else dict(row)

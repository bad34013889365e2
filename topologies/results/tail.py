"""Reads a JSON lines file as it grows."""

from pathlib import Path
from typing import Any

from topologies.results.run_folder import parse_rows

CHUNK_BYTES = 4 << 20
"""Read at a time, so that a page that opens on a long run is not kept waiting by one file."""


class Tail:
    """The rows that have been added since the last call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def take(self) -> list[dict[str, Any]]:
        """Whole new lines, of one chunk at most. What is no JSON object is left out; a file that is not there has none,
        one that became shorter is read anew."""
        try:
            with self._path.open("rb") as file:
                if file.seek(0, 2) < self._offset:
                    self._offset = 0
                file.seek(self._offset)
                chunk = file.read(CHUNK_BYTES)
        except OSError:
            return []
        end = chunk.rfind(b"\n") + 1
        if end == 0 and len(chunk) == CHUNK_BYTES:
            end = len(chunk)  # no line of ours is as long: skip it
        self._offset += end
        return parse_rows(chunk[:end])

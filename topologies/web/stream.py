"""Rows by time, for the page: as many as memory allows, the others thinned out evenly."""

from typing import Any, TypeAlias

Row: TypeAlias = list[Any]
"""Its first item is its time, seconds in the run."""

LIMIT_VALUES = 3_000_000
"""Values that a stream keeps: some tens of MB here and in the browser, and 30 minutes of 200 links' counters."""


class Stream:
    """Rows of counters and states: each says how things stood at its time, so that any may be left out."""

    def __init__(self, limit: int = LIMIT_VALUES) -> None:
        self.rows: list[Row] = []
        self.generation = 0
        """Grows whenever rows that were there have been left out: who has them must take all anew."""
        self._limit = limit
        self._stride = 1
        self._seen = 0
        self._values = 0

    def add(self, row: Row) -> None:
        """Add a row that is not older than those before."""
        self._seen += 1
        if (self._seen - 1) % self._stride:
            return
        self.rows.append(row)
        self._values += _size(row)
        if self._values > self._limit and len(self.rows) > 1:
            self.rows = self.rows[::2]
            self._stride *= 2
            self._seen = 1 + (len(self.rows) - 1) * self._stride
            self._values = sum(map(_size, self.rows))
            self.generation += 1


def _size(row: Row) -> int:
    return sum(len(item) if isinstance(item, list | dict) else 1 for item in row)

"""The least of a set of values that change one at a time."""

import heapq

STALE_LIMIT = 64
"""So many outdated entries beside one for each key are kept before the heap is built anew."""


class Least:
    """Each key has a number; `value` is the least of them, in O(log n) a change."""

    __slots__ = ("_empty", "_heap", "_values")

    def __init__(self, empty: float) -> None:
        """`empty`: the value of no keys at all."""
        self._empty = empty
        self._values: dict[int, float] = {}
        self._heap: list[tuple[float, int]] = []

    def set(self, key: int, value: float) -> None:
        """Add a key or change its value."""
        values = self._values
        if values.get(key) == value:
            return
        values[key] = value
        if len(self._heap) > 2 * len(values) + STALE_LIMIT:
            self._heap = [(value, key) for key, value in values.items()]
            heapq.heapify(self._heap)
        else:
            heapq.heappush(self._heap, (value, key))

    def remove(self, key: int) -> None:
        """Forget a key."""
        self._values.pop(key, None)

    @property
    def value(self) -> float:
        """The least of all."""
        heap, values = self._heap, self._values
        while heap:
            value, key = heap[0]
            if values.get(key) == value:
                return value
            heapq.heappop(heap)
        return self._empty

    @property
    def key(self) -> int:
        """A key that has it. There must be one."""
        if self.value == self._empty and not self._values:
            raise ValueError("the least of nothing")
        return self._heap[0][1]

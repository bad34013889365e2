"""The least of many numbers that change, one each child's."""

import heapq

STALE_LIMIT = 64
"""So many outdated entries beside one for each key are kept before the heap is built anew."""


class Least:
    """Each key has a number; `value` is the least of them.

    Each key has an entry in a heap that is not above its number: one that grows costs nothing until it is to be the
    least. So numbers that mostly grow, as places in a stream and times do, cost O(log n) a new least, and one that
    falls costs O(log n). The least itself is looked at far more often than it changes.
    """

    __slots__ = ("_empty", "_heap", "_values", "value")

    def __init__(self, empty: float) -> None:
        """`empty`: the value of no keys at all."""
        self._empty = empty
        self.value = empty
        """The least of all."""
        self._values: dict[int, float] = {}
        self._heap: list[tuple[float, int]] = []

    def set(self, key: int, value: float) -> None:
        """Add a key or change its value."""
        values = self._values
        old = values.get(key)
        values[key] = value
        if old is not None and old <= value:
            if old == self.value:
                self._find()
            return
        if value < self.value or len(values) == 1:
            self.value = value
        if len(self._heap) > 2 * len(values) + STALE_LIMIT:
            self._heap = [(value, key) for key, value in values.items()]
            heapq.heapify(self._heap)
        else:
            heapq.heappush(self._heap, (value, key))

    def set_all(self, keys: list[int], value: float) -> None:
        """Change these keys, which are there and ascending, to the same value. Without others the heap is made anew."""
        values = self._values
        if len(keys) < len(values):
            for key in keys:
                self.set(key, value)
        else:
            self._values = dict.fromkeys(keys, value)
            self._heap = [(value, key) for key in keys]
            self._find()

    def remove(self, key: int) -> None:
        """Forget a key."""
        if self._values.pop(key, self._empty) == self.value:
            self._find()

    def _find(self) -> None:
        """The least may be another one."""
        heap, values = self._heap, self._values
        while heap:
            entry, key = heap[0]
            value = values.get(key)
            if value == entry:
                self.value = entry
                return
            if value is None or value < entry:  # its own entry is another one
                heapq.heappop(heap)
            else:
                heapq.heapreplace(heap, (value, key))
        self.value = self._empty

    @property
    def key(self) -> int:
        """A key that has it. There must be one."""
        if not self._values:
            raise ValueError("the least of nothing")
        return self._heap[0][1]

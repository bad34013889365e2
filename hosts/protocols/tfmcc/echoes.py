"""Whose report the next data packet echoes (2.4.2)."""

import enum
import heapq
from typing import Final, NamedTuple

MOST: Final = 1024
"""Echoes that wait; more than a feedback round brings (ours)."""


class Priority(enum.IntEnum):
    """2.4.2: the order when more reports arrive than packets are sent. The CLR's comes when none waits."""

    NEW_CLR = 1
    NO_RTT = 2
    OTHER = 3


class Echo(NamedTuple):
    """A report to echo."""

    receiver: int
    time_us: int
    """Receiver's clock."""
    arrived_at: float
    has_rtt: bool
    """Whether the receiver had measured its RTT before."""


class EchoQueue:
    """At most one echo a receiver, its latest; ties go to the lowest rate."""

    __slots__ = ("_heap", "_latest")

    def __init__(self) -> None:
        self._heap: list[tuple[Priority, int, int, Echo]] = []
        self._latest: dict[int, Echo] = {}

    def __len__(self) -> int:
        return len(self._latest)

    def add(self, priority: Priority, rate: int, echo: Echo) -> bool:
        """Queue an echo; False when too many wait. `rate`: a rate float."""
        if echo.receiver not in self._latest and len(self._latest) >= MOST:
            return False
        self._latest[echo.receiver] = echo
        if len(self._heap) >= 2 * MOST:  # mostly such as were replaced
            self._heap = [entry for entry in self._heap if self._is_current(entry[3])]
            heapq.heapify(self._heap)
        heapq.heappush(self._heap, (priority, rate, echo.receiver, echo))
        return True

    def pop(self) -> Echo | None:
        """The most urgent echo."""
        while self._heap:
            echo = heapq.heappop(self._heap)[3]
            if self._is_current(echo):
                del self._latest[echo.receiver]
                return echo
        return None

    def drop(self, receiver: int) -> None:
        """A receiver has left, or its report is echoed in another way."""
        self._latest.pop(receiver, None)

    def _is_current(self, echo: Echo) -> bool:
        return self._latest.get(echo.receiver) is echo

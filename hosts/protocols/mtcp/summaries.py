"""What an agent's children report of themselves and of what is below them, at a glance (MTCP, 3.7 and 3.8)."""

from collections.abc import Iterable

from hosts.protocols.mtcp.child import Child
from hosts.protocols.mtcp.least import Least
from hosts.protocols.mtcp.window import Summary
from hosts.protocols.mtcp.wire import UNLIMITED

_HELD = -1
"""Key of what is kept for no child: their numbers are not negative."""


class Summaries:
    """Minima and maxima over the children, at most O(log n) a report. Sizes and places in the stream are bytes."""

    __slots__ = ("_keep_offsets", "_min_cwnds", "_twnd_starts", "_window_ends", "twnd_floor")

    def __init__(self, twnd_floor: int) -> None:
        self._window_ends = Least(0)
        self._keep_offsets = Least(float("inf"))
        self._min_cwnds = Least(UNLIMITED)
        self._twnd_starts = Least(float("inf"))
        """Of agents: where in the stream that begins which is in transit."""
        self.twnd_floor = twnd_floor
        """What lies before it in the stream is not in transit any more: there was a timeout."""

    def add(self, child: Child) -> None:
        """A child, as it was admitted."""
        self._min_cwnds.set(child.number, child.min_cwnd)
        self.window_moved(child)

    def remove(self, child: Child) -> None:
        """It is none any more."""
        for values in (self._window_ends, self._keep_offsets, self._min_cwnds, self._twnd_starts):
            values.remove(child.number)

    def hold(self, offset: int, buffer_bytes: int) -> None:
        """Keep what lies behind this place, whoever has gone (the least that was asked for); no more than so many bytes
        behind it are sent meanwhile.
        """
        least = min(offset, self._keep_offsets.value)
        self._keep_offsets.set(_HELD, least)
        self._window_ends.set(_HELD, least + buffer_bytes)

    def release(self) -> None:
        """Nothing is kept any more for those who have gone."""
        self._keep_offsets.remove(_HELD)
        self._window_ends.remove(_HELD)

    def window_moved(self, child: Child) -> None:
        """Its advertised window has."""
        self._window_ends.set(child.number, child.window_end)
        self._keep_offsets.set(child.number, child.keep_offset)

    def windows_moved(self, children: list[Child]) -> None:
        """Those of all of these have, to the same place; they are in the order of their numbers."""
        numbers = [child.number for child in children]
        self._window_ends.set_all(numbers, children[0].window_end)
        if len({child.buffer_bytes for child in children}) == 1:
            self._keep_offsets.set_all(numbers, children[0].keep_offset)
        else:
            for child in children:
                self._keep_offsets.set(child.number, child.keep_offset)

    def reported(self, child: Child, min_cwnd: int, max_twnd: int) -> bool:
        """What it says of the windows below it; `child.highest_offset` is known by now. Whether that may change what is
        said of the subtree.
        """
        child.max_twnd = max_twnd
        if min_cwnd != UNLIMITED:
            self._twnd_starts.set(child.number, max(child.highest_offset, self.twnd_floor) - max_twnd)
        elif child.min_cwnd == UNLIMITED:
            return False  # a leaf, as before
        else:
            self._twnd_starts.remove(child.number)
        child.min_cwnd = min_cwnd
        self._min_cwnds.set(child.number, min_cwnd)
        return True

    def reported_by(self, children: Iterable[Child], min_cwnd: int, max_twnd: int) -> bool:
        """All of these say the same."""
        if min_cwnd == UNLIMITED:
            children = [child for child in children if child.min_cwnd != UNLIMITED or child.max_twnd != max_twnd]
        moved = False
        for child in children:
            moved |= self.reported(child, min_cwnd, max_twnd)
        return moved

    @property
    def send_window_end(self) -> int:
        """Place up to which all children take data: the minimum of the advertised windows."""
        return int(self._window_ends.value)

    @property
    def keep_offset(self) -> float:
        """Up to here nobody below needs anything any more; infinity without children."""
        return self._keep_offsets.value

    @property
    def min_cwnd(self) -> int:
        """The least window that a child reports of its own children."""
        return int(self._min_cwnds.value)

    def summary(self, cwnd: int, twnd: int, end_offset: int) -> Summary:
        """min_cwnd and max_twnd of the subtree, from the agent's own windows; `end_offset`: all before it was sent.

        A child's max_twnd is of the packets that it had when it told it. What was sent since is in transit below it as
        well (ours: otherwise each look at an old report would allow its whole difference to min_cwnd again).
        """
        below = end_offset - self._twnd_starts.value
        return Summary(min(cwnd, self.min_cwnd), int(max(twnd, below)))

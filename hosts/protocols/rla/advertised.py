"""Up to where in the stream the buffers of all who are listened to take it (RLA, 3.3, rule 5)."""

from collections.abc import Mapping

from hosts.endpoint import Address
from hosts.protocols.rla.branch import Branch
from hosts.protocols.rla.inflight import InFlight


class Advertised:
    """Windows never shrink, so that the least of their ends is a bound until one is past it, and looking at one
    receiver is mostly enough.
    """

    __slots__ = ("_branches", "_inflight", "_open_until", "_shut")

    def __init__(self, branches: Mapping[Address, Branch], inflight: InFlight) -> None:
        """`inflight` knows who is set aside."""
        self._branches = branches
        self._inflight = inflight
        self._shut: Branch | None = None  # whose window ended first when that was last looked for
        self._open_until = 0  # stream offset up to which everybody takes data, at least

    def forget(self) -> None:
        """Others are listened to than before."""
        self._open_until, self._shut = 0, None

    def takes(self, until: int) -> bool:
        """Whether everybody's buffer takes the stream up to this offset."""
        return until <= self.open_until(until)

    def open_until(self, until: int) -> int:
        """Up to where everybody's buffer takes the stream, at least; the most that is known, where that is below
        `until`."""
        if until > self._open_until and (self._shut is None or until <= self._shut.window_end):
            set_aside = self._inflight.set_aside
            listened = (branch for branch in self._branches.values() if branch.number not in set_aside)
            self._shut = min(listened, key=lambda branch: branch.window_end, default=None)
            self._open_until = 0 if self._shut is None else self._shut.window_end
        return self._open_until

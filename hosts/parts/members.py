"""The receivers that the sender knows of: soft state, refreshed by the requests with which they measure
their rtt."""

from collections import OrderedDict
from typing import Final

from hosts.endpoint import Address

FORGOTTEN_AFTER: Final = 3
"""Intervals between two requests; who misses so many is gone (ours)."""
MOST: Final = 1 << 17
"""Receivers remembered; those beyond are answered, and may not challenge (ours)."""


class Members:
    """Receiver id -> address. Times in seconds."""

    __slots__ = ("_heard", "_patience")

    def __init__(self, interval_s: float) -> None:
        """`interval_s`: the longest time between two requests of a receiver."""
        self._patience = FORGOTTEN_AFTER * interval_s
        self._heard: OrderedDict[int, tuple[Address, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._heard)

    def __contains__(self, receiver: int) -> bool:
        return receiver in self._heard

    def hear(self, receiver: int, address: Address, now: float) -> bool:
        """A receiver asked. False: somebody else has its id, or there is no room."""
        known = self._heard.get(receiver)
        if known is None:
            if len(self._heard) >= MOST:
                return False
        elif known[0] != address:
            return False
        self._heard[receiver] = (address, now)
        self._heard.move_to_end(receiver)
        return True

    def knows(self, receiver: int, address: Address) -> bool:
        """Whether that id is that host's."""
        known = self._heard.get(receiver)
        return known is not None and known[0] == address

    def at(self, address: Address) -> int | None:
        """Whose id is that host's."""
        return next((receiver for receiver, (known, _) in self._heard.items() if known == address), None)

    def remove(self, receiver: int) -> None:
        """It has left."""
        self._heard.pop(receiver, None)

    def expire(self, now: float, interval_s: float = 0.0) -> None:
        """Forget who has been silent for too long, where two requests are `interval_s` apart at least."""
        patience = max(self._patience, FORGOTTEN_AFTER * interval_s)
        while self._heard:
            receiver, (_, heard_at) = next(iter(self._heard.items()))
            if now <= heard_at + patience:
                break
            del self._heard[receiver]

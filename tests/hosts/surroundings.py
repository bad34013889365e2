"""What links and hosts know of the network that they are part of: its time, its chance, and where packets go."""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from heapq import heappush
from typing import Any

from hosts.endpoint import Address, Datagram


class Surroundings(ABC):
    """Virtual time in seconds, and the nodes by their names."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.now = 0.0
        self.events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        """A heap of what is going to happen: when, what comes first of several, what, and its arguments."""
        self.order = 0

    def at(self, time: float, action: Callable[..., None], *args: Any) -> None:
        """Do something at a time."""
        self.order += 1
        heappush(self.events, (time, self.order, action, args))

    @abstractmethod
    def address(self, name: str) -> Address:
        """A node's unicast address."""

    @abstractmethod
    def forward(self, node: str, datagram: Datagram) -> None:
        """A datagram is at a node: for its endpoint, or for the links beyond."""

    @abstractmethod
    def join(self, group: Address, name: str) -> None:
        """From now on, what comes for the group is the node's, too."""

    @abstractmethod
    def leave(self, group: Address, name: str) -> None:
        """What comes for the group is no longer the node's."""

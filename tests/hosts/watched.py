"""`canopy send` and `canopy recv` whose event loop is watched: `python -m tests.hosts.watched FILE LOSS send ...`.

FILE gets, as JSON, what each turn of the loop took of a processor, seconds: between two looks at the session's sockets,
once it has some, in the thread's own time, which neither other threads nor other programs make longer. LOSS is the
share of the group's packets that are thrown away before the endpoint sees them.
"""

import json
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from selectors import SelectorKey
from typing import ClassVar

from hosts.endpoint import Address, Datagram, DatagramRun
from hosts.programs.cli import app
from hosts.runtime import clock
from hosts.runtime.datagrams import Inbox


class WatchedSelector(clock.PatientSelector):
    """Notes each turn's time."""

    turns: ClassVar[list[float]] = []

    def __init__(self) -> None:
        super().__init__()
        self._had_sockets = False
        self._since = time.thread_time()

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        if self._had_sockets:
            self.turns.append(time.thread_time() - self._since)
        self._had_sockets = len(self.get_map()) > 1  # the loop's own is one
        found = super().select(timeout)
        self._since = time.thread_time()
        return found


def without_some(arrived: Sequence[Datagram | DatagramRun], loss: float, rng: Random) -> list[Datagram | DatagramRun]:
    """The packets that are left, in as long runs as there are."""
    left: list[Datagram | DatagramRun] = []
    for one in arrived:
        rest = one if isinstance(one, DatagramRun) else None
        if rest is None and rng.random() >= loss:
            left.append(one)
        while rest is not None and rest.data:
            count = next((number for number in range(rest.packets) if rng.random() < loss), rest.packets)
            if count:
                kept, rest = rest.split(count)
                left.append(kept if kept.packets > 1 else kept.datagram(0))
            if rest.data:
                _, rest = rest.split(1)
    return left


def lose(loss: float) -> None:
    """Throw the share of the group's packets away."""
    rng, take = Random(1), Inbox.take

    def lossy(
        inbox: Inbox, sock: socket.socket, destination: Address, *, unicast: bool
    ) -> list[Datagram | DatagramRun]:
        arrived = take(inbox, sock, destination, unicast=unicast)
        return arrived if unicast else without_some(arrived, loss, rng)

    Inbox.take = lossy  # type: ignore[method-assign,assignment]


if __name__ == "__main__":
    report, loss = Path(sys.argv[1]), float(sys.argv[2])
    clock.PatientSelector = WatchedSelector  # type: ignore[misc]
    if loss:
        lose(loss)
    try:
        app(sys.argv[3:])
    finally:
        report.write_text(json.dumps(WatchedSelector.turns))

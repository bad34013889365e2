"""How full a session's bottleneck was, from the rows of ports.jsonl, of which nothing else is kept."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol

from topologies.plan import Plan
from topologies.results.paths import paths_from
from topologies.scenario.network import DirectedLink
from topologies.scenario.scenario import Scenario

START_UP_S = 2.0
"""What of a transfer counts as its start-up, at most, and at most a quarter of it."""


@dataclass(slots=True)
class Bottleneck:
    """The slowest link between a session's sender and its receivers, and how full it was after start-up."""

    session: int
    source: str
    destination: str
    rate_bps: float
    from_s: float
    to_s: float
    utilisation: float | None
    """Bytes of frames on the link, of every kind, over what it could carry in that time."""


class Sent(Protocol):
    """A session, and from when to when it had new data to send, seconds."""

    @property
    def id(self) -> int: ...

    @property
    def sending_from(self) -> float | None: ...

    @property
    def sending_until(self) -> float | None: ...


class Between:
    """The rate of a counter of bytes so far between two times, of which the first and the last value are kept."""

    def __init__(self, start: float = -inf, end: float = inf) -> None:
        self._start, self._end = start, end
        self._first: tuple[float, float] | None = None
        self._last = (0.0, 0.0)

    def take(self, at: float, octets: float) -> None:
        """Of these one comes after the other."""
        if self._start <= at <= self._end:
            self._last = at, octets
            if self._first is None:
                self._first = self._last

    @property
    def rate(self) -> float | None:
        """Bit/s; None when fewer than two samples lie there."""
        if self._first is None or self._last[0] <= self._first[0]:
            return None
        return (self._last[1] - self._first[1]) * 8 / (self._last[0] - self._first[0])


def rate_between(series: Iterable[tuple[float, float]], start: float, end: float) -> float | None:
    """Bit/s between two times, from a series of bytes so far; None when fewer than two samples lie there."""
    between = Between(start, end)
    for at, octets in series:
        between.take(at, octets)
    return between.rate


def counter_rate(rows: Iterable[Mapping[str, Any]], column: str) -> float | None:
    """Bit/s over the whole of a trace, from a column of bytes so far."""
    return rate_between(((row["t"], row[column]) for row in rows if column in row), -inf, inf)


def bottleneck_link(scenario: Scenario, session_index: int) -> DirectedLink | None:
    """The link of the lowest rate on the sender's paths to the receivers that stay; the nearest one of several."""
    session = scenario.sessions[session_index]
    paths = paths_from(scenario.links, session.sender)
    best: DirectedLink | None = None
    for receiver in session.receivers:
        if receiver.leave is not None:
            continue
        for one, other in itertools.pairwise(paths[receiver.host]):
            hop = scenario.link_between(one, other)
            directed = None if hop is None else hop.direction(other)
            if directed is None or directed.rate_bps is None:
                continue
            if best is None or best.rate_bps is None or directed.rate_bps < best.rate_bps:
                best = directed
    return best


class Carried:
    """What a link carries in one direction after a session's start-up, for as long as that had new data to send."""

    def __init__(self, plan: Plan, session: int, link: DirectedLink, rate_bps: float, since: float, until: float):
        switch, port = plan.port_towards(link.source, link.destination)
        self._place = switch.name, port.number
        self._column = "tx_bytes" if link.source == switch.name else "rx_bytes"
        self._found = Bottleneck(
            session, link.source, link.destination, rate_bps, round(since, 3), round(until, 3), None
        )
        self._between = Between(since, until)

    def take(self, row: Mapping[str, Any]) -> None:
        """A row of ports.jsonl."""
        if (row["switch"], row["port"]) == self._place and self._column in row:
            self._between.take(row["t"], row[self._column])

    @property
    def bottleneck(self) -> Bottleneck:
        """When there are no more rows."""
        rate = self._between.rate
        self._found.utilisation = None if rate is None else round(rate / self._found.rate_bps, 4)
        return self._found


def carried(scenario: Scenario, plan: Plan, sessions: Sequence[Sent]) -> list[Carried]:
    """By the bottlenecks of those sessions that have sent, and have one."""
    found = []
    for number, session in enumerate(sessions):
        link, until = bottleneck_link(scenario, number), session.sending_until
        if link is None or link.rate_bps is None or session.sending_from is None or until is None:
            continue
        since = session.sending_from + min(START_UP_S, (until - session.sending_from) / 4)
        found.append(Carried(plan, session.id, link, link.rate_bps, since, until))
    return found

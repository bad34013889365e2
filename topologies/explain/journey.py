"""A packet's way through all switches: backwards to the host that sent it, forwards with all of its copies."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from topologies.explain.passage import Passage, dotted, read_passage
from topologies.explain.store import INGRESS, Account, ExplainError, Store, intact
from topologies.explain.wiring import Wire, Wiring

TOLERANCE_US = 2
"""Accounts have whole microseconds, of both ends of a link."""
LONGEST_DELAY_US = 10_000_000
"""Beyond which no summary belongs to feedback that went into it."""
MOST_STOPS = 256
"""In one journey: a tree of more switches is cut off."""
MOST_SEARCHED = 500
"""Packets in which a summary is looked for; a switch of many children sees so many between two."""
_MOST_DIGITS = 12
_FEEDBACK = "feedback"
_ABSORBED = ("absorbed", "repeated")
_SUMMARY = "summary"


@dataclass(slots=True)
class Departure:
    """A copy on its way out of a switch."""

    port: int
    neighbour: str
    waited_us: int
    """In the port's queue, with the time that the packet in front of it still took."""
    behind: int
    """Copies that stood there when it came."""
    us: int
    """When it began to be sent."""
    arrives_us: int | None
    """At the neighbour; None: it was dropped in egress."""
    next: str | None
    """What it is called at the next switch; None at a host, and where it was lost on the link."""
    fate: str
    """What became of it, in words."""


@dataclass(slots=True)
class Stop:
    """A packet at one switch."""

    account: Account
    passage: Passage
    came_from: str
    departures: list[Departure] = field(default_factory=list)
    outcome: str = ""
    """What became of feedback that a switch judges."""
    merged_into: str = ""
    """The packet at this switch that carries on what this one said."""

    @property
    def title(self) -> str:
        """What it is, in a line."""
        ends = _ends(self.passage)
        return f"{ends}{', ' if ends else ''}{self.account.kind.replace('_', ' ')}, {self.account.size} bytes"


class Explainer:
    """Follows packets of one run. ExplainError: its file is damaged."""

    def __init__(self, store: Store) -> None:
        self._store = store
        with intact(store.path):
            self._wiring = Wiring.from_json(store.fact("wiring"))
            self._names = [str(name) for name in json.loads(store.fact("outcomes") or "[]")]

    @property
    def is_same(self) -> bool:
        """Whether the run that was played again was the one in the folder."""
        with intact(self._store.path):
            return self._store.fact("same") == "yes"

    def journey(self, name: str) -> list[Stop]:
        """The packet `SWITCH:NUMBER` at all switches, from the first on. ExplainError when there is none."""
        switch, _, number = name.rpartition(":")
        if not switch or not number.isdecimal() or len(number) > _MOST_DIGITS:
            raise ExplainError(f"{name}: a packet is called SWITCH:NUMBER, as in `s1:507`")
        if switch not in self._wiring.switches:
            raise ExplainError(f"{switch}: the run has no such switch")
        stops: list[Stop] = []
        with intact(self._store.path):
            waiting = [self._first(switch, int(number))]
            while waiting and len(stops) < MOST_STOPS:
                stop = self._stop(waiting.pop(0))
                stops.append(stop)
                waiting += [account for departure in stop.departures for account in self._arrivals_of(departure)]
        return stops

    def packets(self, switch: str | None, at_s: float, towards: str | None = None, limit: int = 20) -> list[Account]:
        """Packets that came to a switch (None: the first) from a time on, or left it for a neighbour of it."""
        if switch is None:
            switch = next(iter(self._wiring.switches), "")
        if switch not in self._wiring.switches:
            raise ExplainError(f"{switch}: the run has no such switch")
        since = round(at_s * 1e6)
        with intact(self._store.path):
            if towards is None:
                return self._store.arrivals(switch, since, since + LONGEST_DELAY_US, limit)
            wire = self._wiring.towards(switch, towards)
            if wire is None:
                raise ExplainError(f"{switch} has no link to {towards}")
            return self._store.departures(switch, wire.port, since, since + LONGEST_DELAY_US, limit)

    def ends(self, account: Account) -> str:
        """From where to where an arrived packet goes, by its addresses; empty when it has none."""
        with intact(self._store.path):
            return _ends(read_passage(self._store.text(account)))

    def lines(self, stop: Stop) -> str:
        """Its trace, as the switch wrote it."""
        with intact(self._store.path):
            return self._store.text(stop.account).rstrip()

    # --- within

    def _first(self, switch: str, number: int) -> Account:
        account = self._arrival(switch, number)
        if account is None:
            more = "" if self._store.fact("complete") == "yes" else "; the run has more packets than are kept"
            raise ExplainError(f"{switch}:{number}: {switch} has no such packet{more}")
        for _ in range(MOST_STOPS):
            before = self._before(account)
            if before is None:
                break
            account = before
        return account

    def _arrival(self, switch: str, number: int) -> Account | None:
        return next((found for found in self._store.packet(switch, number) if found.out == INGRESS), None)

    def _before(self, account: Account) -> Account | None:
        """The packet at the switch before, of which this one is a copy."""
        own = self._wiring.wire(account.switch, account.came)
        wire = None if own is None else self._wiring.wire(own.neighbour, own.back)
        if own is None or wire is None:
            return None
        left = account.us - wire.travel_us(account.size, account.us)
        for copy in self._store.departures(own.neighbour, wire.port, left - TOLERANCE_US, left + TOLERANCE_US):
            if copy.size == account.size:
                return self._arrival(copy.switch, copy.number)
        return None

    def _stop(self, account: Account) -> Stop:
        came = self._wiring.wire(account.switch, account.came)
        passage = read_passage(self._store.text(account))
        stop = Stop(account, passage, "the controller" if came is None else came.neighbour)
        for copy in self._store.packet(account.switch, account.number):
            if copy.out == INGRESS:
                continue
            more = read_passage(self._store.text(copy))
            passage.counted += [cell for cell in more.counted if cell not in passage.counted]
            wire = self._wiring.wire(copy.switch, copy.out)
            if wire is None:
                passage.ends.append("a copy went to the controller")
            else:
                stop.departures.append(self._departure(account, copy, wire))
        self._judge(stop)
        return stop

    def _departure(self, account: Account, copy: Account, wire: Wire) -> Departure:
        behind = self._store.waiting(copy.switch, copy.out, copy.number, account.us)
        waited = copy.us - account.us
        if not copy.size:
            return Departure(copy.out, wire.neighbour, waited, behind, copy.us, None, None, "dropped in egress")
        at = copy.us + wire.travel_us(copy.size, copy.us)
        if wire.neighbour not in self._wiring.switches:
            fate = f"arrives at {wire.neighbour}" + (", unless the link loses it," if wire.loses else "")
            return Departure(copy.out, wire.neighbour, waited, behind, copy.us, at, None, fate)
        for found in self._store.arrivals(wire.neighbour, at - TOLERANCE_US, at + TOLERANCE_US, 100):
            if found.came == wire.back and found.size == copy.size:
                fate = f"arrives as {found.name}"
                return Departure(copy.out, wire.neighbour, waited, behind, copy.us, at, found.name, fate)
        return Departure(copy.out, wire.neighbour, waited, behind, copy.us, None, None, "lost on the link")

    def _arrivals_of(self, departure: Departure) -> Iterator[Account]:
        if departure.next is not None:
            switch, _, number = departure.next.rpartition(":")
            found = self._arrival(switch, int(number))
            if found is not None:
                yield found

    def _judge(self, stop: Stop) -> None:
        """What the switch's counter of feedback says, and in which packet absorbed feedback goes on."""
        stop.outcome = next(iter(self._outcomes(stop.passage)), "")
        if stop.outcome not in _ABSORBED:
            return
        account, parent = stop.account, stop.passage.headers.get("ipv4", {}).get("destination")
        for later in self._store.arrivals(account.switch, account.us, account.us + LONGEST_DELAY_US, MOST_SEARCHED):
            if later.number > account.number and later.size == account.size:  # all that can be merged is as long
                passage = read_passage(self._store.text(later))
                same = passage.headers.get("ipv4", {}).get("destination") == parent
                if same and _SUMMARY in self._outcomes(passage):
                    stop.merged_into = later.name
                    return

    def _outcomes(self, passage: Passage) -> "list[str]":
        names = self._names
        return [names[cell] for counter, cell in passage.counted if counter == _FEEDBACK and cell < len(names)]


def _ends(passage: Passage) -> str:
    ip = passage.headers.get("ipv4", {})
    return f"{dotted(ip['source'])} → {dotted(ip['destination'])}" if {"source", "destination"} <= set(ip) else ""

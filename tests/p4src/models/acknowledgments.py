"""What the P4 program does with RLA's acknowledgments, said as plainly as aggregation.py does for MTCP's."""

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import count

from hosts.protocols.rla.packets import CHILD_BITS, Ack
from hosts.wire.seq import MASK
from tests.p4src.bench.program import number
from tests.p4src.models.bitmaps import bitmap, members
from tests.p4src.models.passed import IDLE_MS, PassedModel

SLOTS = number("RLA_SLOTS")
REACH = number("SACK_BITS")
SILENCE_US = number("RLA_SILENCE_US")
PERIOD_US = number("FEEDBACK_PERIOD_US")


@dataclass(frozen=True)
class Port:
    """What a port's neighbour last said for its receivers."""

    children: frozenset[int]
    cumulative: int
    above: frozenset[int]  # packets beyond the cumulative one that have arrived
    window: int
    heard: int

    def holds(self, base: int) -> set[int]:
        """The packets from `base` on."""
        return {*range(base, self.cumulative), *(seq for seq in self.above if seq >= base)}


@dataclass(frozen=True)
class Sent:
    """The last summary."""

    children: frozenset[int]
    cumulative: int
    above: frozenset[int]
    at: int


@dataclass
class Slot:
    """One session."""

    owner: tuple[int, str]
    ms: int
    ports: dict[int, Port] = field(default_factory=dict)
    sent: Sent | None = None


class AcknowledgmentModel:
    """One switch. Each method is one packet that passes."""

    def __init__(self, switch_ports: frozenset[int] = frozenset()) -> None:
        self.switch_ports = switch_ports
        self.outcomes: Counter[str] = Counter()
        self._passed = PassedModel(REACH)
        self._slots: dict[int, Slot] = {}

    def data(self, session: int, source: str, seq: int, now: int) -> None:
        """A data packet that was accepted."""
        self._passed.data(session, source, seq, now)

    def abort(self, session: int, sender: str, port: int, now: int) -> None:
        """A receiver behind `port` leaves."""
        if port in self.switch_ports:
            return
        slot = self._enter(session, sender, now)
        if slot is not None:
            slot.ports.pop(port, None)
            slot.ms = now >> 10 | 1

    def acknowledge(self, sender: str, port: int, ack: Ack, now: int) -> list[Ack]:
        """What leaves towards the sender."""
        if not (ack.merge or ack.merged or ack.passes):
            return [ack]
        if ack.merged and port not in self.switch_ports:
            return []
        outcome, leaving = self._judge(sender, port, ack, now)
        self.outcomes[outcome] += 1
        return leaving

    def _judge(self, sender: str, port: int, ack: Ack, now: int) -> tuple[str, list[Ack]]:
        children = members(ack.children)
        if ack.number >= CHILD_BITS or (ack.merged and not (ack.merge and children)):
            return "malformed", [ack]
        if ack.merge and not ack.merged and children != {ack.number}:
            return "malformed", [ack]
        cumulative = self._passed.in_range(ack.session, ack.cumulative, ack.sack)
        if cumulative is None:
            return "out_of_range", [ack]
        slot = self._enter(ack.session, sender, now)
        if slot is None:
            return "no_slot", [ack]
        slot.ms = now >> 10 | 1
        again = False
        own = slot.ports.get(port)
        if own is not None and now - own.heard > SILENCE_US:
            own = None
        if not ack.merge:
            own = own and replace(own, children=own.children - {ack.number})
        elif own is not None and not ack.merged and own.children != children:
            return "shared_port", [ack]
        else:
            above = frozenset(cumulative + 1 + bit for bit in members(ack.sack))
            if own is not None and own.children == children:
                if cumulative < own.cumulative:
                    return "stale", [ack]
                if cumulative == own.cumulative:
                    again = above <= own.above
                    above |= own.above
            own = Port(children, cumulative, above, ack.window, now)
        return self._merge(slot, port, own, ack, again, now)

    def _merge(self, slot: Slot, port: int, own: Port | None, ack: Ack, again: bool, now: int) -> tuple[str, list[Ack]]:
        """`own`: what the port says from now on; `again`: which is nothing new."""
        highest = self._passed.highest(ack.session)
        base = highest + 1 - REACH

        def counts(port: Port) -> bool:
            return now - port.heard <= SILENCE_US and base <= port.cumulative <= highest + 1

        others = [one for place, one in slot.ports.items() if place != port and counts(one)]
        if ack.merge and own is not None and any(own.children & other.children for other in others):
            slot.ports.pop(port, None)
            return "shared_port", [ack]
        if own is None or not own.children:
            slot.ports.pop(port, None)
            aggregate = others
        else:
            slot.ports[port] = own
            aggregate = [*others, own] if counts(own) else others
        passes = "hole" if not ack.merge else "sample" if ack.passes else None
        if not others:
            return passes or "alone", [ack]
        summary = _aggregate(aggregate, base, highest, now)
        advanced = slot.sent is None or _says_more(summary, slot.sent)
        if passes is not None and not advanced:
            return passes, [ack]
        if not advanced and not (again and slot.sent is not None and now - slot.sent.at >= PERIOD_US):
            return "absorbed", []
        slot.sent = summary
        made = ack._replace(
            merged=True,
            merge=True,
            hurry=False,
            passes=False,
            cumulative=summary.cumulative & MASK,
            window=min(one.window for one in aggregate),
            echo_time_us=0,
            children=bitmap(summary.children),
            sack=bitmap(seq - summary.cumulative - 1 for seq in summary.above),
        )
        return ("summary", [made]) if passes is None else (passes, [ack, made])

    def _enter(self, session: int, sender: str, now: int) -> Slot | None:
        """The session's slot; None when it is another's."""
        slot = self._slots.get(session % SLOTS)
        if slot is None or (now >> 10 | 1) - slot.ms > IDLE_MS:
            slot = self._slots[session % SLOTS] = Slot((session, sender), now >> 10 | 1)
        return slot if slot.owner == (session, sender) else None


def _aggregate(ports: list[Port], base: int, highest: int, now: int) -> Sent:
    """What all of them have, of the last packets."""
    held = set(range(base, highest + 1)).intersection(*(port.holds(base) for port in ports))
    cumulative = next(seq for seq in count(base) if seq not in held)
    children = frozenset[int]().union(*(port.children for port in ports))
    return Sent(children, cumulative, frozenset(seq for seq in held if seq > cumulative), now)


def _says_more(now: Sent, last: Sent) -> bool:
    """Of somebody."""
    if now.children - last.children or now.cumulative > last.cumulative:
        return True
    return now.cumulative == last.cumulative and bool(now.above - last.above)

"""What the P4 program does with MTCP feedback, said in the plainest way: sets of packets, dictionaries, whole numbers.

The registers of p4src/assist/mtcp hold bitmaps and numbers modulo 2^32 and scan ports; here a port is an object with a
set of the packets that its children have, and a sequence number is extended as soon as it comes from the wire. Times
are microseconds of the switch. The rules are those of docs/assist.md.
"""

import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address

from hosts.protocols.mtcp.packets import MERGE_CHILDREN, SACK_BITS, Feedback
from hosts.wire.seq import MASK
from tests.p4src.bench.feedback import PARENT_PORT
from tests.p4src.bench.program import number
from tests.p4src.models.passed import PassedModel

SLOTS = number("MTCP_SLOTS")
PERIOD_US, HOLDERS_US = number("FEEDBACK_PERIOD_US"), number("MTCP_HOLDERS_US")
SILENCE_US, GAP_US = number("MTCP_SILENCE_US"), number("MTCP_GAP_US")
CHANGE_US, IDLE_US = number("MTCP_CHANGE_US"), number("FEEDBACK_IDLE_US")
BASE_US = number("MTCP_BASE_US")
FIRST_RTT_US = number("MTCP_FIRST_RTT_US")
MAX_BEHIND, LEAST_MARGIN_US = number("FEEDBACK_MAX_BEHIND"), number("MTCP_LEAST_MARGIN_US")


def members(bitmap: int) -> frozenset[int]:
    """The bits of a bitmap as a set."""
    return frozenset(at for at, bit in enumerate(reversed(f"{bitmap:b}")) if bit == "1")


def bitmap(numbers: Iterable[int]) -> int:
    """The reverse of `members`."""
    return sum(1 << number for number in numbers)


@dataclass(frozen=True)
class Recent:
    """Packets, each remembered for one to two times of a length that whoever asks says. Packets are known by their
    numbers modulo SACK_BITS.
    """

    at: int = 0
    later: frozenset[int] = frozenset()
    before: frozenset[int] = frozenset()

    @property
    def all(self) -> frozenset[int]:
        """What is remembered."""
        return self.later | self.before

    def aged(self, limit: int, now: int) -> "Recent":
        """Without what is too old."""
        if now - self.at < limit:
            return self
        if now - self.at < 2 * limit:
            return Recent(self.at + limit, frozenset(), self.later)
        return Recent(now)

    def add(self, packets: frozenset[int]) -> "Recent":
        """These, too."""
        return replace(self, later=self.later | packets)

    def without(self, packet: int) -> "Recent":
        """Forget one."""
        return replace(self, later=self.later - {packet}, before=self.before - {packet})


@dataclass
class Least:
    """The least delay of a child: since a time, and of the time before."""

    since: int
    later: int
    before: int

    @property
    def value(self) -> int:
        """Of both."""
        return min(self.later, self.before)

    def add(self, rtd: int, now: int, *, again: bool) -> None:
        """A sample; `again`: the least is that of the last while only."""
        if again and now - self.since >= BASE_US:
            self.before = self.later if now - self.since < 2 * BASE_US else rtd
            self.since, self.later = now, rtd
        self.later = min(self.later, rtd)


@dataclass
class Port:
    """What a port's neighbour last said for its children."""

    children: frozenset[int]
    holders: frozenset[int]
    cumulative: int
    above: frozenset[int]  # packets beyond the cumulative one that have arrived
    cwnd: int
    twnd: int
    window: int
    heard: int  # active time
    repair_echo: int
    echo: int = 0  # of the last sample
    queue: int = 0
    bound: int = 0
    mean: int = 0
    deviation: int = 0
    wanted: frozenset[int] = frozenset()  # asked for and not sent
    served: Recent = field(default_factory=Recent)  # sent
    since: int | None = None  # it has waited for something


@dataclass
class Sent:
    """The last summary."""

    cumulative: int
    above: frozenset[int]
    children: frozenset[int]
    holders: frozenset[int]
    cwnd: int
    twnd: int
    window: int
    at: int


@dataclass
class Slot:
    """One parent's feedback."""

    owner: tuple[int, str]
    used_at: int
    active: int = 0
    ports: dict[int, Port] = field(default_factory=dict)
    sent: Sent | None = None
    repeats: int = 0
    rtt: dict[int, int] = field(default_factory=dict)  # port -> what a probe said
    asked: Recent = field(default_factory=Recent)  # in NACKs that passed, and not repaired since
    addressed: dict[int, int] = field(default_factory=dict)  # port -> when the last repair to a child there was sent
    least: dict[int, Least] = field(default_factory=dict)  # child -> least RTD
    changed_at: dict[int, int] = field(default_factory=dict)
    plain_until: dict[int, int] = field(default_factory=dict)


class AggregationModel:
    """One switch. Each method is one packet that passes."""

    def __init__(self, switch_ports: frozenset[int] = frozenset()) -> None:
        self.switch_ports = switch_ports
        self.outcomes: Counter[str] = Counter()
        self._passed = PassedModel(MAX_BEHIND)
        self._slots: dict[int, Slot] = {}

    # --- what comes down

    def data(self, session: int, source: str, seq: int, now: int) -> None:
        """A data packet that was accepted."""
        self._passed.data(session, source, seq, now)

    def probe(self, session: int, parent: str, port: int, rtt_us: int) -> None:
        """A parent's probe, on its way to a child behind `port`."""
        slot = self._owned(session, parent)
        if slot is not None and rtt_us:
            slot.rtt[port] = rtt_us

    def abort(self, session: int, parent: str, port: int) -> None:
        """A child behind `port` leaves its parent."""
        slot = self._owned(session, parent)
        if slot is not None:
            slot.ports.pop(port, None)

    def repair(self, session: int, parent: str, port: int, seq: int, time_us: int) -> frozenset[int]:
        """A repair for a child behind `port`; the ports that it leaves by."""
        slot = self._owned(session, parent)
        if slot is None:
            return frozenset((port,))
        packet = seq % SACK_BITS
        slot.asked = slot.asked.without(packet)
        slot.addressed[port] = time_us
        asking = {place for place, other in slot.ports.items() if packet in other.wanted and place != PARENT_PORT}
        for place in asking:
            other = slot.ports[place]
            other.wanted -= {packet}
            other.served = other.served.add(frozenset((packet,)))
            other.since = None
        return frozenset(asking | {port})

    # --- what goes up

    def feedback(self, parent: str, port: int, packet: Feedback, now: int) -> Feedback | None:
        """What leaves towards the parent; None: nothing."""
        if not (packet.merge or packet.merged):
            return packet
        if packet.merged and port not in self.switch_ports:
            return None
        outcome, result = self._feedback(parent, port, packet, now)
        self.outcomes[outcome] += 1
        return result

    def _feedback(self, parent: str, port: int, packet: Feedback, now: int) -> tuple[str, Feedback | None]:
        if not _names_its_own(packet):
            return "malformed", packet
        cumulative = self._passed.in_range(packet.session, packet.cumulative, packet.sack)
        if cumulative is None:
            return "out_of_range", packet
        slot = self._enter(packet.session, parent, now)
        if slot is None:
            return "no_slot", packet
        others = {
            place: other
            for place, other in slot.ports.items()
            if place != port and slot.active - other.heard <= SILENCE_US
        }
        refusal = _refusal(slot, port, packet, now)
        if refusal == "part" and packet.nack:
            above = frozenset(cumulative + 1 + bit for bit in members(packet.sack))
            below = _asks_anew(slot, port, slot.ports[port], cumulative, _lacked(cumulative, above), now, part=True)
            if below is None:
                return "repeated", None
            return "part", _known_below(packet, below)
        if refusal is None and any(other.children & members(packet.children) for other in others.values()):
            slot.ports.pop(port, None)
            refusal = "shared_port"
        if refusal is not None:
            return refusal, packet
        return self._merge(slot, port, packet, cumulative, list(others.values()), now)

    def _merge(
        self, slot: Slot, port: int, packet: Feedback, cumulative: int, others: list[Port], now: int
    ) -> tuple[str, Feedback | None]:
        before = slot.ports.get(port)
        known = before is not None and before.children == members(packet.children)
        above = frozenset(cumulative + 1 + bit for bit in members(packet.sack))
        again = repaired = False
        if known and before is not None:
            if cumulative < before.cumulative:
                return "stale", packet
            if cumulative == before.cumulative:
                again = above <= before.above
                above |= before.above
            repaired = packet.repaired if packet.merged else _answers(slot, port, before, packet)
        mine = Port(
            members(packet.children),
            members(packet.holders),
            cumulative,
            above,
            packet.min_cwnd,
            packet.max_twnd,
            packet.window,
            slot.active,
            packet.repair_echo_us,
        )
        if known and before is not None:
            mine.echo, mine.queue, mine.bound = before.echo, before.queue, before.bound
            mine.mean, mine.deviation = before.mean, before.deviation
            mine.wanted, mine.served, mine.since = before.wanted, before.served, before.since
        slot.ports[port] = mine
        rtd = _measure(slot, port, mine, packet, others, now)

        repeat = False
        told = packet
        if packet.nack:
            below = _asks_anew(slot, port, mine, cumulative, _lacked(cumulative, above), now, part=False)
            repeat = below is None
            told = _known_below(packet, below)
        if not known:
            return "first", told
        if packet.nack and not repeat:
            return "nack", told
        if not others:
            return "alone", packet

        summary = _aggregate([mine, *others], now)
        advanced, due = _is_due(slot.sent, summary, again)
        if repeat:
            slot.repeats = min(slot.repeats + 1, 0xFFFF)
        if repaired:
            if (cumulative, above) != (summary.cumulative, summary.above):
                return "repair", told
            due = True
        if not due:
            return "repeated" if repeat else "absorbed", None
        timed = rtd is not None and advanced
        queue = bound = 0
        if timed and rtd is not None:
            queue = max([mine.queue, *(other.queue for other in others if other.echo)]) - (
                rtd - slot.least[packet.number].value
            )
            bound = max(other.bound for other in [mine, *others] if other.echo or other is mine) - rtd
        result = packet._replace(
            nack=False,
            merged=True,
            cumulative=summary.cumulative & MASK,
            sack=bitmap(seq - summary.cumulative - 1 for seq in summary.above),
            min_cwnd=summary.cwnd,
            max_twnd=summary.twnd,
            window=summary.window,
            children=bitmap(summary.children),
            holders=bitmap(summary.holders),
            echo_time_us=packet.echo_time_us if timed else 0,
            held_us=packet.held_us if timed else 0,
            queue_us=max(queue, 0),
            bound_us=max(bound, 0),
            repeats=slot.repeats,
            repaired=repaired,
        )
        slot.sent = summary
        slot.repeats = 0
        return "summary", result

    # --- slots

    @staticmethod
    def _place(session: int, parent: str) -> int:
        return zlib.crc32(session.to_bytes(4, "big") + IPv4Address(parent).packed) % SLOTS

    def _owned(self, session: int, parent: str) -> Slot | None:
        slot = self._slots.get(self._place(session, parent))
        return slot if slot is not None and slot.owner == (session, parent) else None

    def _enter(self, session: int, parent: str, now: int) -> Slot | None:
        """The slot, its active time moved on; None when it is another's."""
        place = self._place(session, parent)
        slot = self._slots.get(place)
        if slot is None or now - slot.used_at > IDLE_US:
            slot = self._slots[place] = Slot((session, parent), now)
            return slot
        if slot.owner != (session, parent):
            return None
        slot.active += min(now - slot.used_at, GAP_US)
        slot.used_at = now
        return slot


def _names_its_own(packet: Feedback) -> bool:
    """A host speaks for itself, a switch for several with the sender among them."""
    if packet.number >= MERGE_CHILDREN:
        return False
    children, holders = members(packet.children), members(packet.holders)
    if not packet.merged:
        return children == holders == {packet.number}
    return packet.number in children and bool(holders) and holders <= children


def _refusal(slot: Slot, port: int, packet: Feedback, now: int) -> str | None:
    """Why this port's feedback is not merged now."""
    if now < slot.plain_until.get(port, 0):
        return "shared_port"
    before = slot.ports.get(port)
    children = members(packet.children)
    if before is None or before.children == children:
        return None
    if not packet.merged and children <= before.children:
        return "part"
    changed_at = slot.changed_at.get(port)
    slot.changed_at[port] = now
    if changed_at is not None and now - changed_at < CHANGE_US:
        slot.plain_until[port] = now + CHANGE_US
        del slot.ports[port]
        return "shared_port"
    return None


def _measure(slot: Slot, port: int, mine: Port, packet: Feedback, others: list[Port], now: int) -> int | None:
    """Takes a sample of the relative time delay; returns it."""
    if not packet.echo_time_us:
        return None
    rtd = now - packet.echo_time_us - packet.held_us
    if packet.number not in slot.least:
        first = rtd - min((other.queue for other in others if other.echo), default=0)
        slot.least[packet.number] = Least(now, first, first)
    else:
        slot.least[packet.number].add(rtd, now, again=packet.relearn)
    mine.queue = rtd - slot.least[packet.number].value
    if packet.merged:
        mine.queue += packet.queue_us
        mine.bound = rtd + packet.bound_us
    elif packet.echo_time_us != mine.echo:
        if not mine.echo:
            mine.mean = rtd
            mine.deviation = slot.rtt.get(port, 0) // 2
        else:
            error = rtd - mine.mean
            mine.mean += error // 8
            mine.deviation += (abs(error) - mine.deviation) // 4
        mine.bound = mine.mean + max(4 * mine.deviation, LEAST_MARGIN_US)
    mine.echo = packet.echo_time_us
    return rtd


def _answers(slot: Slot, port: int, before: Port, packet: Feedback) -> bool:
    """Whether a child answers a repair that was addressed to it: of copies its parent does not know."""
    addressed = slot.addressed.get(port)
    if addressed is None or before.repair_echo & MASK == packet.repair_echo_us & MASK:
        return False
    return not before.repair_echo or (before.repair_echo - addressed & MASK) >> 31 == 1


def _lacked(cumulative: int, above: frozenset[int]) -> frozenset[int]:
    """All that is missing below the highest packet that has arrived."""
    missing = set(range(cumulative, max(above, default=cumulative + 1))) - above
    return frozenset(seq % SACK_BITS for seq in missing)


def _known_below(nack: Feedback, below: int | None) -> Feedback:
    """A NACK that passes says how much of it need not be asked for again: all, when nothing is new."""
    return nack._replace(repeats=max(nack.repeats, 0xFFFF if below is None else below))


def _asks_anew(
    slot: Slot, port: int, mine: Port, cumulative: int, lacked: frozenset[int], now: int, *, part: bool
) -> int | None:
    """The first packet, counted from `cumulative`, that a NACK asks for and nobody has asked for lately; 0 when it asks
    because it has waited for a round trip; None when it asks for nothing.
    """
    rtt = slot.rtt.get(port)
    limit = FIRST_RTT_US if rtt is None else rtt + rtt // 8
    mine.served = mine.served.aged(limit, now)
    asked = slot.asked.aged(limit, now)
    if part:
        mine.wanted |= lacked
    else:
        lacked -= mine.served.all
        mine.wanted = lacked
    overdue = bool(lacked) and mine.since is not None and now - mine.since >= limit
    fresh = lacked - asked.all
    below = None
    if fresh or overdue:
        below = min(((packet - cumulative) % SACK_BITS for packet in fresh), default=0)
        slot.asked = asked.add(lacked)
        mine.since = None
    if not lacked:
        mine.since = None
    elif mine.since is None:
        mine.since = now
    return below


def _aggregate(ports: list[Port], now: int) -> Sent:
    cumulative = min(port.cumulative for port in ports)
    reach = frozenset(range(cumulative + 1, cumulative + 1 + SACK_BITS))
    return Sent(
        cumulative,
        reach.intersection(*({*range(cumulative + 1, port.cumulative), *port.above} for port in ports)),
        frozenset().union(*(port.children for port in ports)),
        frozenset().union(*(port.holders for port in ports if port.cumulative == cumulative)),
        min(port.cwnd for port in ports),
        max(port.twnd for port in ports),
        min(port.window for port in ports),
        now,
    )


def _is_due(last: Sent | None, now: Sent, again: bool) -> tuple[bool, bool]:
    """Whether the aggregate has advanced, and whether a summary is due."""
    if last is None or now.cumulative > last.cumulative:
        return True, True
    if now.cumulative == last.cumulative and not now.above <= last.above:
        return True, True
    if now.children != last.children or now.cwnd != last.cwnd or now.twnd < last.twnd:
        return False, True
    if now.window > last.window and now.window // 2 >= last.window:
        return False, True
    ended = now.at - last.at >= PERIOD_US
    told = again or now.twnd != last.twnd or now.window != last.window
    return False, (ended and told) or (now.at - last.at >= HOLDERS_US and now.holders != last.holders)

"""What the P4 program does with MTCP feedback, said in the plainest way: sets of packets, dictionaries, whole numbers.

The registers of p4src/assist/mtcp hold bitmaps and numbers modulo 2^32 and scan ports; here a port is an object with a
set of the packets that its children have, and a sequence number is extended as soon as it comes from the wire. Times
are microseconds of the switch. The rules are those of docs/assist.md.
"""

import zlib
from collections import Counter
from ipaddress import IPv4Address

from hosts.protocols.mtcp.packets import MERGE_CHILDREN, SACK_BITS, Feedback
from hosts.wire.seq import MASK
from tests.p4src.bench.feedback import PARENT_PORT
from tests.p4src.bench.program import number
from tests.p4src.models.bitmaps import bitmap, members
from tests.p4src.models.mtcp.delays import measure
from tests.p4src.models.mtcp.nacks import answers, asks_anew, known_below, lacked_packets
from tests.p4src.models.mtcp.state import Port, Slot
from tests.p4src.models.mtcp.summary import aggregate, is_due
from tests.p4src.models.passed import PassedModel

SLOTS = number("MTCP_SLOTS")
SILENCE_US, GAP_US = number("MTCP_SILENCE_US"), number("MTCP_GAP_US")
CHANGE_US, IDLE_US = number("MTCP_CHANGE_US"), number("FEEDBACK_IDLE_US")
MAX_BEHIND = number("FEEDBACK_MAX_BEHIND")


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
            below = asks_anew(
                slot, port, slot.ports[port], cumulative, lacked_packets(cumulative, above), now, part=True
            )
            if below is None:
                return "repeated", None
            return "part", known_below(packet, below)
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
            repaired = packet.repaired if packet.merged else answers(slot, port, before, packet)
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
        rtd = measure(slot, port, mine, packet, others, now)

        repeat = False
        told = packet
        if packet.nack:
            below = asks_anew(slot, port, mine, cumulative, lacked_packets(cumulative, above), now, part=False)
            repeat = below is None
            told = known_below(packet, below)
        if not known:
            return "first", told
        if packet.nack and not repeat:
            return "nack", told
        if not others:
            return "alone", packet

        summary = aggregate([mine, *others], now)
        advanced, due = is_due(slot.sent, summary, again)
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

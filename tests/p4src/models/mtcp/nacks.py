"""What of an MTCP NACK nobody has asked for lately, and which feedback answers a repair."""

from hosts.protocols.mtcp.packets import SACK_BITS, Feedback
from hosts.wire.seq import MASK
from tests.p4src.bench.program import number
from tests.p4src.models.mtcp.state import Port, Slot

FIRST_RTT_US = number("MTCP_FIRST_RTT_US")


def lacked_packets(cumulative: int, above: frozenset[int]) -> frozenset[int]:
    """All that is missing below the highest packet that has arrived."""
    missing = set(range(cumulative, max(above, default=cumulative + 1))) - above
    return frozenset(seq % SACK_BITS for seq in missing)


def known_below(nack: Feedback, below: int | None) -> Feedback:
    """A NACK that passes says how much of it need not be asked for again: all, when nothing is new."""
    return nack._replace(repeats=max(nack.repeats, 0xFFFF if below is None else below))


def asks_anew(
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


def answers(slot: Slot, port: int, before: Port, packet: Feedback) -> bool:
    """Whether a child answers a repair that was addressed to it: of copies its parent does not know."""
    addressed = slot.addressed.get(port)
    if addressed is None or before.repair_echo & MASK == packet.repair_echo_us & MASK:
        return False
    return not before.repair_echo or (before.repair_echo - addressed & MASK) >> 31 == 1

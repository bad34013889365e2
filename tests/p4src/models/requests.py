"""What the P4 program does with what Arbor's receivers ask for, said in the plainest way; times are microseconds."""

from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

from hosts.protocols.arbor.packets import FLAG_ASSIST, FLAG_SUPPRESSED, Blocks, Report, ToldData
from tests.p4src.bench.program import number
from tests.p4src.models.passed import IDLE_MS, SESSIONS

LONGEST_RTT_US = number("ARBOR_LONGEST_RTT_US")

Request: TypeAlias = Report | Blocks


@dataclass
class Known:
    """What the sender's data said last, and what has passed last: of each kind how bad it was, and until when (ms)."""

    source: str
    ms: int
    rtt_ms: int
    passed: dict[type[Request], tuple[int, int]] = field(default_factory=dict)


class RequestModel:
    """One switch. Sessions whose rows fall together are not in it."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self._known: dict[int, Known] = {}

    def data(self, source: str, packet: ToldData, now: int) -> ToldData:
        """A data packet that was accepted; how it leaves."""
        if not packet.flags & FLAG_ASSIST:
            return packet
        packet = packet._replace(hops=min(packet.hops + 1, 255))
        assert packet.session < SESSIONS
        ms = now >> 10 | 1
        known = self._known.get(packet.session)
        if known is not None and ms - known.ms <= IDLE_MS and known.source != source:
            return packet
        passed = {} if known is None else known.passed
        self._known[packet.session] = Known(source, ms, min(packet.rtt_us, LONGEST_RTT_US) >> 10, passed)
        return packet._replace(flags=packet.flags | FLAG_SUPPRESSED)

    def request(self, sender: str, request: Request, now: int) -> Request | None:
        """What leaves towards the sender; None: nothing."""
        if not request.may_suppress or (isinstance(request, Blocks) and len(request.needs) != 1):
            return request
        outcome = self._outcome(sender, request, now >> 10 | 1)
        self.outcomes[outcome] += 1
        return None if outcome == "suppressed" else request

    def _outcome(self, sender: str, request: Request, ms: int) -> str:
        known = self._known.get(request.session)
        if known is None or known.source != sender or ms - known.ms > IDLE_MS:
            return "no_slot"
        worse, until = known.passed.get(type(request), (0, 0))
        how_bad = _how_bad(request)
        other_block = isinstance(request, Blocks) and how_bad >> 16 != worse >> 16
        if how_bad <= worse and not other_block and ms < until:
            return "suppressed"
        known.passed[type(request)] = how_bad, ms + known.rtt_ms + 1
        return "lower"


def _how_bad(request: Request) -> int:
    """A lower rate, or more packets of a block, are worse."""
    if isinstance(request, Report):
        return 2**32 - 1 - request.rate
    ((block, packets),) = request.needs
    return (block % 65536 << 16) | packets

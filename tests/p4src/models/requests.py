"""What the P4 program does with what Arbor's receivers ask for, said in the plainest way; times are microseconds."""

from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

from hosts.protocols.arbor.packets import FLAG_ASSIST, FLAG_SUPPRESSED, Blocks, Join, Report, ToldData, Welcome
from tests.p4src.bench.program import number
from tests.p4src.models.passed import IDLE_MS, SESSIONS

LONGEST_RTT_US = number("ARBOR_LONGEST_RTT_US")
CLOCK_FRESH_MS = number("ARBOR_CLOCK_FRESH_MS")
CLOCK_AGE_MS = number("ARBOR_CLOCK_AGE_MS")
ANSWER_US = number("ARBOR_ANSWER_US")
IDLE_US = number("FEEDBACK_IDLE_US")

Request: TypeAlias = Report | Blocks


@dataclass
class Known:
    """What the sender's data said last, and what has passed last: of each kind how bad it was, and until when (ms)."""

    source: str
    ms: int
    rtt_ms: int
    passed: dict[type[Request], tuple[int, int]] = field(default_factory=dict)


@dataclass
class Clock:
    """By how much the sender's is ahead, when that was found (ms), and the JOIN that passed to find it out: whose it
    was (0: it was answered), its time and ours. How many have been answered since.
    """

    ahead: int = 0
    ms: int | None = None
    receiver: int = 0
    time: int = 0
    at: int = 0
    since: int = 0


class RequestModel:
    """One switch. Sessions whose rows fall together are not in it."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self._known: dict[int, Known] = {}
        self._clocks: dict[int, Clock] = {}

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

    def join(self, sender: str, join: Join, now: int) -> Join | Welcome | None:
        """What leaves: the JOIN towards the sender, or an answer to its receiver."""
        if not join.may_suppress:
            return join
        outcome, left = self._join(sender, join, now)
        self.outcomes[outcome] += 1
        return left

    def _join(self, sender: str, join: Join, now: int) -> tuple[str, Join | Welcome | None]:
        ms = now >> 10 | 1
        known = self._of(join.session, sender, ms)
        if known is None:
            return "no_slot", join
        clock = self._clocks.setdefault(join.session, Clock())
        age = CLOCK_AGE_MS if clock.ms is None else ms - clock.ms
        since = min(clock.since + join.stands_for, 2**32 - 1)
        waits = clock.receiver != 0 and now - clock.at < 2048 * known.rtt_ms + ANSWER_US
        if not waits and age >= CLOCK_FRESH_MS:
            clock.receiver, clock.time, clock.at, clock.since = join.receiver, join.time_us % 2**32, now, 0
            return "request", join._replace(stands_for=since)
        if age >= CLOCK_AGE_MS:
            return "suppressed", None
        clock.since = since
        then = (clock.ahead + now) % 2**64
        return "answered", Welcome(join.session, join.receiver, join.time_us, then, may_suppress=True)

    def welcome(self, source: str, welcome: Welcome, now: int) -> None:
        """An answer on its way down."""
        ms = now >> 10 | 1
        clock = self._clocks.get(welcome.session)
        if not welcome.may_suppress or clock is None or self._of(welcome.session, source, ms) is None:
            return
        took, waited = now - clock.at, (welcome.time_comp_us - clock.time) % 2**32
        if 0 != clock.receiver == welcome.receiver and took < IDLE_US and waited <= took and not welcome.reason:
            clock.ahead, clock.ms = welcome.time_us - waited - clock.at, ms
            clock.receiver = 0

    def _of(self, session: int, sender: str, ms: int) -> Known | None:
        """What is known of a session that this host sends."""
        known = self._known.get(session)
        return None if known is None or known.source != sender or ms - known.ms > IDLE_MS else known

    def _outcome(self, sender: str, request: Request, ms: int) -> str:
        known = self._of(request.session, sender, ms)
        if known is None:
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

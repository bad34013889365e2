"""What the P4 program does with VLMCC's challenges, said in the plainest way; times are microseconds."""

from collections import Counter
from dataclasses import dataclass

from hosts.protocols.vlmcc.packets import FLAG_ASSIST, FLAG_SETTLING, FLAG_SUPPRESSED, Challenge, Data
from tests.p4src.bench.program import number
from tests.p4src.models.passed import IDLE_MS, SESSIONS

LONGEST_RTT_US = number("VLMCC_LONGEST_RTT_US")


@dataclass
class Known:
    """What the sender's data said last, and the challenge that has passed last since it changed its mind."""

    source: str
    ms: int
    data: Data
    passed: tuple[int, int] | None = None
    """Its rate, and until when it counts unless a leader settles."""


class ChallengeModel:
    """One switch. Sessions whose rows fall together are not in it."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self._known: dict[int, Known] = {}

    def data(self, source: str, packet: Data, now: int) -> Data:
        """A data packet that was accepted; how it leaves."""
        if not packet.flags & FLAG_ASSIST:
            return packet
        assert packet.session < SESSIONS
        ms = now >> 10 | 1
        known = self._known.get(packet.session)
        if known is None or ms - known.ms > IDLE_MS:
            self._known[packet.session] = Known(source, ms, packet)
        elif known.source != source:
            return packet
        elif packet.seq >= known.data.seq:
            if _mind(packet) != _mind(known.data):
                known.passed = None
            known.ms, known.data = ms, packet
        return packet._replace(flags=packet.flags | FLAG_SUPPRESSED)

    def challenge(self, sender: str, challenge: Challenge, now: int) -> Challenge | None:
        """What leaves towards the sender; None: nothing."""
        if not challenge.may_suppress:
            return challenge
        outcome = self._outcome(sender, challenge, now)
        self.outcomes[outcome] += 1
        return None if outcome == "suppressed" else challenge

    def _outcome(self, sender: str, challenge: Challenge, now: int) -> str:
        known = self._known.get(challenge.session)
        if known is None or known.source != sender or (now >> 10 | 1) - known.ms > IDLE_MS:
            return "no_slot"
        if known.passed is not None:
            rate, until = known.passed
            counts = now < until or bool(known.data.flags & FLAG_SETTLING)
            if counts and challenge.rate >= rate:
                return "suppressed"
        known.passed = challenge.rate, now + min(challenge.rtt_us, LONGEST_RTT_US)
        return "lower"


def _mind(data: Data) -> tuple[int, int]:
    """Who leads, and whether that settles."""
    return data.leader, data.flags & FLAG_SETTLING

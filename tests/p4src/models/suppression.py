"""What the P4 program does with TFMCC's reports, said in the plainest way: rates are fractions, times microseconds."""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from hosts.protocols.tfmcc.packets import (
    FLAG_ASSIST,
    FLAG_HAVE_LOSS,
    FLAG_HAVE_RTT,
    FLAG_LEAVE,
    FLAG_MAY_SUPPRESS,
    FLAG_SUPPRESSED,
    FLAG_SUPPRESSION_LOSS,
    SHARE_UNIT,
    Data,
    Report,
)
from hosts.protocols.tfmcc.rate_float import NO_RATE, RATE_MANTISSA, RTT_MANTISSA
from tests.p4src.bench.program import number
from tests.p4src.models.passed import IDLE_MS, SESSIONS

REQUESTS = number("TFMCC_REQUESTS")


def rate_of(code: int) -> Fraction:
    """In units of 100 bit/s."""
    return Fraction(2) ** (code >> RATE_MANTISSA) * (1 + Fraction(code & 0x7F, 128))


def patience_us(code: int) -> int:
    """An RTT float, in whole microseconds."""
    return int(1000 * 2 ** (code >> RTT_MANTISSA) * (1 + Fraction(code & 0x0F, 16)))


@dataclass
class Facts:
    """What the sender's data said last."""

    source: str
    ms: int
    data: Data


@dataclass
class Passed:
    """The least rate of a round that passed."""

    rate: int
    loss: bool
    at: int


class SuppressionModel:
    """One switch. Sessions whose rows fall together are not in it, nor are rounds that wrap."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self._facts: dict[int, Facts] = {}
        self._echoes: dict[tuple[int, int], Data] = {}  # session and round: the last data of it
        self._passed: dict[tuple[int, int, bool], Passed] = {}
        self._asked: Counter[tuple[int, int]] = Counter()
        self._farthest: dict[int, tuple[int, int]] = {}

    def data(self, source: str, packet: Data, now: int) -> Data:
        """A data packet that was accepted; how it leaves."""
        ms = now >> 10 | 1
        if not packet.flags & FLAG_ASSIST:
            return packet
        assert packet.session < SESSIONS
        known = self._facts.get(packet.session)
        fresh = known is not None and ms - known.ms <= IDLE_MS
        if known is not None and fresh and known.source != source:
            return packet
        if known is None or not fresh or packet.round >= known.data.round:
            self._facts[packet.session] = Facts(source, ms, packet)
            for older in [key for key in self._echoes if key[0] == packet.session and (key[1] - packet.round) % 2 == 0]:
                del self._echoes[older]
            self._echoes[packet.session, packet.round] = packet
        return packet._replace(flags=packet.flags | FLAG_SUPPRESSED)

    def report(self, sender: str, report: Report, now: int) -> Report | None:
        """What leaves towards the sender; None: nothing."""
        if not report.flags & FLAG_MAY_SUPPRESS:
            return report
        outcome = self._outcome(sender, report, now)
        self.outcomes[outcome] += 1
        return None if outcome == "suppressed" else report

    def _outcome(self, sender: str, report: Report, now: int) -> str:
        facts = self._facts.get(report.session)
        if report.rate >= NO_RATE:
            return "malformed"
        if (
            facts is None
            or facts.source != sender
            or (now >> 10 | 1) - facts.ms > IDLE_MS
            or facts.data.least_share < SHARE_UNIT // 2
        ):
            return "no_slot"
        if report.flags & FLAG_LEAVE:
            return "leave"
        if report.receiver == facts.data.clr:
            return "limiting"
        if report.round not in (facts.data.round, facts.data.round - 1):
            return "stale"
        return self._judge(facts.data, report, now)

    def _judge(self, data: Data, report: Report, now: int) -> str:
        has_rtt, has_loss = bool(report.flags & FLAG_HAVE_RTT), bool(report.flags & FLAG_HAVE_LOSS)
        patience = patience_us(data.patience)
        place = (report.session, report.round, has_rtt)
        passed = self._passed.get(place)
        if passed is not None and now - passed.at >= patience:
            passed = None

        silencing = [NO_RATE]
        echo = self._echoes.get((report.session, report.round))
        if echo is not None and (echo.flags & FLAG_SUPPRESSION_LOSS or not has_loss):
            silencing.append(echo.suppression if has_rtt else echo.suppression_no_rtt)
        if passed is not None and (passed.loss or not has_loss):
            silencing.append(passed.rate)
        least = min(silencing)
        enough = rate_of(report.rate) * SHARE_UNIT <= rate_of(least) * data.least_share or report.rate == 0

        asks = not has_rtt and self._asked[report.session, report.round] < REQUESTS
        if asks:
            self._asked[report.session, report.round] += 1
        far = has_rtt and report.rtt > data.max_rtt
        if far and report.session in self._farthest:
            farthest, at = self._farthest[report.session]
            far = now - at >= patience or report.rtt > farthest
        if far:
            self._farthest[report.session] = (report.rtt, now)

        if least == NO_RATE or (enough and report.rate < least):
            outcome = "lower"
        elif far:
            outcome = "far"
        elif asks:
            outcome = "request"
        else:
            return "suppressed"
        if passed is None or (has_loss and not passed.loss) or (has_loss == passed.loss and report.rate < passed.rate):
            self._passed[place] = Passed(report.rate, has_loss, now)
        return outcome

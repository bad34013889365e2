"""What the P4 program does with TFMCC's reports, said in the plainest way: rates are fractions, times microseconds."""

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

from hosts.protocols.tfmcc.packets import (
    FLAG_ANSWER,
    FLAG_ASSIST,
    FLAG_ECHO,
    FLAG_HAVE_LOSS,
    FLAG_HAVE_RTT,
    FLAG_LEAVE,
    FLAG_MAY_SUPPRESS,
    FLAG_SUPPRESSED,
    FLAG_SUPPRESSION_LOSS,
    PATH_UNIT_US,
    SHARE_UNIT,
    Data,
    JoinAck,
    Report,
)
from hosts.protocols.tfmcc.rate_float import NO_RATE, RATE_MANTISSA, RTT_MANTISSA
from tests.p4src.bench.program import number
from tests.p4src.models.passed import SESSIONS

REPORTS = number("TFMCC_REPORTS")
IDLE_MS = number("TFMCC_IDLE_MS")
PATH_AGE_US = number("TFMCC_PATH_AGE_US")
FARTHER = number("TFMCC_FARTHER")
DOUBT_PATIENCES = 1 << number("TFMCC_DOUBT_SHIFT")


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
    """Reports of a round that passed and are not confirmed: the first one's rate, receiver and time, and the least."""

    first: int
    receiver: int
    at: int
    loss: bool
    rate: int
    ports: set[int]


@dataclass
class Round:
    """What else is kept of a round."""

    passed: int = 0
    asked: set[int] = field(default_factory=set)
    ended: int = 0
    farthest: int = 0


@dataclass
class Far:
    """The longest round trip time that passed and is not confirmed."""

    rtt: int
    at: int
    port: int


class SuppressionModel:
    """One switch. Sessions whose rows fall together are not in it, nor are rounds that wrap."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self._facts: dict[int, Facts] = {}
        self._echoes: dict[tuple[int, int], Data] = {}  # session and round: the last data of it
        self._passed: dict[tuple[int, int], tuple[int, Passed]] = {}  # session and parity: round, what passed
        self._rounds: dict[tuple[int, int], tuple[int, Round]] = {}
        self._farthest: dict[int, Far] = {}
        self._doubts: dict[int, tuple[set[int], int]] = {}  # ports, and since when
        self._timed: dict[int, tuple[int, int, int]] = {}  # receiver, its time, when it passed
        self._paths: dict[int, tuple[int, int]] = {}  # microseconds, and when measured

    # --- what comes down

    def data(self, source: str, packet: Data, now: int) -> Data:
        """A data packet that was accepted; how it leaves."""
        ms = now >> 10 | 1
        if not packet.flags & FLAG_ASSIST:
            return packet
        session = packet.session
        assert session < SESSIONS
        known = self._facts.get(session)
        fresh = known is not None and ms - known.ms <= IDLE_MS
        if known is not None and fresh and known.source != source:
            return packet
        if known is None or not fresh or packet.round >= known.data.round:
            self._facts[session] = Facts(source, ms, packet)
            for older in [key for key in self._echoes if key[0] == session and (key[1] - packet.round) % 2 == 0]:
                del self._echoes[older]
            self._echoes[session, packet.round] = packet
        if packet.flags & FLAG_ECHO:
            self._answered(session, packet.echo_receiver, packet.echo_time_us, packet.echo_held_us, 0, now)
        path = self._path(session, now)
        if path:
            packet = packet._replace(path_rtt=min(path // PATH_UNIT_US + 1, 0xFFFF))
        return packet._replace(flags=packet.flags | FLAG_SUPPRESSED)

    def join_ack(self, source: str, packet: JoinAck, now: int) -> None:
        """A question of the sender's, which answers a report."""
        if self._is_from_sender(packet.session, source, now):
            self._answered(packet.session, packet.receiver, packet.echo_time_us, 0, 0, now)

    def answer(self, source: str, report: Report, now: int) -> None:
        """A switch nearer to the sender has sent a report back."""
        if self._is_from_sender(report.session, source, now):
            self._answered(report.session, report.receiver, report.time_us, 0, report.echo_time_us, now)

    def _is_from_sender(self, session: int, source: str, now: int) -> bool:
        facts = self._facts.get(session)
        return facts is not None and facts.source == source and (now >> 10 | 1) - facts.ms <= IDLE_MS

    def _answered(self, session: int, receiver: int, time_us: int, held_us: int, beyond_us: int, now: int) -> None:
        timed = self._timed.get(session)
        if timed is None or timed[:2] != (receiver, time_us % 2**32):
            return
        took = now - timed[2]
        if held_us <= took < PATH_AGE_US:
            del self._timed[session]
            self._paths[session] = (took - held_us + beyond_us, now)

    def _path(self, session: int, now: int) -> int:
        """Microseconds; 0: not known."""
        path, at = self._paths.get(session, (0, now))
        return path if now - at < PATH_AGE_US else 0

    # --- what goes up

    def report(self, sender: str, port: int, report: Report, now: int) -> tuple[str, Report] | None:
        """What leaves "up" to the sender, or "back" to the receiver; None: nothing."""
        if not report.flags & FLAG_MAY_SUPPRESS:
            return "up", report
        facts = self._facts.get(report.session)
        outcome = self._outcome(facts, sender, report, now)
        if not outcome:
            assert facts is not None
            outcome, report = self._judge_in_round(facts.data, port, report, now)
        self.outcomes[outcome] += 1
        if outcome == "answered":
            return "back", report
        return None if outcome == "suppressed" else ("up", report)

    def _outcome(self, facts: Facts | None, sender: str, report: Report, now: int) -> str:
        """What passes unread; else nothing."""
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
        if report.round not in (facts.data.round, facts.data.round - 1):
            return "limiting" if report.receiver == facts.data.clr else "stale"
        return ""

    def _judge_in_round(self, data: Data, port: int, report: Report, now: int) -> tuple[str, Report]:
        patience = patience_us(data.patience)
        place = (report.session, report.round % 2)
        number, kept = self._rounds.get(place, (-1, Round()))
        if number != report.round:
            kept = Round()
        self._rounds[place] = (report.round, kept)

        is_clr = report.receiver == data.clr
        if is_clr:
            outcome = "limiting"
        elif not report.flags & FLAG_HAVE_RTT:
            path = self._path(report.session, now)
            if path:
                return "answered", report._replace(flags=report.flags | FLAG_ANSWER, echo_time_us=path)
            timed = self._timed.get(report.session)
            is_free = timed is None or now - timed[2] >= patience
            outcome = "request" if port not in kept.asked or (data.path_rtt and is_free) else "suppressed"
            if outcome == "request":
                kept.asked.add(port)
        else:
            outcome = self._judge(data, port, report, kept, patience, now)

        if outcome == "suppressed":
            kept.ended += report.stands_for + 1
            has_rtt = report.flags & FLAG_HAVE_RTT
            kept.farthest = max(kept.farthest, report.far_rtt, report.rtt if has_rtt else 0)
            return outcome, report
        timed = self._timed.get(report.session)
        if timed is None or now - timed[2] >= patience or (is_clr and timed[0] != data.clr):
            self._timed[report.session] = (report.receiver, report.time_us % 2**32, now)
        if kept.ended:
            report = report._replace(
                stands_for=report.stands_for + kept.ended, far_rtt=max(report.far_rtt, kept.farthest)
            )
            kept.ended = kept.farthest = 0
        return outcome, report

    def _judge(self, data: Data, port: int, report: Report, kept: Round, patience: int, now: int) -> str:
        has_loss = bool(report.flags & FLAG_HAVE_LOSS)
        session = report.session
        place = (session, report.round % 2)
        silencing = [NO_RATE]
        echo = self._echoes.get((session, report.round))
        if echo is not None and (echo.flags & FLAG_SUPPRESSION_LOSS or not has_loss):
            silencing.append(echo.suppression)

        doubtful: set[int] = set()
        number, passed = self._passed.get(place, (-1, None))
        if number != report.round:
            passed = None
        if passed is not None and passed.receiver == data.clr:
            del self._passed[place]
            passed = None
        if passed is not None and now - passed.at >= patience:
            confirmed = echo is not None and echo.suppression <= passed.first
            doubtful |= set() if confirmed else passed.ports
            del self._passed[place]
            passed = None
        if passed is not None and (passed.loss or not has_loss):
            silencing.append(passed.rate)
        least = min(silencing)

        far = self._farthest.get(session)
        if far is not None and now - far.at >= patience:
            doubtful |= {far.port} if far.rtt > data.max_rtt else set()
            del self._farthest[session]
            far = None
        is_far = report.rtt > data.max_rtt and (far is None or report.rtt >= far.rtt + FARTHER)

        ports, since = self._doubts.get(session, (set(), now))
        if now - since >= patience * DOUBT_PATIENCES:
            ports = set()
        if doubtful:
            ports = ports | doubtful
            self._doubts[session] = (ports, now)
        is_trusted = port not in ports

        enough = rate_of(report.rate) * SHARE_UNIT <= rate_of(least) * data.least_share or report.rate == 0
        if is_trusted and kept.passed >= REPORTS:
            return "suppressed"
        if least == NO_RATE or (enough and report.rate < least):
            outcome = "lower"
        elif is_far:
            outcome = "far"
        else:
            return "suppressed"
        if not is_trusted:
            return outcome
        kept.passed += 1
        if passed is None or (has_loss and not passed.loss):
            first = Passed(report.rate, report.receiver, now, has_loss, report.rate, {port})
            self._passed[place] = (report.round, first)
        elif has_loss == passed.loss and report.rate < passed.rate:
            passed.rate = report.rate
            passed.ports.add(port)
        if outcome == "far":
            self._farthest[session] = Far(report.rtt, now, port)
        return outcome

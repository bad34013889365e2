"""Which reports a sender believes: those of its session, of now, once each (the paper is silent; ours).

No receiver can be kept from asking for a low rate; that is what the protocol is for. But a report that is stale, from
the future, repeated, or in another receiver's name says nothing of the network now.
"""

from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Final

from hosts.endpoint import Address
from hosts.protocols.tfmcc.packets import Report
from hosts.protocols.tfmcc.rate_float import decode_rtt

KNOWN: Final = 16_384
"""Receivers whose last report is remembered; the ones silent longest are forgotten first (ours)."""
ASKED: Final = 4096
"""Strangers that have been asked and may answer; the first ones are forgotten first (ours)."""
QUESTIONS: Final = 8
"""Of them to one stranger that may be answered, the last ones (ours)."""
STRANGER: Final = "drop_stranger"
"""The counter of reports by receivers that are not known yet."""
ROUNDS: Final = 2
"""A report may be of this round or one of so many before (ours): it travels no longer than a round lasts."""


@dataclass(slots=True)
class Known:
    """What is remembered of a receiver."""

    address: Address
    time_us: int


@dataclass(slots=True)
class Asked:
    """What a stranger was asked: from where its reports came, and the last questions' times."""

    address: Address
    times_us: deque[int]


class ReportJudge:
    """Finds out why a report is not to be believed."""

    def __init__(self, largest_rtt: float, *, is_open: bool = True) -> None:
        """Seconds: round trip times above are not believed. `is_open`: a first report is believed, too; else only
        those of receivers that have answered a question (`ask`, `admit`)."""
        self._largest_rtt = largest_rtt
        self._is_open = is_open
        self._known: OrderedDict[int, Known] = OrderedDict()
        self._asked: OrderedDict[int, Asked] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def problem(self, report: Report, source: Address, started_at: float, current: int, now: float) -> str | None:
        """The counter that the report is dropped under, or None; then it is remembered.

        `now`: when it arrived; `started_at`: when the first data left; `current`: the feedback round.
        """
        if decode_rtt(report.rtt) > self._largest_rtt:
            return "drop_rtt"
        sent_at = report.echo_time_us * 1e-6
        held = report.held_us * 1e-6
        if not started_at - 1e-5 <= sent_at <= now + 1e-5 or held > now - sent_at + 1e-3:
            return "drop_future"
        if (current - report.round) & 0xFFFF > ROUNDS or now - sent_at - held > self._largest_rtt:
            return "drop_stale"
        known = self._known.get(report.receiver)
        if known is None:
            if not self._is_open:
                return STRANGER
            self._know(report.receiver, Known(source, report.time_us))
            return None
        if known.address != source:
            return "drop_forged"
        if report.time_us <= known.time_us:
            return "drop_replayed"
        known.time_us = report.time_us
        self._known.move_to_end(report.receiver)
        return None

    def _know(self, receiver: int, known: Known) -> None:
        while len(self._known) >= KNOWN:
            self._known.popitem(last=False)
        self._known[receiver] = known

    def ask(self, receiver: int, source: Address, time_us: int) -> None:
        """A stranger reports, and is asked at its address at `time_us`: forged addresses do not answer.

        It may report again before the answer is here, and be asked again."""
        asked = self._asked.pop(receiver, None)
        if asked is None or asked.address != source:
            asked = Asked(source, deque(maxlen=QUESTIONS))
        asked.times_us.append(time_us)
        while len(self._asked) >= ASKED:
            self._asked.popitem(last=False)
        self._asked[receiver] = asked

    def admit(self, receiver: int, source: Address, time_us: int) -> bool:
        """An answer; whether it is one to what was asked. Then the receiver's reports are believed."""
        asked = self._asked.get(receiver)
        if asked is None or asked.address != source or time_us not in asked.times_us or receiver in self._known:
            return False
        del self._asked[receiver]
        self._know(receiver, Known(source, -1))
        return True

    def forget(self, receiver: int) -> None:
        """A receiver has left. Its number stays taken until others push it out: its last words may be repeated."""
        if receiver in self._known:
            self._known.move_to_end(receiver, last=False)

"""What the sender keeps of one receiver: what it has acknowledged, which losses that shows, and which of those are one
congestion signal (RLA, 3.3, rules 1 and 2).
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from hosts.endpoint import Address
from hosts.parts.doubt import Doubt
from hosts.parts.rounds import Rounds
from hosts.parts.rtt import INITIAL_TIMEOUT_S, DelayEstimator
from hosts.parts.silence import SILENT_S, Presence
from hosts.protocols.rla.packets import WINDOW_PACKETS, Ack
from hosts.wire.farewell import Abort, Fin
from hosts.wire.reason import Reason

LOSS_DISTANCE = 3
"""3.3, rule 1: a packet is lost when one at least three higher has been selectively acknowledged."""
MOST_REPEATED = WINDOW_PACKETS
"""Repeats that are watched for being lost again (ours)."""
REORDERING = 0.25
"""RFC 8985 (RACK, 6.2): what was sent later may come earlier by so much of a round trip."""
PERIOD_ROUNDS = 2.0
"""3.3, rule 2: losses within 2 srtt are one congestion signal."""


class Asked(NamedTuple):
    """A packet that a receiver was sent again because it had said nothing of it in time."""

    seq: int
    sent_at: float
    """Before that."""
    at: float


class Branch:
    """One receiver. Sequence numbers are extended ones, times are the sender's clock in seconds."""

    __slots__ = (
        "_examined",
        "_repeated",
        "_told_at",
        "acks",
        "address",
        "answered_at",
        "asked",
        "back_below",
        "backoff",
        "cperiod_start",
        "cumulative",
        "doubt",
        "first",
        "first_offset",
        "heard_at",
        "highest",
        "interval",
        "losses",
        "merges",
        "met_at",
        "news_at",
        "number",
        "opened_at",
        "presence",
        "progress_at",
        "recover_below",
        "retransmissions",
        "rounds",
        "rtt",
        "signals",
        "slow_since",
        "window",
        "window_end",
    )

    def __init__(
        self, number: int, address: Address, first: int, rto_margin_s: float, now: float, *, first_offset: int = 0
    ) -> None:
        self.number = number
        self.address = address
        self.first = first  # the first packet that it is to get
        self.first_offset = first_offset  # its place in the stream
        self.presence = Presence()
        self.cumulative = first  # the first packet that it lacks
        self.highest = first  # one more than the last packet that it has
        self.rtt = DelayEstimator(rto_margin_s)
        self.rounds = Rounds()
        self.window = 0  # bytes, as it was advertised
        self.window_end = 0  # stream offset up to which it takes data
        self.cperiod_start = -1e18  # when the last congestion period began
        self.signals = 0
        self.losses = 0
        self.retransmissions = 0  # packets that were sent again for it
        self.acks = 0
        self.merges = 0  # acknowledgments of switches that stood for it too
        self.met_at = -1e18  # when the last packet was sent that met congestion on its way
        self.heard_at = now
        self.doubt = Doubt[Fin | Abort]()  # whether it is through
        self.answered_at = now  # data, or a switch did for it
        self.back_below: int | None = None  # set aside, it has answered again: all packets below had been sent then
        self.progress_at = now
        self.opened_at = now  # its window
        self.news_at = now  # it, or a switch for it, told of a packet that it had not told of before
        self.asked: Asked | None = None
        self.interval = DelayEstimator(0.0)
        """From one answer that comes to the next, seconds."""
        self._told_at: float | None = None
        self.backoff = 1.0  # of its timeout: doubled at each one, 1 after progress
        self.recover_below = first  # at its last timeout all packets below had been sent
        self.slow_since: float | None = None  # since when it is the slowest by far (4.3)
        self._examined = first  # packets below have been judged
        self._repeated: deque[tuple[float, int]] = deque(maxlen=MOST_REPEATED)  # (when, packet)

    def opens(self, window_end: int, now: float) -> None:
        """It takes the stream up to this offset; windows never shrink."""
        if window_end > self.window_end:
            self.window_end = window_end
            self.opened_at = now

    def begins_again(self, first: int, offset: int, now: float) -> None:
        """It has all before packet `first`, whose place in the stream that is; nothing else that was believed of it
        counts."""
        self.cumulative = self.highest = self._examined = self.recover_below = first
        self.window_end = offset + self.window
        self.merges = 0
        self.back_below = self.asked = None
        self.backoff = 1.0
        self.progress_at = self.opened_at = self.heard_at = self.answered_at = self.news_at = now

    @property
    def believed_rtt_s(self) -> float:
        """Its round trip time; while it has not shown that it is there, no more than silence is borne for."""
        return self.rtt.mean if self.presence.is_proven else min(self.rtt.mean, SILENT_S)

    @property
    def timeout(self) -> float:
        """Its own, in seconds; repeats are longer by `backoff`."""
        return self.rtt.timeout or INITIAL_TIMEOUT_S

    def find_losses(self, highest: int, echo: float, has: Callable[[int, int], bool]) -> list[int]:
        """Packets that an acknowledgment newly shows as lost, ascending in each kind: first ones, then repeats that
        were lost again, for it answers what was sent later (RFC 8985). `highest` has arrived; `echo` is when what it
        answers was sent; `has` says whether a receiver, by its number, has a packet.
        """
        number = self.number
        limit = highest - LOSS_DISTANCE  # the last packet that can be judged
        first = max(self.cumulative, self._examined)
        lost: list[int] = []
        if first <= limit:
            self._examined = limit + 1
            lost = [seq for seq in range(first, limit + 1) if not has(number, seq)]
        repeated = self._repeated
        sent_before = echo - REORDERING * self.rtt.mean
        while repeated and repeated[0][0] < sent_before:
            seq = repeated.popleft()[1]
            if not has(number, seq):
                lost.append(seq)
        self.losses += len(lost)
        return lost

    def repeated(self, seq: int, now: float) -> None:
        """Packet `seq` was sent again for it."""
        self.retransmissions += 1
        self._repeated.append((now, seq))

    def told(self, now: float) -> None:
        """It has told that it has more."""
        if self._told_at is not None:
            self.interval.add(now - self._told_at)
        self._told_at = now

    def answers_that_it_lacked(self, ack: Ack, has: Callable[[int, int], bool]) -> float | None:
        """Whether what it was asked for at its last timeout had been lost on the way there: then when that was sent.
        None: it had it, and what it had said was lost; or it has not answered yet.
        """
        asked = self.asked
        if asked is None or not has(self.number, asked.seq):
            return None
        self.asked = None
        is_older = 0 < ack.echo_time_us < int(asked.at * 1e6)  # than the question
        return None if ack.needless or is_older else asked.sent_at

    def congested(self, now: float) -> bool:
        """A loss was detected: whether it begins a congestion period, and so is a congestion signal."""
        if now - self.cperiod_start <= PERIOD_ROUNDS * self.rtt.mean:
            return False
        self.cperiod_start = now
        self.signals += 1
        return True


class Ended(NamedTuple):
    """How a receiver ended."""

    state: str
    """In the words of docs/status.md: complete, left, lost."""
    reason: str
    """Empty for a complete one."""
    branch: Branch
    code: Reason = Reason.NONE
    """Why it was dropped."""

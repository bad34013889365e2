"""What the sender keeps of one receiver: what it has acknowledged, which losses that shows, and which of those are one
congestion signal (RLA, 3.3, rules 1 and 2).
"""

from collections import deque
from typing import NamedTuple

from hosts.endpoint import Address
from hosts.parts.rtt import INITIAL_TIMEOUT_S, DelayEstimator

LOSS_DISTANCE = 3
"""3.3, rule 1: a packet is lost when one at least three higher has been selectively acknowledged."""
MOST_REPEATED = 4096
"""Repeats that are watched for being lost again: several of each packet that can be in flight (ours)."""
PERIOD_ROUNDS = 2.0
"""3.3, rule 2: losses within 2 srtt are one congestion signal."""


class Branch:
    """One receiver. Sequence numbers are extended ones, times are the sender's clock in seconds."""

    __slots__ = (
        "_examined",
        "_repeated",
        "acks",
        "address",
        "backoff",
        "cperiod_start",
        "cumulative",
        "heard_at",
        "losses",
        "merges",
        "number",
        "progress_at",
        "recover_below",
        "retransmissions",
        "rtt",
        "signals",
        "slow_since",
        "window",
        "window_end",
    )

    def __init__(self, number: int, address: Address, first: int, rto_margin_s: float, now: float) -> None:
        self.number = number
        self.address = address
        self.cumulative = first  # the first packet that it lacks
        self.rtt = DelayEstimator(rto_margin_s)
        self.window = 0  # bytes, as it was advertised
        self.window_end = 0  # stream offset up to which it takes data
        self.cperiod_start = -1e18  # when the last congestion period began
        self.signals = 0
        self.losses = 0
        self.retransmissions = 0  # packets that were sent again for it
        self.acks = 0
        self.merges = 0  # acknowledgments of switches that stood for it too
        self.heard_at = now
        self.progress_at = now
        self.backoff = 1.0  # of its timeout: doubled at each one, 1 after progress
        self.recover_below = first  # at its last timeout all packets below had been sent
        self.slow_since: float | None = None  # since when it is the slowest by far (4.3)
        self._examined = first  # packets below have been judged
        # (packet after which the repeat was sent, repeated packet)
        self._repeated: deque[tuple[int, int]] = deque(maxlen=MOST_REPEATED)

    @property
    def timeout(self) -> float:
        """Its own, in seconds; repeats are longer by `backoff`."""
        return self.rtt.timeout or INITIAL_TIMEOUT_S

    def has(self, seq: int, sack: int) -> bool:
        """Whether its last acknowledgment, with bitmap `sack`, contained packet `seq`."""
        index = seq - self.cumulative - 1
        return index < -1 or (index >= 0 and bool(sack >> index & 1))

    def find_losses(self, sack: int) -> list[int]:
        """Packets that the acknowledgment (`cumulative` is set already) newly shows as lost, ascending in each kind:
        first ones, then repeats that were lost again.
        """
        if not sack:
            return []
        cumulative = self.cumulative
        limit = cumulative + sack.bit_length() - LOSS_DISTANCE  # the last packet that can be judged
        first = cumulative if cumulative > self._examined else self._examined
        lost: list[int] = []
        if first <= limit:
            self._examined = limit + 1
            if first == cumulative:
                lost.append(first)
                first += 1
            lost += [seq for seq in range(first, limit + 1) if not sack >> (seq - cumulative - 1) & 1]
        while self._repeated and self._repeated[0][0] <= limit:
            seq = self._repeated.popleft()[1]
            if not self.has(seq, sack):
                lost.append(seq)
        self.losses += len(lost)
        return lost

    def repeated(self, seq: int, end: int) -> None:
        """Packet `seq` was sent again for it, after packet `end` - 1 was sent for the first time."""
        self.retransmissions += 1
        self._repeated.append((end - 1, seq))

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

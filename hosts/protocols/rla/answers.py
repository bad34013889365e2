"""How often receivers answer under `rules: tcp`, so that what all of them say is a small part of what is sent, and what
may be sent while they have not answered.

A window with room for it has each receiver answer one packet in so many, other ones than the others do. With more
receivers than that each answers after a random time, as long as all their answers take of the data's bytes; in a LAN,
where that is less than programs can wait, each answers one packet in so many that it comes to the same. What was
sent in such a time may have arrived without anybody having said so, and does not count as in flight; but there is never
more than a window beyond what somebody has, so that a bottleneck that all share is not sent more than it takes. Since
few answers let packets go then, they leave evenly over a round trip.
"""

import math
from typing import Final, NamedTuple

from hosts.protocols.rla.packets import ACK_BYTES, DATA_BYTES, MAX_ACK_RATIO, WAIT_UNITS

LEAST_ANSWERS: Final = 4
"""All receivers together answer a packet about once, but each answers four times a round trip (TACK, SIGCOMM 2020,
beta)."""
MOST_OF_DATA: Final = 1 / 4
"""Of the data's bytes: what all answers together may come to (ours)."""
LEAST_WAIT_S: Final = 1e-3
"""A shorter time cannot be waited: timers of programs are no finer (epoll's)."""
LEAST_BY_COUNT: Final = 2
"""Answers of each receiver to a window there: with fewer it might find nothing to answer (ours)."""
SLOWEST_BPS: Final = 1e6
"""No way back is taken to be slower: it bounds the time, however small a window is (ours)."""
HEADERS_BYTES: Final = 42
"""Of UDP, IPv4 and Ethernet."""
PACING_GAIN: Final = 1.2
"""Windows a round trip: Linux's in congestion avoidance, for the window is to be what limits."""


class Answers(NamedTuple):
    """What DATA say of it."""

    ratio: int = 0
    """One packet in so many; with `waits` the longest time, in parts of the longest round trip; 0: each packet."""
    waits: bool = False

    @property
    def rounds(self) -> float:
        """That time in round trips."""
        return self.ratio / WAIT_UNITS if self.waits else 0.0


EACH: Final = Answers()
"""Packet has an answer of everybody."""


def wanted(receivers: int, cwnd: float, srtt_s: float, payload_bytes: int) -> Answers:
    """Of so many receivers, with a window of so many packets, the longest round trip and packets of that size."""
    if receivers < 2:
        return EACH
    if receivers * LEAST_ANSWERS <= cwnd:
        return Answers(min(receivers, MAX_ACK_RATIO))
    answer = ACK_BYTES + HEADERS_BYTES
    packets = receivers * answer / (MOST_OF_DATA * (DATA_BYTES + payload_bytes + HEADERS_BYTES))
    rounds = packets / cwnd
    if srtt_s:
        rounds = min(rounds, 8 * receivers * answer / (MOST_OF_DATA * SLOWEST_BPS * srtt_s))
        by_count = math.ceil(packets)
        if max(1 / LEAST_ANSWERS, rounds) * srtt_s < LEAST_WAIT_S and by_count * LEAST_BY_COUNT <= cwnd:
            return Answers(min(by_count, MAX_ACK_RATIO))
    return Answers(min(math.ceil(WAIT_UNITS * max(1 / LEAST_ANSWERS, rounds)), MAX_ACK_RATIO), True)


class Unheard:
    """What may be sent before the answers come. Times in seconds of the sender's clock."""

    def __init__(self) -> None:
        self.answers = EACH
        """To the packet that was sent last."""
        self.paced_until = 0.0
        """When the next packet may leave that the window lets go."""
        self._late_rounds = 0.0
        self._front = -1  # the highest packet that somebody has

    def has(self, highest: int) -> None:
        """Somebody has this packet."""
        self._front = max(self._front, highest)

    def late(self, silence_s: float, srtt_s: float) -> None:
        """Answers come at such times at the latest, mostly: what is lost of them counts."""
        self._late_rounds = silence_s / srtt_s if srtt_s else 0.0

    def window_end(self, max_reach_all: int, cwnd: float) -> float:
        """Packets below may be in flight, when all have `max_reach_all`."""
        if not self.answers.waits:
            return max_reach_all + cwnd
        rounds = max(self.answers.rounds, self._late_rounds)
        return min(max_reach_all + cwnd * (1 + rounds), self._front + cwnd)

    def sent(self, answers: Answers, cwnd: float, srtt_s: float, now: float) -> None:
        """A packet leaves that is to have such answers."""
        self.answers = answers
        if answers.waits:
            apart = srtt_s / (PACING_GAIN * cwnd)
            self.paced_until = max(self.paced_until, now - apart) + apart

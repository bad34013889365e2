"""The repairs of one child, and the retransmission window that regulates them (MTCP, 3.1 and 3.6)."""

from collections import deque
from collections.abc import Iterator

from hosts.parts.sack import bits
from hosts.parts.vegas import VegasOptions, VegasWindow


class Repairs:
    """What one child lacks and what has been done about it. The window is not reset in quiescence (3.6)."""

    __slots__ = (
        "_bitmap",
        "_in_flight",
        "_origin",
        "_repairs",
        "_round_acknowledged",
        "_round_end",
        "_round_full",
        "_round_rtt",
        "_round_start",
        "_rtt_minimum",
        "_sent",
        "_wanted",
        "duplicates",
        "retransmission_window",
    )

    def __init__(self, options: VegasOptions, maximum: float) -> None:
        self.retransmission_window = VegasWindow(options, maximum)
        self.duplicates = 0
        """Consecutive duplicate NACKs: repairs that were lost since the last one that was not."""
        self._repairs: dict[int, float | None] = {}  # seq -> when it was sent; None: it waits for the window
        self._wanted: deque[int] = deque()
        self._origin = 0  # of the bitmap
        self._bitmap = 0  # the same packets, for thousands may be missing
        self._in_flight: dict[int, float] = {}  # those that were sent, the oldest first
        self._sent = 0
        self._rtt_minimum = float("inf")
        self._round_end = 0  # the round ends when this many repairs, ever, have been acknowledged or lost
        self._round_start = 0.0
        self._round_acknowledged = 0
        self._round_rtt = float("inf")
        self._round_full = False

    def __bool__(self) -> bool:
        return bool(self._repairs)

    def __contains__(self, seq: int) -> bool:
        return seq in self._repairs

    def pending(self) -> list[int]:
        """The packets known to be missing."""
        return list(self._repairs)

    def among(self, bitmap: int, base: int) -> list[int]:
        """The packets known to be missing that are in a bitmap above `base`; thousands may be, of which each
        acknowledgment tells of some."""
        if bitmap.bit_count() < len(self._repairs):
            return [seq for seq in bits(bitmap, base) if seq in self._repairs]
        return [seq for seq in self._repairs if seq >= base and bitmap >> seq - base & 1]

    def unknown(self, bitmap: int, base: int) -> int:
        """What is not known to be missing of a bitmap above `base`."""
        shift = base - self._origin
        return bitmap & ~(self._bitmap >> shift if shift >= 0 else self._bitmap << -shift)

    def is_overdue(self, rtt_s: float, arrived_by: float, now: float) -> bool:
        """Whether some repair may have been lost (see `found_missing`)."""
        sent_at = next(iter(self._in_flight.values()), now)
        return now - sent_at > rtt_s and sent_at < arrived_by

    def _add(self, seq: int) -> None:
        self._repairs[seq] = None
        self._wanted.append(seq)
        if not self._bitmap:
            self._origin = seq
        elif seq < self._origin:
            self._bitmap <<= self._origin - seq
            self._origin = seq
        self._bitmap |= 1 << seq - self._origin

    def waits(self, seq: int) -> bool:
        """Whether a repair of `seq` waits for the window."""
        return seq in self._repairs and self._repairs[seq] is None

    def found_missing(self, seq: int, rtt_s: float, arrived_by: float, now: float) -> bool:
        """Feedback says that `seq` is missing; whether that is news.

        A known one is a duplicate NACK when the repair must have been lost: it was sent more than a round trip ago, and
        before `arrived_by`, the time (agent's clock) at which something was sent that has arrived.
        """
        if seq not in self._repairs:
            self._add(seq)
            return True
        sent_at = self._repairs[seq]
        if sent_at is not None and now - sent_at > rtt_s and sent_at < arrived_by:
            self.duplicates += 1
            self._again(seq)
        return False

    def begin(self, packets: float) -> None:
        """The path takes so many packets in a round trip, if nothing else was missing before."""
        window = self.retransmission_window
        if len(self._repairs) == 1 and window.cwnd < packets:
            window.continue_from(packets)

    def timed_out(self, seq: int) -> bool:
        """The retransmission timer of `seq` expired, and the child lacks it. False when its repair has yet to be sent,
        so that nothing can be concluded from it.
        """
        if seq not in self._repairs:
            self._add(seq)
            return True
        if self._repairs[seq] is None:
            return False
        self._again(seq)
        self.retransmission_window.timed_out()
        return True

    def _again(self, seq: int) -> None:
        self._repairs[seq] = None
        del self._in_flight[seq]
        self._wanted.appendleft(seq)

    def acknowledged(self, seq: int, now: float) -> None:
        """The child has `seq` now."""
        self._bitmap &= ~(1 << seq - self._origin)
        if self._repairs.pop(seq) is None:
            return
        self.duplicates = 0
        del self._in_flight[seq]
        self._round_acknowledged += 1
        self.retransmission_window.acknowledged(1)
        if self._sent - len(self._in_flight) >= self._round_end:
            self._end_round(now)

    def measured(self, rtt_s: float) -> None:
        """A repair was acknowledged after `rtt_s`."""
        self._rtt_minimum = min(self._rtt_minimum, rtt_s)
        self._round_rtt = min(self._round_rtt, rtt_s)

    def _end_round(self, now: float) -> None:
        elapsed = now - self._round_start
        if elapsed > 0 and self._round_rtt < float("inf"):
            backlog = (self._round_rtt - self._rtt_minimum) * self._round_acknowledged / elapsed
            self.retransmission_window.round_trip_ended(backlog, self._round_full)
        self._round_end = self._sent + 1
        self._round_start = now
        self._round_acknowledged = 0
        self._round_rtt = float("inf")
        self._round_full = False

    def take(self, now: float) -> Iterator[int]:
        """The packets to send to the child now, as far as the window allows."""
        wanted = self._wanted
        while wanted:
            if len(self._in_flight) >= int(self.retransmission_window.cwnd):
                self._round_full = True
                return
            seq = wanted.popleft()
            if self._repairs.get(seq, now) is not None:
                continue  # it arrived meanwhile
            if not self._in_flight and not self._round_acknowledged:
                self._round_start = now
            self._repairs[seq] = self._in_flight[seq] = now
            self._sent += 1
            yield seq

"""The repairs of one child, and the retransmission window that regulates them (MTCP, 3.1 and 3.6)."""

from collections import deque
from collections.abc import Iterator

from hosts.vegas import VegasOptions, VegasWindow


class _Repair:
    """A packet that the child lacks."""

    __slots__ = ("duplicates", "sent_at")

    def __init__(self) -> None:
        self.sent_at: float | None = None  # seconds, agent's clock; None: waits for the window
        self.duplicates = 0  # times that the child still lacked it a round trip after a repair


class Repairs:
    """What one child lacks and what has been done about it. The window is not reset in quiescence (3.6)."""

    __slots__ = (
        "_in_flight",
        "_repairs",
        "_round_acknowledged",
        "_round_end",
        "_round_full",
        "_round_rtt",
        "_round_start",
        "_rtt_minimum",
        "_sent",
        "_wanted",
        "window",
    )

    def __init__(self, options: VegasOptions, maximum: float) -> None:
        self.window = VegasWindow(options, maximum)
        self._repairs: dict[int, _Repair] = {}
        self._wanted: deque[int] = deque()
        self._in_flight = 0
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

    def reported_missing(self, seq: int, rtt_s: float, now: float) -> int:
        """Feedback says that `seq` is missing. Answers 0 when that was known and its repair may still be on the way,
        1 when it is news, and n + 1 for the n-th consecutive duplicate: a report a round trip after the last repair.
        """
        repair = self._repairs.get(seq)
        if repair is None:
            self._repairs[seq] = _Repair()
            self._wanted.append(seq)
            return 1
        if repair.sent_at is None or now - repair.sent_at <= rtt_s:
            return 0
        repair.duplicates += 1
        self._again(seq, repair)
        return repair.duplicates + 1

    def timed_out(self, seq: int) -> None:
        """The retransmission timer of `seq` expired, and the child lacks it."""
        repair = self._repairs.get(seq)
        if repair is None:
            self._repairs[seq] = _Repair()
            self._wanted.append(seq)
        elif repair.sent_at is not None:
            self._again(seq, repair)
            self.window.timed_out()

    def _again(self, seq: int, repair: _Repair) -> None:
        repair.sent_at = None
        self._in_flight -= 1
        self._wanted.appendleft(seq)

    def acknowledged(self, seq: int, now: float) -> bool:
        """The child has `seq` now. Whether a repair of it had been sent."""
        repair = self._repairs.pop(seq)
        if repair.sent_at is None:
            return False
        self._in_flight -= 1
        self._round_acknowledged += 1
        self.window.acknowledged(1)
        if self._sent - self._in_flight >= self._round_end:
            self._end_round(now)
        return True

    def measured(self, rtt_s: float) -> None:
        """A repair was acknowledged after `rtt_s`."""
        self._rtt_minimum = min(self._rtt_minimum, rtt_s)
        self._round_rtt = min(self._round_rtt, rtt_s)

    def _end_round(self, now: float) -> None:
        elapsed = now - self._round_start
        if elapsed > 0 and self._round_rtt < float("inf"):
            backlog = (self._round_rtt - self._rtt_minimum) * self._round_acknowledged / elapsed
            self.window.round_trip_ended(backlog, self._round_full)
        self._round_end = self._sent + 1
        self._round_start = now
        self._round_acknowledged = 0
        self._round_rtt = float("inf")
        self._round_full = False

    def take(self, now: float) -> Iterator[int]:
        """The packets to send to the child now, as far as the window allows."""
        wanted = self._wanted
        while wanted:
            if self._in_flight >= int(self.window.cwnd):
                self._round_full = True
                return
            seq = wanted.popleft()
            repair = self._repairs.get(seq)
            if repair is None or repair.sent_at is not None:
                continue  # it arrived meanwhile
            if not self._in_flight and not self._round_acknowledged:
                self._round_start = now
            repair.sent_at = now
            self._in_flight += 1
            self._sent += 1
            yield seq

"""The sender's rate: cut at once, raised by what the CLR allows, doubled in slowstart (2.2, 2.6)."""

from typing import Final

from hosts.parts.throughput import growth_without_loss

SETTLED: Final = 1 - 1e-9


class RateControl:
    """Bytes per second; times in seconds. `at(now)` is the rate; everything else changes where it goes."""

    __slots__ = (
        "_always_limited",
        "_as_tcp",
        "_bytes_a_packet",
        "_from",
        "_held_at",
        "_least",
        "_most",
        "_rtt",
        "_since",
        "_slope",
        "_target",
        "is_limited",
    )

    def __init__(self, rate: float, least: float, most: float, *, always_limited: bool, as_tcp: bool = False) -> None:
        """`least` and `most` bound the rate whatever is asked; `always_limited`: see `allow`. `as_tcp`: a limited
        increase is what TCPs have after a while without loss, which on a long path is more than a packet per RTT.
        """
        self._least = least
        self._most = most
        self._always_limited = always_limited
        self._as_tcp = as_tcp
        self._held_at = 0.0  # when the limit began to hold
        self._rtt = self._bytes_a_packet = 0.0  # of a limited increase
        self.is_limited = always_limited
        """Whether increases are limited to one packet per round trip time (2.2), or what TCPs have."""
        self._from = self._target = self._bounded(rate)
        self._since = 0.0
        self._slope = 0.0

    def _bounded(self, rate: float) -> float:
        return min(max(rate, self._least), self._most)

    def at(self, now: float) -> float:
        """The rate now."""
        if self._target == self._from:
            return self._from
        rate = self._from + self._slope * (now - self._since)
        if self._rtt:
            held = self._held_at
            packets = growth_without_loss(now - held, self._rtt) - growth_without_loss(self._since - held, self._rtt)
            rate = self._from + packets * self._bytes_a_packet / self._rtt
        if rate >= self._target * SETTLED:
            self._from = self._target
            self.is_limited = self._always_limited  # the successor's rate is reached
            return self._target
        return rate

    def cut(self, rate: float, now: float) -> None:
        """A receiver can take no more than `rate`."""
        self._from = self._target = min(self.at(now), self._bounded(rate))
        self._since = self._held_at = now

    def allow(self, rate: float, rtt: float, packet_bytes: int, now: float, *, within: float = 0.0) -> None:
        """The CLR's rate: down at once; up `within` a time, or by one packet per RTT (`as_tcp`: or more).

        0 is at once: its loss history limits the increase."""
        current = self.at(now)
        rate = self._bounded(rate)
        if rate > current and self.is_limited:
            self._aim(current, rate, packet_bytes / rtt**2, now)
            if self._as_tcp:
                self._rtt, self._bytes_a_packet = rtt, float(packet_bytes)
        elif rate > current and within > 0:
            self._aim(current, rate, (rate - current) / within, now)
        else:
            self._from = self._target = rate
            if rate < current:
                self._held_at = now

    def restore(self, rate: float, now: float) -> None:
        """What took the rate down was not true."""
        self._from = self._target = self._bounded(rate)
        self._since = now

    def hold(self, now: float) -> None:
        """No further increase until something is heard; the next ones are limited, for the CLR has gone."""
        self._from = self._target = self.at(now)
        if not self.is_limited:
            self._held_at = now
        self.is_limited = True

    def slowstart(self, rate: float, rtt: float, now: float) -> None:
        """2.6: the rate moves to its target within a round trip time."""
        current = self.at(now)
        rate = self._bounded(rate)
        if rate <= current:
            self._from = self._target = current
        else:
            self._aim(current, rate, (rate - current) / rtt, now)

    def _aim(self, current: float, target: float, slope: float, now: float) -> None:
        self._from, self._target, self._slope, self._since = current, target, slope, now
        self._rtt = 0.0

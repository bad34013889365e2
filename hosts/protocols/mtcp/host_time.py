"""What the hosts' own programs take of a round trip: the sender's, from deciding that data leave until they do, and
until an acknowledgment that has come is read; the receivers', until they answer what has come meanwhile together.

The round trip times that the window goes by are the network's alone (3.2: what a child held back is not in them). On a
LAN that is a small part of the time from a packet to its acknowledgment, and a window that fills the network leaves
the hosts idle. So what the hosts take counts beside it: as many packets as went through in that time, as far as it is
longer than the network's (ours; BBRv2 adds to its window what acknowledgments that come together bring likewise, its
`extra_acked`). It is bounded, so that it is no more than a moment's data where a host is overwhelmed, and nothing on
a path that is longer than that.
"""

from typing import Final

from hosts.protocols.mtcp.packets import Feedback

MOST_S: Final = 0.002
"""Hosts' part of a round trip that counts: two of the pacer's quanta, as long as a timer may be late (ours)."""
GAIN: Final = 1 / 8
"""RFC 6298's alpha."""
REMEMBERED: Final = 64
"""Times of departure, of which acknowledgments may still come (ours: of a round trip, or more)."""


class HostTime:
    """A sender's estimate, of all its children. Times in seconds of its clock, in packets microseconds."""

    __slots__ = ("_decided", "_late_us", "_mean_s")

    def __init__(self) -> None:
        self._mean_s = 0.0
        self._decided: list[int] = []  # send times of what has not been handed over yet
        self._late_us: dict[int, int] = {}  # by their send times, the oldest first

    def sends(self, time_us: int) -> None:
        """Data with this send time will leave as soon as they are handed over."""
        if not self._decided or self._decided[-1] != time_us:
            self._decided.append(time_us)

    def handed_over(self, now: float) -> None:
        """They are being handed over."""
        if self._decided:
            now_us = int(now * 1e6)
            for time_us in self._decided:
                self._late_us[time_us] = now_us - time_us
            while len(self._late_us) > REMEMBERED:
                del self._late_us[next(iter(self._late_us))]
            self._decided.clear()

    def answered(self, feedback: Feedback, arrived_at: float, now: float) -> Feedback:
        """An acknowledgment that came at `arrived_at`, with what its data waited here in its child's `held_us`."""
        late_us = self._late_us.get(feedback.echo_time_us, 0)
        if late_us:
            feedback = feedback._replace(held_us=feedback.held_us + late_us)
        self._mean_s += GAIN * (feedback.held_us / 1e6 + max(0.0, now - arrived_at) - self._mean_s)
        return feedback

    def packets(self, rate: float, network_s: float) -> int:
        """How many may be on their way through the hosts, when all children get `rate` packets/s and the network's part
        of a round trip is `network_s`; 0: that is not known."""
        if not network_s:
            return 0
        return int(rate * max(0.0, min(self._mean_s, MOST_S) - network_s))

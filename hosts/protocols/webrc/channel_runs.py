"""What a sender sends at one moment, each channel's packets together: so they cost the kernel a third of what they do
one by one. No channel's are in another order."""

from collections.abc import Sequence

from hosts.endpoint import Address, Effect, Send, SendRun


class ChannelRuns:
    """Gathers packets, in pieces as they were made, which are copied once."""

    def __init__(self, groups: Sequence[Address], ecn: int, most_bytes: int) -> None:
        """`most_bytes`: of a run; 0: each packet leaves alone, and all of them in order."""
        self._groups = groups
        self._ecn = ecn
        self._most_bytes = most_bytes
        self._runs: dict[int, tuple[int, int, list[bytes]]] = {}  # by channel: size, packets at most, pieces
        self._effects: list[Effect] = []
        self.packets = self.octets = 0

    def add(self, channel: int, head: bytes, rest: bytes) -> None:
        """A packet in two pieces."""
        size = len(head) + len(rest)
        self.packets += 1
        self.octets += size
        run = self._runs.get(channel)
        if run is not None and run[0] == size and len(run[2]) < run[1]:
            run[2].extend((head, rest))
            return
        if run is not None:
            self._end(channel)
        self._runs[channel] = size, 2 * (self._most_bytes // size), [head, rest]
        if not self._most_bytes:
            self._end(channel)

    def _end(self, channel: int) -> None:
        size, _, pieces = self._runs.pop(channel)
        data, group = b"".join(pieces), self._groups[channel]
        if len(data) > size:
            self._effects.append(SendRun(data, group, self._ecn, size))
        else:
            self._effects.append(Send(data, group, self._ecn))

    def take(self) -> list[Effect]:
        """All of them."""
        for channel in tuple(self._runs):
            self._end(channel)
        return self._effects

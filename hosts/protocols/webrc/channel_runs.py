"""What a sender sends at one moment, each channel's packets together: so they cost the kernel a third of what they do
one by one. No channel's are in another order."""

from collections.abc import Sequence

from canopy_engine import ChannelPackets

from hosts.endpoint import Address, Effect, Send, SendRun


class ChannelRuns:
    """Gathers packets."""

    def __init__(self, groups: Sequence[Address], ecn: int, most_bytes: int) -> None:
        """`most_bytes`: of a run; 0: each packet leaves alone, and all of them in order."""
        self._groups = groups
        self._ecn = ecn
        self.made = made = ChannelPackets(len(groups), most_bytes)
        """How many `packets` there have been, and `octets` of them."""
        self.add = made.add
        """A packet of a channel."""
        self.add_symbols = made.add_symbols
        """Packets without extensions, which differ in places and symbols only."""

    def take(self) -> list[Effect]:
        """All of them."""
        groups, ecn = self._groups, self._ecn
        return [
            SendRun(data, groups[channel], ecn, size) if len(data) > size else Send(data, groups[channel], ecn)
            for channel, data, size in self.made.take()
        ]

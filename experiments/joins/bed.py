"""Hosts around a Linux bridge that snoops IGMP: an ordinary switch of today.

The bridge is its own querier. A leave takes effect when the last member has not answered two queries, a second apart
(RFC 3376, 8.8 and 8.9), or, with fast leave, at once. Each receiver's port has a rate and a queue.
"""

import time
from collections.abc import Sequence
from typing import Final

from experiments.lan.namespaces import FLOODS_S, Namespaces

NETWORK: Final = "10.77.0.{}"
_BRIDGE_HOST: Final = "bridge"
"""Where the bridge is; no receiver may be called so."""
_BURST_BYTES: Final = 3000
"""Of the token bucket: two frames, the least that it can serve at these rates."""


class Bed(Namespaces):
    """A sender and receivers around one bridge. BedError when the kernel has no such bridge."""

    def __init__(self, receivers: Sequence[str], rate_bps: float, queue_bytes: int, *, fast_leave: bool) -> None:
        super().__init__()
        self.sender = "sender"
        self.addresses = {name: NETWORK.format(number) for number, name in enumerate((self.sender, *receivers), 1)}
        self._shape = ("rate", f"{rate_bps:.0f}bit", "burst", str(_BURST_BYTES), "limit", str(queue_bytes))
        self._fast_leave = fast_leave

    def build(self) -> None:
        self.add(_BRIDGE_HOST)
        self.add_bridge(_BRIDGE_HOST, "br0")
        for name, address in self.addresses.items():
            self.add(name)
            self.attach(name, _BRIDGE_HOST, "br0", f"{address}/24")
            if name != self.sender:
                self.on(_BRIDGE_HOST, "tc", "qdisc", "add", "dev", name, "root", "tbf", *self._shape)
            if self._fast_leave:
                self.on(_BRIDGE_HOST, "bridge", "link", "set", "dev", name, "fastleave", "on")
        time.sleep(FLOODS_S)

"""The network: two bridges that snoop IGMP, and between them one link with a rate and a queue.

    sender, server - near === far - client, r1, r2, ...

Links have no delay: a round trip is what the queue makes of it.
"""

import time
from typing import Final

from experiments.lan.namespaces import FLOODS_S, Namespaces
from experiments.lan.scenario import LanScenario

SENDER: Final = "sender"
SERVER: Final = "server"
CLIENT: Final = "client"
"""The ends of the TCP."""
_ADDRESS: Final = "10.78.0.{}"
_BRIDGES: Final = "bridges"
_NEAR, _FAR = "near", "far"
_BURST_BYTES: Final = 3_100
"""Of the token bucket: two full frames of Ethernet (ours)."""


class Lan(Namespaces):
    """The network. BedError when the kernel has no such bridge."""

    def __init__(self, scenario: LanScenario) -> None:
        super().__init__()
        self._sides = {_NEAR: (SENDER, SERVER), _FAR: (CLIENT, *scenario.names)}
        names = [name for side in self._sides.values() for name in side]
        self.addresses = {name: _ADDRESS.format(number) for number, name in enumerate(names, 1)}
        limits = ("burst", str(_BURST_BYTES), "limit", str(scenario.queue_bytes))
        self._shape = ("rate", f"{scenario.rate_bps:.0f}bit", *limits)

    def build(self) -> None:
        self.add(_BRIDGES)
        ports = (f"to-{_FAR}", f"to-{_NEAR}")
        for bridge, hosts in self._sides.items():
            # Where both asked each would send all groups towards the other, joined or not.
            self.add_bridge(_BRIDGES, bridge, asks=bridge == _NEAR)
            for host in hosts:
                self.add(host)
                self.attach(host, _BRIDGES, bridge, f"{self.addresses[host]}/24")
        self.on(_BRIDGES, "ip", "link", "add", ports[0], "type", "veth", "peer", "name", ports[1])
        for port, bridge in zip(ports, self._sides, strict=True):
            self.on(_BRIDGES, "ip", "link", "set", port, "master", bridge, "up")
        self.on(_BRIDGES, "tc", "qdisc", "add", "dev", ports[0], "root", "tbf", *self._shape)
        time.sleep(FLOODS_S)

"""Hosts in network namespaces around a Linux bridge that snoops IGMP: an ordinary switch of today.

The bridge is its own querier. A leave takes effect when the last member has not answered two queries, a second apart
(RFC 3376, 8.8 and 8.9), or, with fast leave, at once. Each receiver's port has a rate and a queue.
"""

import subprocess
import uuid
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

NETWORK: Final = "10.77.0.{}"
_BRIDGE: Final = (
    *("mcast_snooping", "1", "mcast_querier", "1", "mcast_igmp_version", "3"),
    # For one response interval, until it knows that nobody else asks, a bridge floods. In hundredths: 1 s for 10.
    *("mcast_query_response_interval", "100"),
)
_BURST_BYTES: Final = 3000
"""Of the token bucket: two frames, the least that it can serve at these rates."""


class BedError(Exception):
    """The network cannot be built; one line for the user."""


class Bed:
    """A sender and receivers around one bridge. BedError when the kernel has no such bridge."""

    def __init__(self, receivers: Sequence[str], rate_bps: float, queue_bytes: int, *, fast_leave: bool) -> None:
        tag = uuid.uuid4().hex[:6]
        self.sender = "sender"
        self.addresses = {name: NETWORK.format(number) for number, name in enumerate((self.sender, *receivers), 1)}
        self._bridge = f"canopy-{tag}-bridge"
        self._namespaces = {name: f"canopy-{tag}-{name}" for name in self.addresses}
        self._shape = ("rate", f"{rate_bps:.0f}bit", "burst", str(_BURST_BYTES), "limit", str(queue_bytes))
        self._fast_leave = fast_leave

    def __enter__(self) -> Self:
        try:
            self._build()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def command(self, name: str, *words: str) -> list[str]:
        """A command line that runs on a host."""
        return ["ip", "netns", "exec", self._namespaces[name], *words]

    def _build(self) -> None:
        _run("ip", "netns", "add", self._bridge)
        _run("ip", "-n", self._bridge, "link", "add", "br0", "type", "bridge", *_BRIDGE)
        _run("ip", "-n", self._bridge, "link", "set", "br0", "up")
        for name, address in self.addresses.items():
            namespace = self._namespaces[name]
            _run("ip", "netns", "add", namespace)
            _run("ip", "-n", self._bridge, "link", "add", name, "type", "veth", "peer", "eth0", "netns", namespace)
            _run("ip", "-n", self._bridge, "link", "set", name, "master", "br0", "up")
            _run("ip", "-n", namespace, "address", "add", f"{address}/24", "dev", "eth0")
            _run("ip", "-n", namespace, "link", "set", "eth0", "up")
            if name != self.sender:
                _run("tc", "-n", self._bridge, "qdisc", "add", "dev", name, "root", "tbf", *self._shape)
            if self._fast_leave:
                _run("bridge", "-n", self._bridge, "link", "set", "dev", name, "fastleave", "on")

    def _remove(self) -> None:
        for namespace in (*self._namespaces.values(), self._bridge):
            subprocess.run(["ip", "netns", "delete", namespace], check=False, capture_output=True)


def _run(*command: str) -> None:
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError as error:
        raise BedError(f"{command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise BedError(f"{' '.join(command)}: {done.stderr.strip() or f'status {done.returncode}'}")

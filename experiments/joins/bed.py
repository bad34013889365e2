"""Hosts in network namespaces around a Linux bridge that snoops IGMP: an ordinary switch of today.

The bridge is its own querier. A leave takes effect when the last member has not answered two queries, a second apart
(RFC 3376, 8.8 and 8.9), or, with fast leave, at once. Each receiver's port has a rate and a queue.

The namespaces have no names. This process holds them: they end with it, however it ends.
"""

import os
import subprocess
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from topologies.emulation.kernel import new_network_namespace

NETWORK: Final = "10.77.0.{}"
_BRIDGE: Final = (
    # In hundredths of a second: 1 s for 10, at a bridge that does not ask yet (_QUERIER).
    *("mcast_snooping", "1", "mcast_igmp_version", "3", "mcast_query_response_interval", "100"),
)
_QUERIER: Final = ("mcast_querier", "1")
"""From this command on, for one response interval as it is then, a bridge floods: somebody else may be asking."""
_FLOODS_S: Final = 1.5
"""That interval and a margin (ours)."""
_BRIDGE_HOST: Final = "bridge"
"""Where the bridge is; no receiver may be called so."""
_BURST_BYTES: Final = 3000
"""Of the token bucket: two frames, the least that it can serve at these rates."""


class BedError(Exception):
    """The network cannot be built; one line for the user."""


class Bed:
    """A sender and receivers around one bridge. BedError when the kernel has no such bridge."""

    def __init__(self, receivers: Sequence[str], rate_bps: float, queue_bytes: int, *, fast_leave: bool) -> None:
        self.sender = "sender"
        self.addresses = {name: NETWORK.format(number) for number, name in enumerate((self.sender, *receivers), 1)}
        self._namespaces: dict[str, int] = {}
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
        return ["nsenter", f"--net={self._path(name)}", "--", *words]

    def _build(self) -> None:
        for name in (_BRIDGE_HOST, *self.addresses):
            self._namespaces[name] = _namespace()
        self._on(_BRIDGE_HOST, "ip", "link", "add", "br0", "type", "bridge", *_BRIDGE)
        self._on(_BRIDGE_HOST, "ip", "link", "set", "br0", "up")
        self._on(_BRIDGE_HOST, "ip", "link", "set", "br0", "type", "bridge", *_QUERIER)
        for name, address in self.addresses.items():
            peer = ("peer", "name", "eth0", "netns", self._path(name))
            self._on(_BRIDGE_HOST, "ip", "link", "add", name, "type", "veth", *peer)
            self._on(_BRIDGE_HOST, "ip", "link", "set", name, "master", "br0", "up")
            self._on(name, "ip", "address", "add", f"{address}/24", "dev", "eth0")
            self._on(name, "ip", "link", "set", "eth0", "up")
            if name != self.sender:
                self._on(_BRIDGE_HOST, "tc", "qdisc", "add", "dev", name, "root", "tbf", *self._shape)
            if self._fast_leave:
                self._on(_BRIDGE_HOST, "bridge", "link", "set", "dev", name, "fastleave", "on")
        time.sleep(_FLOODS_S)

    def _on(self, name: str, *words: str) -> None:
        _run(*self.command(name, *words))

    def _path(self, name: str) -> str:
        return f"/proc/{os.getpid()}/fd/{self._namespaces[name]}"

    def _remove(self) -> None:
        for descriptor in self._namespaces.values():
            os.close(descriptor)
        self._namespaces.clear()


def _namespace() -> int:
    try:
        return new_network_namespace()
    except OSError as error:
        raise BedError(f"this machine gives no network namespace ({error.strerror})") from None


def _run(*command: str) -> None:
    words = " ".join(command[command.index("--") + 1 :])
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError as error:
        raise BedError(f"{command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise BedError(f"{words}: {done.stderr.strip() or f'status {done.returncode}'}")

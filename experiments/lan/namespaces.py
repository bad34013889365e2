"""Network namespaces without names, veths between them, and bridges that snoop IGMP within them.

This process holds the namespaces: they end with it, however it ends.
"""

import os
import subprocess
from types import TracebackType
from typing import Final, Self

from topologies.emulation.kernel import new_network_namespace

_BRIDGE: Final = (
    # In hundredths of a second: 1 s for 10, at a bridge that does not ask yet (_QUERIER).
    *("mcast_snooping", "1", "mcast_igmp_version", "3", "mcast_query_response_interval", "100"),
)
_QUERIER: Final = ("mcast_querier", "1")
"""From this command on, for one response interval as it is then, a bridge floods: somebody else may be asking."""
FLOODS_S: Final = 1.5
"""That interval and a margin (ours)."""


class BedError(Exception):
    """The network cannot be built; one line for the user."""


class Namespaces:
    """What `build` puts up is there within the context. BedError when it cannot be."""

    def __init__(self) -> None:
        self._descriptors: dict[str, int] = {}

    def __enter__(self) -> Self:
        try:
            self.build()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def build(self) -> None:
        """Put up what there is to be."""
        raise NotImplementedError

    def command(self, name: str, *words: str) -> list[str]:
        """A command line that runs in a namespace."""
        return ["nsenter", f"--net={self.path(name)}", "--", *words]

    def add(self, name: str) -> None:
        """A new namespace."""
        try:
            self._descriptors[name] = new_network_namespace()
        except OSError as error:
            raise BedError(f"this machine gives no network namespace ({error.strerror})") from None

    def on(self, name: str, *words: str) -> None:
        """Run a command in a namespace. BedError when it fails."""
        _run(*self.command(name, *words))

    def add_bridge(self, place: str, bridge: str, *, asks: bool = True) -> None:
        """A bridge that snoops. One that asks floods for FLOODS_S; and all groups go towards it from bridges that do
        not."""
        self.on(place, "ip", "link", "add", bridge, "type", "bridge", *_BRIDGE)
        self.on(place, "ip", "link", "set", bridge, "up")
        if asks:
            self.on(place, "ip", "link", "set", bridge, "type", "bridge", *_QUERIER)

    def attach(self, name: str, place: str, bridge: str, address: str) -> None:
        """Connect a host's `eth0`, with its address, to a port of a bridge that has the host's name."""
        self.connect(name, "eth0", place, name)
        self.on(place, "ip", "link", "set", name, "master", bridge, "up")
        self.on(name, "ip", "address", "add", address, "dev", "eth0")
        self.on(name, "ip", "link", "set", "eth0", "up")

    def connect(self, name: str, interface: str, place: str, port: str) -> None:
        """A veth between two namespaces; its ends are not up yet."""
        peer = ("peer", "name", interface, "netns", self.path(name))
        self.on(place, "ip", "link", "add", port, "type", "veth", *peer)

    def path(self, name: str) -> str:
        """A file that stands for a namespace while this process lives."""
        return f"/proc/{os.getpid()}/fd/{self._descriptors[name]}"

    def _remove(self) -> None:
        for descriptor in self._descriptors.values():
            os.close(descriptor)
        self._descriptors.clear()


def _run(*command: str) -> None:
    words = " ".join(command[command.index("--") + 1 :])
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError as error:
        raise BedError(f"{command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        raise BedError(f"{words}: {done.stderr.strip() or f'status {done.returncode}'}")

"""The network of the comparison: one bottleneck, the sender and a TCP on its one side, receivers on the other."""

from collections.abc import Mapping
from typing import Any, Final

from experiments.harness.row import Document

BOTTLENECK_BPS: Final = 10e6
QUEUE_BYTES: Final = 50_000
RECEIVERS: Final = 8
SENDER: Final = "sender"
TCP_SOURCE: Final = "server"
TCP_SINK: Final = "client"
NEAR, FAR = "s1", "s2"
"""The switches on both sides."""
_FAST: Final[Mapping[str, Any]] = {"rate": "100 Mbps", "delay": "1 ms"}
_CORE_DELAY_MS: Final = 5
"""A round trip time of 14 ms without queues."""
_LIMIT_S: Final = 600
"""A scenario needs a duration; a held network lasts until it is told to end."""


def receiver(number: int) -> str:
    """The name of receiver 1, 2, ..."""
    return f"r{number}"


def document(congestion_control: str | None) -> Document:
    """The scenario, without sessions; with a TCP that always has data where a congestion control is given."""
    receivers = [receiver(number) for number in range(1, RECEIVERS + 1)]
    hosts = [SENDER, TCP_SOURCE, TCP_SINK, *receivers]
    core = {
        "between": [NEAR, FAR],
        "rate": f"{BOTTLENECK_BPS / 1e6:g} Mbps",
        "delay": f"{_CORE_DELAY_MS} ms",
        "queue": {"kind": "droptail", "bytes": f"{QUEUE_BYTES} B"},
    }
    links = [core, *({"between": [host, NEAR], **_FAST} for host in (SENDER, TCP_SOURCE))]
    links += [{"between": [FAR, host], **_FAST} for host in (TCP_SINK, *receivers)]
    flow = {"kind": "tcp", "source": TCP_SOURCE, "destination": TCP_SINK, "congestion_control": congestion_control}
    return {
        "name": "peers",
        "duration": f"{_LIMIT_S} s",
        "nodes": {NEAR: {"kind": "p4"}, FAR: {"kind": "p4"}, **{host: {"kind": "host"} for host in hosts}},
        "links": links,
        "traffic": [] if congestion_control is None else [flow],
    }

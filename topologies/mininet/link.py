"""A link that the CanopySwitch at its end emulates: no traffic control, so any kernel will do."""

from collections.abc import Mapping
from typing import Any

from mininet.link import Link
from pydantic import TypeAdapter

from topologies.scenario.network import DEFAULT_QUEUE, AnyQueue, DirectedLink, DropTail, Queue
from topologies.scenario.quantity import parse_duration

HOW = frozenset({"use_htb", "use_hfsc", "use_tbf"})
"""TCLink's parameters that say how and not what."""
NOT_EMULATED = frozenset({"jitter", "enable_ecn", "enable_red", "speedup", "latency_ms", "gro", "txo", "rxo"})
"""TCLink's parameters that mean nothing here; to pass over them would be to emulate another link than was asked for."""

_QUEUE: TypeAdapter[AnyQueue] = TypeAdapter(Queue)


class CanopyLink(Link):  # type: ignore[misc]
    """A drop-in for Mininet's TCLink, with its names and units. At least one of its ends is a CanopySwitch."""

    def __init__(
        self,
        node1: Any,
        node2: Any,
        *,
        bw: float | None = None,
        delay: str | None = None,
        loss: float = 0.0,
        max_queue_size: int | None = None,
        queue: Mapping[str, Any] | None = None,
        **params: Any,
    ) -> None:
        """`bw`: Mbit/s of Ethernet frames; `delay`: one way, with its unit ("5ms"); `loss`: percent of the frames;
        `max_queue_size`: packets (64). `queue` is a scenario's instead, as {"kind": "codel"} (docs/scenario.md).

        All hold for each direction on its own. ValueError and TypeError say what is wrong."""
        if wrong := sorted(NOT_EMULATED & params.keys()):
            raise TypeError(
                f"CanopyLink does not emulate {', '.join(wrong)} (but bw, delay, loss, max_queue_size, queue)"
            )
        if queue is not None and max_queue_size is not None:
            raise TypeError("CanopyLink takes either max_queue_size or queue")
        if bw is not None and not bw > 0:
            raise ValueError(f"bw: {bw} is not above zero")
        if not 0 <= loss <= 100:
            raise ValueError(f"loss: {loss} is no percentage")
        self.rate_bps = None if bw is None else bw * 1e6
        self.delay_s = 0.0 if delay is None else parse_duration(delay)
        self.loss = loss / 100
        if queue is not None:
            self.queue = _QUEUE.validate_python(dict(queue))
        else:
            self.queue = DEFAULT_QUEUE if max_queue_size is None else DropTail(packets=max_queue_size)
        super().__init__(node1, node2, **{name: value for name, value in params.items() if name not in HOW})

    def direction(self, source: str, destination: str) -> DirectedLink:
        """One direction, as a scenario would have it."""
        return DirectedLink(
            source=source,
            destination=destination,
            rate_bps=self.rate_bps,
            delay_s=self.delay_s,
            queue=self.queue,
            loss=self.loss,
        )

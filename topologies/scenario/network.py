"""The network part of a scenario: nodes, links and their queues."""

from ipaddress import IPv4Address
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from topologies.scenario.quantity import Duration, Fraction, Rate, Size

NodeName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=10)]
"""A lower-case word. Linux allows 15 bytes for the names of interfaces, which add `-eth0` to it."""

Port = Annotated[int, Field(ge=1, le=511)]
"""A switch port; BMv2 keeps 511 for itself unless told otherwise."""


class Strict(BaseModel):
    """A part of a scenario: unknown fields are mistakes, and what was read does not change."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


Packets = Annotated[int, Field(ge=1, le=2**32 - 1)]
"""A queue's limit."""


class P4Switch(Strict):
    """A switch that runs the P4 program."""

    kind: Literal["p4"]


class Router(Strict):
    """A plain multicast router with any number of ports, which only a simulation has. It needs no controller."""

    kind: Literal["router"]


class HostClock(Strict):
    """How a simulated host's clock differs from the network's. (An emulated host has the machine's.)"""

    offset: Duration = 0.0
    """How far it is ahead at the start."""
    drift_ppm: Annotated[float, Field(ge=-1000, le=1000)] = 0.0
    """How much faster it goes, in millionths. Crystals are within 100."""


class ProcessingTime(Strict):
    """What a simulated host needs for each packet, drawn uniformly between two bounds, one packet after another.

    Up to the bottleneck's time for a packet, at the senders, it breaks DropTail's phase effects (Floyd and Jacobson
    1992)."""

    least: Duration = 0.0
    most: Duration


class FeedbackTime(Strict):
    """What a simulated host's processor needs for each feedback packet, one after another. Other packets pass it by."""

    time: Duration
    queue: Packets = 1000
    """Packets that wait, the one being handled included; what finds no room is lost. 1000 is about what an endpoint's
    receive buffer of 1 MiB has room for."""


class Host(Strict):
    """An end system, attached to a switch or router by its one link."""

    kind: Literal["host"]
    address: IPv4Address | None = None
    """In 10.0.0.0/8; by default 10.0.0.1 and on, in the file's order."""
    clock: HostClock = HostClock()
    sending: ProcessingTime | None = None
    """Only in a simulation, as `receiving` and `clock`; an emulated host takes what the machine gives."""
    receiving: ProcessingTime | None = None
    feedback: FeedbackTime | None = None
    """Likewise; None: no time at all."""
    leave_latency: Duration = 0.0
    """How late it takes effect when a program of it leaves a group; likewise. A program that joins it again before is a
    member as it was."""


Node: TypeAlias = Annotated[P4Switch | Router | Host, Field(discriminator="kind")]


class DropTail(Strict):
    """A FIFO that drops what does not fit. Its limit is in packets or in bytes."""

    kind: Literal["droptail"] = "droptail"
    packets: Packets | None = None
    bytes: Size | None = None


class Red(Strict):
    """Random early detection (Floyd and Jacobson 1993). Thresholds are in packets, or in bytes if the limit is."""

    kind: Literal["red"]
    packets: Packets | None = None
    bytes: Size | None = None
    min_threshold: Annotated[float, Field(gt=0)]
    max_threshold: Annotated[float, Field(gt=0)]
    weight: Annotated[float, Field(gt=0, le=1)] = 0.002
    """w_q of the averaging filter; 0.002 is the paper's."""
    max_probability: Annotated[float, Field(gt=0, le=1)] = 0.1
    gentle: bool = True
    """Between max_threshold and twice that the probability rises to 1 (Floyd 2000) instead of jumping there."""
    wait: bool = True
    """Drops keep a distance: none before 1/p packets have passed since the last one."""
    ecn: bool = False
    """Mark packets that can be marked, instead of dropping them early."""
    mean_packet: Annotated[Size, Field(le=2**32 - 1)] = 500
    """Bytes of a typical packet; 500 is ns-2's."""


Queue: TypeAlias = Annotated[DropTail | Red, Field(discriminator="kind")]

DEFAULT_QUEUE = DropTail(packets=64)
"""As BMv2's egress queues."""


class GilbertElliott(Strict):
    """Bursts of loss: two states, each with a loss probability; before each packet the state may change."""

    kind: Literal["gilbert-elliott"]
    good_to_bad: Fraction
    bad_to_good: Fraction
    good: Fraction = 0.0
    """Probability that a packet is lost in the good state."""
    bad: Fraction = 1.0


def _loss_kind(value: Any) -> str:
    return "bursts" if isinstance(value, dict | GilbertElliott) else "independent"


Loss: TypeAlias = Annotated[
    Annotated[Fraction, Tag("independent")] | Annotated[GilbertElliott, Tag("bursts")], Discriminator(_loss_kind)
]
"""Probability that a frame is lost after the queue, independent of others; or bursts."""


class Direction(Strict):
    """What one direction of a link has otherwise than the link itself."""

    rate: Rate | None = None
    delay: Duration | None = None
    queue: Queue | None = None
    loss: Loss | None = None


class Link(Strict):
    """A point-to-point link. Its rate, delay, queue and loss hold for each direction on its own."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=40)] | None = None
    """For those who speak of it: `canopy sweep --set links.core.loss=...`."""
    between: tuple[NodeName, NodeName]
    ports: dict[NodeName, Port] = {}
    """Switch -> port; by default a switch's lowest free ports from 1, in the file's order."""
    rate: Rate | None = None
    """Bit/s of Ethernet frames without preamble; None: as fast as the machine goes."""
    delay: Duration = 0.0
    """Propagation delay, one way, seconds."""
    queue: Queue = DEFAULT_QUEUE
    loss: Loss = 0.0
    toward: dict[NodeName, Direction] = {}
    """End -> what the direction towards that end has otherwise."""

    def direction(self, to: str) -> "DirectedLink":
        """The direction whose far end is `to`."""
        override = self.toward.get(to, Direction())
        return DirectedLink(
            source=self.between[1] if to == self.between[0] else self.between[0],
            destination=to,
            rate_bps=self.rate if override.rate is None else override.rate,
            delay_s=self.delay if override.delay is None else override.delay,
            queue=self.queue if override.queue is None else override.queue,
            loss=self.loss if override.loss is None else override.loss,
        )


class DirectedLink(BaseModel):
    """One direction of a link, with nothing left open."""

    model_config = ConfigDict(frozen=True)

    source: str
    destination: str
    rate_bps: float | None
    delay_s: float
    queue: DropTail | Red
    loss: float | GilbertElliott

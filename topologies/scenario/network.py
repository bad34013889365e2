"""The network part of a scenario: nodes, links and their queues."""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from topologies.scenario.quantity import Duration, Fraction, Rate, Size

HOST_NETWORK = IPv4Network("10.0.0.0/8")
"""Where hosts live; every switch routes it and answers ARP for it."""

NODE_NAME = r"^[a-z][a-z0-9_]*$"
NodeName = Annotated[str, Field(pattern=NODE_NAME, max_length=10)]
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
    assist: bool = True
    """Whether it helps sessions that want it; else it forwards as a plain router would."""


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


class SealingTime(Strict):
    """What the processor of a simulated host in a sealed session needs for each packet beside its `sending` and
    `receiving`: docs/security.md has what real ones need."""

    seal: Duration
    """Of a packet that it sends."""
    open: Duration
    """Of one that it receives."""


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


AQM_LIMIT_PACKETS = 10240
"""Of queues that manage themselves: RFC 8290, section 5.2.1."""

PositiveTime = Annotated[Duration, Field(gt=0, le=1000)]
"""Of an AQM; the bound is ours."""
UpdateInterval = Annotated[Duration, Field(ge=1e-4, le=1000)]
"""Of a PI controller; more than ten thousand updates a second no run gets through (ours)."""
Alpha = Annotated[float, Field(ge=1e-6, le=1e6)]
Beta = Annotated[float, Field(ge=0, le=1e6)]


class _Aqm(Strict):
    """A queue that keeps its own delay short. Its limit is for what no AQM can hold up."""

    packets: Packets | None = None
    """10,240 where neither limit is given."""
    bytes: Size | None = None

    @model_validator(mode="before")
    @classmethod
    def _limit(cls, data: Any) -> Any:
        if isinstance(data, dict) and not data.keys() & {"packets", "bytes"}:
            return {**data, "packets": AQM_LIMIT_PACKETS}
        return data


class Codel(_Aqm):
    """CoDel (RFC 8289)."""

    kind: Literal["codel"]
    target: PositiveTime = 0.005
    """The standing delay that is tolerated."""
    interval: PositiveTime = 0.1
    """How long it must have lasted before packets are dropped: about the longest round trip time."""
    ecn: bool = True
    """Mark packets that can be marked, instead of dropping them (RFC 7567, section 4.2.1)."""


class FqCodel(_Aqm):
    """FQ-CoDel (RFC 8290): each flow has its own queue with CoDel, and its turn."""

    kind: Literal["fq_codel"]
    target: PositiveTime = 0.005
    interval: PositiveTime = 0.1
    flows: Annotated[int, Field(ge=1, le=65536)] = 1024
    """Queues that flows are hashed to."""
    quantum: Annotated[Size, Field(ge=64, le=2**32 - 1)] = 1514
    """Bytes that a queue may send in its turn."""
    ecn: bool = True


class Pie(_Aqm):
    """PIE (RFC 8033)."""

    kind: Literal["pie"]
    target: PositiveTime = 0.015
    """QDELAY_REF."""
    update: UpdateInterval = 0.015
    """T_UPDATE."""
    alpha: Alpha = 0.125
    """Per second of delay above the target."""
    beta: Beta = 1.25
    """Per second by which the delay has grown."""
    max_burst: Annotated[Duration, Field(le=1000)] = 0.15
    """A burst that passes after a quiet time."""
    ecn: bool = True
    """Mark packets that can be marked while the probability is at most 10 %."""


class DualPi2(_Aqm):
    """DualPI2 (RFC 9332): ECT(1) and CE have a queue of their own; it marks, whatever else the other one does."""

    kind: Literal["dualpi2"]
    target: PositiveTime = 0.015
    """Of the classic queue."""
    update: UpdateInterval = 0.016
    alpha: Alpha = 0.16
    beta: Beta = 3.2
    coupling: Annotated[float, Field(ge=1, le=100)] = 2.0
    """k: marks of L4S have k times the base probability, classic ones and drops its square."""
    step: PositiveTime = 0.0008
    """The delay in the L queue from which on its own packets are marked, whatever the coupling says,"""
    ramp: Annotated[Duration, Field(le=1000)] = 0.0004
    """and how much longer it is when all of them are: from 0 to 1 in between."""


QUEUE_NAMES = {
    "droptail": "DropTail",
    "red": "RED",
    "codel": "CoDel",
    "fq_codel": "FQ-CoDel",
    "pie": "PIE",
    "dualpi2": "DualPI2",
}
"""Kind -> what people call it."""

AnyQueue: TypeAlias = DropTail | Red | Codel | FqCodel | Pie | DualPi2
Queue: TypeAlias = Annotated[AnyQueue, Field(discriminator="kind")]

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


class Reorder(Strict):
    """Some frames take longer than the link's delay, and are overtaken."""

    probability: Fraction
    """Of each frame, independent of others."""
    delay: Duration
    """How much longer they take."""


Mtu = Annotated[Size, Field(ge=68, le=65535)]
"""Octets of an IP packet: what every link carries (RFC 791), and the longest that there is."""


class Direction(Strict):
    """What one direction of a link has otherwise than the link itself."""

    rate: Rate | None = None
    delay: Duration | None = None
    queue: Queue | None = None
    loss: Loss | None = None
    reorder: Reorder | None = None
    duplicate: Fraction | None = None
    mtu: Mtu | None = None


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
    reorder: Reorder | None = None
    duplicate: Fraction = 0.0
    """Probability that a frame arrives twice, independent of others."""
    mtu: Mtu | None = None
    """Longer IP packets are dropped; None: whatever comes passes."""
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
            reorder=self.reorder if override.reorder is None else override.reorder,
            duplicate=self.duplicate if override.duplicate is None else override.duplicate,
            mtu=self.mtu if override.mtu is None else override.mtu,
        )


class DirectedLink(BaseModel):
    """One direction of a link, with nothing left open."""

    model_config = ConfigDict(frozen=True)

    source: str
    destination: str
    rate_bps: float | None
    delay_s: float
    queue: AnyQueue
    loss: float | GilbertElliott
    reorder: Reorder | None = None
    duplicate: float = 0.0
    mtu: int | None = None


def connected_parts(links: Iterable[tuple[str, str]]) -> list[set[str]]:
    """The parts of a network between which there is no link, in the order of their first links. (networkx has it too,
    and takes 0.14 s of each run's start.)"""
    neighbours: dict[str, list[str]] = {}
    for one, other in links:
        neighbours.setdefault(one, []).append(other)
        neighbours.setdefault(other, []).append(one)
    parts = []
    seen: set[str] = set()
    for node in neighbours:
        if node not in seen:
            part, waiting = {node}, [node]
            while waiting:
                found = {*neighbours[waiting.pop()]} - part
                part |= found
                waiting.extend(found)
            parts.append(part)
            seen |= part
    return parts

"""What happens on a scenario's network beside its sessions: cross traffic and faults.

Times are seconds from the moment when the network is ready.
"""

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from topologies.scenario.network import NodeName, Strict
from topologies.scenario.quantity import Duration, Rate, Size

ParetoShape = Annotated[float, Field(ge=1.01)]
"""At 1 the mean is infinite; just above it what is drawn for any mean is nearly always nothing (the bound is ours)."""


class _Flow(Strict):
    source: NodeName
    destination: NodeName
    start: Duration = 0.0
    stop: Duration | None = None
    """None: with the scenario."""


class SimulatedTcp(Strict):
    """The TCP of a simulation. The defaults are Linux's."""

    packet: Size = 1514
    """Bytes of a full packet on an Ethernet link."""
    size: Size | None = None
    """Bytes of payload; None: without end."""
    initial_window: Annotated[float, Field(ge=1, le=2**16)] = 10
    """Packets; 10 is RFC 6928's."""
    window_limit: Annotated[int, Field(ge=1, le=2**32 - 1)] | None = None
    """Packets that may be outstanding, whatever the congestion window says."""
    minimum_timeout: Duration = 0.2
    """Linux's TCP_RTO_MIN."""
    limited_transmit: bool | None = None
    """RFC 3042; of the classic TCP only, and true by default. ns-2 had it from 2002 on."""
    delayed_ack: Duration = 0.04
    """How long an acknowledgment waits for a second packet, Linux's TCP_DELACK_MIN; 0 s acknowledges each packet."""
    ecn: Literal["off", "classic", "accurate", "scalable"] | None = None
    """Of the modern TCP only: RFC 3168's echo, or AccECN's counts with ECT(0) or ECT(1). None: counts for dctcp and
    prague, off for others."""


CongestionControl = Annotated[str, Field(pattern=r"^[a-z0-9_-]+$")]
"""What a sender of TCP does about loss and delay, by its name."""


class TcpFlow(_Flow):
    """A bulk transfer by the kernel's TCP; in a simulation, by a model of it."""

    kind: Literal["tcp"]
    congestion_control: CongestionControl = "cubic"
    """A name of net.ipv4.tcp_available_congestion_control, or one that only a simulation has."""
    pacing: bool = False
    """Packets leave at a rate, as with Linux's fq queueing discipline. BBR paces in any case, the classic TCP never."""
    simulated: SimulatedTcp = SimulatedTcp()
    """What the model is told beyond that. An emulation takes no notice of it."""


class UdpFlow(_Flow):
    """UDP at a constant rate, or as queueing theory has it."""

    kind: Literal["udp"]
    rate: Rate
    """Bit/s of UDP payload; with random gaps or sizes, on average."""
    packet: Size = 1000
    """UDP payload, bytes; with random sizes, on average."""
    gaps: Literal["constant", "exponential"] = "constant"
    """Between the beginnings of packets. Exponential ones (a Poisson stream) are only simulated."""
    sizes: Literal["constant", "exponential"] = "constant"
    """Of packets. Exponential ones are only simulated; they end where a packet has no room for more."""


class OnOffFlow(_Flow):
    """UDP that sends at `rate` while it is on. Times are drawn from the scenario's seed."""

    kind: Literal["on-off"]
    rate: Rate
    packet: Size = 1000
    on: Duration
    """Mean time on, seconds."""
    off: Duration
    """Mean time off, seconds."""
    distribution: Literal["constant", "exponential", "pareto"] = "exponential"
    shape: ParetoShape = 1.5
    """Of the Pareto distribution; 1.5 is ns-2's."""


class WebFlow(_Flow):
    """Short TCP transfers that begin at random, as requests of the web do. Only a simulation has it."""

    kind: Literal["web"]
    gap: Duration
    """Mean time between the beginnings of two transfers; exponential."""
    size: Size
    """Mean size of a transfer, bytes; Pareto distributed."""
    shape: ParetoShape = 1.2
    """Of the Pareto distribution (Crovella and Bestavros 1997 measured 1.0 to 1.3)."""
    congestion_control: CongestionControl = "cubic"
    simulated: SimulatedTcp = SimulatedTcp()


Flow: TypeAlias = Annotated[TcpFlow | UdpFlow | OnOffFlow | WebFlow, Field(discriminator="kind")]


class LinkDown(Strict):
    """A link loses its carrier."""

    kind: Literal["link-down"]
    at: Duration
    link: tuple[NodeName, NodeName]
    duration: Duration | None = None
    """None: it stays down."""


class LinkDelay(Strict):
    """A link becomes longer or shorter, in both directions. What is under way arrives as it would have."""

    kind: Literal["link-delay"]
    at: Duration
    link: tuple[NodeName, NodeName]
    delay: Duration


class LinkRate(Strict):
    """A link becomes faster or slower, in both directions."""

    kind: Literal["link-rate"]
    at: Duration
    link: tuple[NodeName, NodeName]
    rate: Rate


class SwitchRestart(Strict):
    """A switch process is killed (kill -9) and started anew, without any of its state."""

    kind: Literal["switch-restart"]
    at: Duration
    switch: NodeName
    outage: Duration = 0.0
    """How long it stays away before it is started again."""


class ReceiverDies(Strict):
    """A receiver's agent is killed (kill -9): it sends no leave and no farewell."""

    kind: Literal["receiver-dies"]
    at: Duration
    session: int
    host: NodeName


class ControllerRestart(Strict):
    """The controller is killed (kill -9) and started anew."""

    kind: Literal["controller-restart"]
    at: Duration
    outage: Duration = 0.0


Forgery: TypeAlias = Literal[
    "data",
    "end",
    "far",
    "description",
    "outsider",
    "abort",
    "abort-one",
    "leave",
    "announcement",
    "join",
    "claim",
    "slow",
    "agent",
    "reports",
    "replay",
    "garbage",
]
"""What a stranger sends: data with wrong bytes, the same as the stream's end or far ahead, a description of files with
absurd blocks, wrong data and an abort from its own address, an abort to all or to one receiver, a receiver's farewell,
the announcement of another session, that as many join as there are receivers, that one joins and has received
something, that one joins and gets next to nothing; a receiver of its own that serves others and passes nothing on;
feedback of its own, packets that it heard, garbage."""


class Attack(Strict):
    """A stranger who has no keys sends into a session from any address. In a simulation it hears everything, and what
    it sends reaches whom it is for at once; in an emulation it is a host of the network."""

    kind: Literal["attack"]
    at: Duration
    session: int
    forgery: Forgery
    spoofed: bool = True
    """Else it sends from its own address only, which is all that P4 switches let through. Only in a simulation: in an
    emulation the switches themselves see to it."""
    host: NodeName | None = None
    """Where it is in an emulation, which needs one, and in a simulation where it is to be a receiver (`agent`)."""

    @model_validator(mode="after")
    def _takes_part_somewhere(self) -> Self:
        if self.forgery == "agent" and self.host is None:
            raise ValueError("who takes part does so on a host")
        return self


Fault: TypeAlias = Annotated[
    LinkDown | LinkDelay | LinkRate | SwitchRestart | ReceiverDies | ControllerRestart | Attack,
    Field(discriminator="kind"),
]

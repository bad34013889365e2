"""The sessions of a scenario: who sends what to whom, in which logical tree, and with what help."""

from collections.abc import Callable
from functools import cached_property
from ipaddress import IPv4Address
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BeforeValidator, Discriminator, Field, Tag

from hosts import protocols
from hosts.endpoint import Address
from topologies.scenario.network import NodeName, Strict
from topologies.scenario.quantity import Duration, Rate, Size

UdpPort = Annotated[int, Field(ge=1, le=65535)]

DEFAULT_FAN_OUT = 16
"""Children of one parent, unless a session says otherwise: as many as the MTCP paper found harmless (4.1.1)."""


Parameters: TypeAlias = dict[str, bool | int | float | str]


class Receiver(Strict):
    """One receiver of a session; its bare name will do."""

    host: NodeName
    join: Duration = 0.0
    leave: Duration | None = None
    """None: when it has everything."""
    agent: bool = False
    """It may have children in the session's logical tree. One that has children in a given tree is an agent anyway."""
    read_rate: Rate | None = None
    """How fast its application reads, bit/s; None: at once. What it has not read yet takes its receive buffer."""


def _named_receiver(value: Any) -> Any:
    return {"host": value} if isinstance(value, str) else value


class SlowReceivers(Strict):
    """What becomes of a receiver that holds up the others: they wait for it, but not longer than this."""

    drop_after: Duration | None = None
    """A receiver that is silent, or makes no progress, for so long is left behind, and the session says so. None: the
    protocol's own default."""
    least_rate: Rate | None = None
    """A receiver that keeps the session below this rate is sent away; None: it is waited for."""

    @property
    def parameters(self) -> Parameters:
        """The protocol's options that it stands for."""
        told = {"drop_after_s": self.drop_after, "least_rate_bps": self.least_rate}
        return {name: value for name, value in told.items() if value is not None}


def _tree_kind(value: Any) -> str:
    return "given" if isinstance(value, dict) else "word"


Tree: TypeAlias = Annotated[
    Annotated[Literal["one-level", "automatic"], Tag("word")] | Annotated[dict[NodeName, list[NodeName]], Tag("given")],
    Discriminator(_tree_kind),
]
"""The logical tree: `one-level` makes every receiver a child of the sender; in an `automatic` one each finds the
nearest parent that has room; otherwise parent -> its children, by hosts' names, to any depth."""


class Session(Strict):
    """One sender's data, delivered to many receivers."""

    id: Annotated[int, Field(ge=0, le=2**32 - 1)]
    protocol: str
    sender: NodeName
    group: IPv4Address
    membership: Literal["source-specific", "any-source"] = "source-specific"
    port: UdpPort
    announced: bool = True
    """Whether the controller knows its groups beforehand; else it learns of each from the first join, which waits."""
    start: Duration = 0.0
    file: str | None = None
    """A path, relative to the scenario's folder."""
    size: Size | None = None
    """Instead of a file: so many bytes that are made from the scenario's seed."""
    realtime: bool = False
    """Instead of a file: real-time data without end, as much as may be sent; what is lost is not repeated."""
    endless: bool = False
    """Instead of a file: a stream without end, as much as may be sent, of which every receiver gets all from the moment
    on at which it joins."""
    receivers: Annotated[list[Annotated[Receiver, BeforeValidator(_named_receiver)]], Field(min_length=1)]
    tree: Tree = "one-level"
    fan_out: Annotated[int, Field(ge=1, le=65535)] | None = None
    """Children of one parent at most; None: 16 in a tree, and no limit in one level."""
    assist: Literal["none", "switch"] = "none"
    """`switch`: P4 switches summarise the receivers' feedback on its way."""
    security: Literal["none", "group", "signed"] = "none"
    """`group`: all packets are sealed with a key that the session's members have; `signed`: what the sender sends is
    signed as well (docs/security.md)."""
    slow_receivers: SlowReceivers | None = None
    """None: the protocol's own default."""
    parameters: Parameters = Field(default={})
    """The protocol's own options, by the names in its options class."""

    @property
    def group_count(self) -> int:
        """How many groups it uses, one after the other: WEBRC's channels are a group each."""
        return protocols.get(self.protocol).group_count(self.parameters)

    @property
    def has_file(self) -> bool:
        """Whether what it sends has an end, and is right or wrong as a whole."""
        return not self.realtime and not self.endless

    @property
    def may_be_helped(self) -> bool:
        """Whether its protocol has help of switches."""
        return "assist" in protocols.get(self.protocol).option_names

    @property
    def is_helped(self) -> bool:
        """Whether switches summarise its feedback."""
        return "switch" in (self.assist, self.parameters.get("assist"))

    @cached_property
    def parents(self) -> dict[str, str]:
        """Receiver -> its parent, of those whose parent is given."""
        if isinstance(self.tree, dict):
            return {child: parent for parent, children in self.tree.items() for child in children}
        if self.tree == "one-level":
            return {receiver.host: self.sender for receiver in self.receivers}
        return {}

    @cached_property
    def agents(self) -> frozenset[str]:
        """The receivers that may have children."""
        asked = {receiver.host for receiver in self.receivers if receiver.agent}
        return frozenset((asked | set(self.parents.values())) - {self.sender})

    def member_parameters(self, host: str, address: Callable[[str], Address]) -> Parameters:
        """What the sender's or a receiver's endpoint is told; `address` gives that of another member.

        What the scenario's `parameters` say themselves comes first."""
        told = self._policy()
        if self.assist != "none":
            told["assist"] = self.assist
        options = protocols.get(self.protocol).option_names
        if self.endless and "from_start" in options:  # who comes late gets what is there: of the whole nobody has use
            told["from_start"] = False
        if "parent" in options:
            told |= self._place(host, address)
        return {**told, **self.parameters}

    @property
    def drop_after_s(self) -> float | None:
        """After how many seconds a slow receiver is left behind; None where the protocol has no such policy."""
        protocol = protocols.get(self.protocol)
        if "drop_after_s" not in protocol.option_names:
            return None
        return float(protocol.parse_options({**self._policy(), **self.parameters}).drop_after_s)

    def _policy(self) -> Parameters:
        return {} if self.slow_receivers is None else self.slow_receivers.parameters

    def _place(self, host: str, address: Callable[[str], Address]) -> Parameters:
        """A member's place in the logical tree."""
        if self.tree == "one-level":
            place: Parameters = {"fan_out": self.fan_out or max(DEFAULT_FAN_OUT, len(self.receivers))}
        else:
            place = {"fan_out": self.fan_out or DEFAULT_FAN_OUT}
        if host == self.sender:
            return place
        parent = self.parents.get(host)
        if parent is not None:
            place["parent"] = "sender" if parent == self.sender else str(address(parent))
        if self.tree == "one-level":
            place["spare"] = False
        if host in self.agents:
            place["agent"] = True
        return place

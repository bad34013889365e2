"""MTCP's parameters. Where the paper gives a value it is the default; the rest says where it comes from."""

from dataclasses import dataclass
from ipaddress import IPv4Address

from hosts.endpoint import Address
from hosts.parts.bounds import LEAST_PERIOD_S, check_times
from hosts.parts.vegas import VegasOptions
from hosts.protocols.mtcp.packets import DEFAULT_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES


@dataclass(frozen=True, slots=True)
class MtcpOptions:
    """One session's parameters; sender and receivers may differ in them."""

    payload_bytes: int = DEFAULT_PAYLOAD_BYTES
    ack_delay_s: float = 0.02  # 3.1: "a few tens of milliseconds"
    # Packets that end the delay early; the paper is silent. TCP's two (RFC 1122, 4.2.3.2) from each of 16 receivers
    # fill the way back of a symmetric link; more than four let bursts grow beyond short queues (ours).
    ack_every: int = 4
    # How long a leaf's datagrams, and the acknowledgments to a sender with many children, wait to be read together:
    # less work for the processor, and longer bursts (ours).
    patience_s: float = 0.0
    buffer_bytes: int = 1 << 20  # receive buffer, and the sender's of data not yet sent (ours)
    probe_interval_s: float = 2.0  # 3.3
    window_update_s: float = 0.5  # 3.9: the first period
    window_update_step_s: float = 1.0  # 3.9: added after each
    # Packets that may wait in queues: alpha and beta are Linux' Vegas', gamma is larger than its 1 because the bursts
    # that delayed acknowledgments release look like a queue of their own (ours).
    alpha: float = 2.0
    beta: float = 4.0
    gamma: float = 2.0
    duplicate_nacks: int = 3  # 2: "several consecutive duplicate NACKs"; three, as TCP's duplicate ACKs (RFC 5681)
    rto_margin_s: float = 0.2  # least distance of a timeout above the mean delay: Linux' TCP_RTO_MIN
    drop_after_s: float = 30.0  # a receiver silent or stalled for so long no longer holds the others back (ours)
    silence_s: float = 30.0  # a receiver gives a silent sender up after this (ours)
    announce_s: float = 0.25  # between announcements, and between repeated joins (ours)
    rate_limit_bps: float = 0.0  # of UDP payload, repairs not counted; 0: none
    # The tree (ours, but for the limit).
    parent: str = "auto"  # who that is: `auto` (the nearest agent with room), `sender`, or HOST:PORT[,HOST:PORT ...]
    agent: bool = False  # a receiver offers itself as a parent
    spare: bool = True  # a receiver becomes one when no agent has room
    fan_out: int = 16  # children of one agent or sender: the paper found so many harmless (4.1)
    agent_history: int = 64  # packets an agent keeps though all its children have them: a few round trips
    parent_timeout_s: float = 6.0  # a parent silent for so long is dead: three probes, and a dozen of the child's own
    from_start: bool = True  # a receiver that joins late wants the whole stream or nothing
    assist: str = "none"  # switch: switches on the way may merge the feedback of one's children

    def __post_init__(self) -> None:
        if not 0 < self.payload_bytes <= MAX_PAYLOAD_BYTES:
            raise ValueError(f"parameter 'payload_bytes' must be in 1..{MAX_PAYLOAD_BYTES}")
        if self.buffer_bytes < 4 * self.payload_bytes:
            raise ValueError("parameter 'buffer_bytes' must hold at least 4 packets")
        check_times(self, ("probe_interval_s", "window_update_s", "announce_s"), least=LEAST_PERIOD_S)
        check_times(self, ("ack_delay_s", "drop_after_s", "silence_s", "parent_timeout_s"))
        check_times(self, ("window_update_step_s", "rto_margin_s", "patience_s"), or_zero=True)
        for name in ("rate_limit_bps", "gamma"):
            if not 0 <= getattr(self, name) < 1e12:
                raise ValueError(f"parameter '{name}' must not be negative")
        if not 0 <= self.alpha <= self.beta < 1e6:
            raise ValueError("parameters must satisfy 0 <= alpha <= beta")
        for name in ("ack_every", "duplicate_nacks", "fan_out", "agent_history"):
            if not 1 <= getattr(self, name) <= 0xFFFF:
                raise ValueError(f"parameter '{name}' must be in 1..65535")
        if self.assist not in ("none", "switch"):
            raise ValueError("parameter 'assist' must be none or switch")
        self.given_parents  # noqa: B018  (checks it)

    @property
    def given_parents(self) -> tuple[Address, ...] | None:
        """The parents to try, in order; empty: the sender only; None: to be found. ValueError says what is wrong."""
        if self.parent == "auto":
            return None
        if self.parent == "sender":
            return ()
        return tuple(_address(text.strip()) for text in self.parent.split(","))

    @property
    def vegas(self) -> VegasOptions:
        """The thresholds that cwnd and the retransmission windows use."""
        return VegasOptions(self.alpha, self.beta, self.gamma)


def _address(text: str) -> Address:
    host, _, port = text.partition(":")
    try:
        if not 0 < int(port) <= 0xFFFF:
            raise ValueError
        return Address(str(IPv4Address(host)), int(port))
    except ValueError:
        raise ValueError(f"parameter 'parent' must be auto, sender or HOST:PORT[,...], not '{text}'") from None

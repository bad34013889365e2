"""MTCP's parameters. Where the paper gives a value it is the default; the rest says where it comes from."""

from dataclasses import dataclass
from ipaddress import IPv4Address

from hosts.endpoint import Address
from hosts.parts.adaptive import LOSSY_SHARE
from hosts.parts.bounds import check, not_negative, one_of, period, seconds, within
from hosts.parts.vegas import VegasOptions
from hosts.protocols.mtcp.packets import DEFAULT_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES, REACH, SACK_BITS


@dataclass(frozen=True, slots=True)
class MtcpOptions:
    """One session's parameters; sender and receivers may differ in them."""

    # paper: the paper's rules to the letter. adaptive (ours): what they lack beside TCP and when paths change
    # (docs/mtcp.md).
    rules: str = one_of("adaptive", "paper")
    payload_bytes: int = within(DEFAULT_PAYLOAD_BYTES, 1, MAX_PAYLOAD_BYTES)  # a repair fits an MTU of 1,500 (ours)
    ack_delay_s: float = seconds(0.02)  # 3.1: "a few tens of milliseconds"
    # Packets that end the delay early; the paper is silent. TCP's two (RFC 1122, 4.2.3.2) from each of 16 receivers
    # fill the way back of a symmetric link; more than four let bursts grow beyond short queues (ours).
    ack_every: int = within(4, 1, 0xFFFF, unit="packets")
    # How long a leaf's datagrams, and the acknowledgments to a sender with many children, wait to be read together:
    # less work for the processor, and longer bursts (ours).
    patience_s: float = seconds(0.0, or_zero=True)
    buffer_bytes: int = 1 << 24  # receive buffer, and the sender's of data not yet sent (ours)
    # Between the probes by which a child and its parent learn their round trip time (3.3).
    probe_interval_s: float = period(2.0)
    window_update_s: float = period(0.5)  # the first period of the advertised window (3.9)
    window_update_step_s: float = seconds(1.0, or_zero=True)  # added to that period after each (3.9)
    alpha: float = not_negative(2.0, unit="packets")  # so many of a session's wait in queues, at least: Linux' Vegas'
    beta: float = not_negative(4.0, unit="packets")  # and so many at most: Linux' Vegas'
    # As many end slow start: more than Linux' Vegas' 1, because the bursts that delayed acknowledgments release look
    # like a queue of their own (ours).
    gamma: float = not_negative(2.0, unit="packets")
    # Of the window that a TCP has which loses as much: up to it losses cost nothing that no queue explains. 100 or so
    # where nobody else is on paths that lose packets by themselves; 0: each means congestion (ours).
    lossy_share: float = not_negative(LOSSY_SHARE, unit="times")
    # 2: "several consecutive duplicate NACKs"; three, as TCP's duplicate ACKs (RFC 5681).
    duplicate_nacks: int = within(3, 1, 0xFFFF, unit="NACKs")
    # Least distance of a timeout above the mean delay: Linux' TCP_RTO_MIN.
    rto_margin_s: float = seconds(0.2, or_zero=True)
    # A receiver silent or stalled for so long no longer holds the others back (ours).
    drop_after_s: float = seconds(30.0)
    # A receiver that keeps the session below this rate for long is sent away (parts/least_rate.py); 0: the slowest one
    # is waited for (ours).
    least_rate_bps: float = not_negative(0.0)
    least_rate_s: float = seconds(10.0)  # as much as comes in so long may lack (ours)
    silence_s: float = seconds(30.0)  # a receiver gives a silent sender up after this (ours)
    announce_s: float = period(0.25)  # between announcements, and between repeated joins (ours)
    rate_limit_bps: float = not_negative(0.0)  # of UDP payload, repairs not counted; 0: none (ours)
    # Whose child a receiver is: `auto` (the nearest agent with room), `sender`, or HOST:PORT[,HOST:PORT ...] (ours).
    parent: str = "auto"
    agent: bool = False  # a receiver offers itself as a parent (ours: any receiver may)
    spare: bool = True  # a receiver becomes an agent when none has room (ours)
    # Of one agent or sender: the paper found so many harmless (4.1).
    fan_out: int = within(16, 1, 0xFFFF, unit="children")
    # Packets an agent keeps though all its children have them: a few round trips (ours).
    agent_history: int = within(64, 1, 0xFFFF, unit="packets")
    # A parent silent for so long is dead: three probes, and a dozen of the child's own (ours).
    parent_timeout_s: float = seconds(6.0)
    from_start: bool = True  # a receiver that joins late wants the whole stream or nothing (ours)
    # switch: switches on the way may merge the feedback of one's children (ours).
    assist: str = one_of("none", "switch")
    # A child whose feedback may be merged says the same to its parent alone, so often; a parent compares it with what
    # switches say (parts/witness.py). 0: never; where packets are sealed, once a second (ours).
    sample_s: float = seconds(0.0, or_zero=True)

    def __post_init__(self) -> None:
        check(self)
        if self.buffer_bytes < 4 * self.payload_bytes:
            raise ValueError("parameter 'buffer_bytes' must hold at least 4 packets")
        if not 0 <= self.alpha <= self.beta < 1e6:
            raise ValueError("parameters must satisfy 0 <= alpha <= beta")
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
    def adaptive(self) -> bool:
        """Whether `rules` are the default's."""
        return self.rules == "adaptive"

    @property
    def reach(self) -> int:
        """Packets in flight at most."""
        return REACH if self.adaptive else SACK_BITS

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

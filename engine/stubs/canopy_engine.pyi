"""The Rust half of the engine, as Python sees it. This file is the contract: the crate `native` implements it."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypedDict

MatchKey: TypeAlias = bytes | tuple[bytes, int] | tuple[bytes, bytes] | None
"""exact: bytes; lpm: (bytes, prefix length); ternary: (bytes, mask); range: (low, high); optional: bytes or None."""

# Priority, wherever an entry carries one: a signed 32-bit number, and the larger one wins, as P4Runtime has it. The JSON
# counts the other way: its priority j is max(j of the table) + 1 - j here, so that N entries have N, N-1, ..., 1. Tables
# without ternary, range or optional fields have 0. Byte strings are big-endian; those handed in may have leading zeros or
# lack them.

class LoadError(ValueError):
    """The program is not p4c's BMv2 JSON; the message names the place, as in `actions[3].primitives[0].parameters`."""

class EngineError(Exception):
    """A control operation was refused. `args` is (code, message); `code` is one of not_found, already_exists,
    invalid_argument, resource_exhausted, unimplemented."""

    code: str

class TableEntry(TypedDict):
    match: list[MatchKey]
    priority: int
    action: str | None
    params: list[bytes]
    member: int | None
    group: int | None
    is_const: bool
    idle_timeout_us: int
    idle_for_us: int

class ActionCall(TypedDict):
    action: str
    params: list[bytes]

class Replica(TypedDict):
    port: int
    instance: int

class CloneSession(TypedDict):
    replicas: list[Replica]
    packet_length: int  # bytes to keep, 0: all
    class_of_service: int

class Event(TypedDict, total=False):
    kind: str  # "digest" | "packet_in" | "idle_timeout"
    time_us: int
    digest: str  # digest: the learn list's name
    values: list[list[bytes]]  # digest: one list of fields per message
    packet: bytes  # packet_in: with the CPU header in front, as the deparser wrote it
    table: str  # idle_timeout
    entry: TableEntry  # idle_timeout

class MeterRates(TypedDict):
    cir: float  # units (bytes or packets) a second
    cburst: int
    pir: float
    pburst: int

class LinkSpec(TypedDict, total=False):
    """One direction of a link. Absent keys: no rate limit, no delay, no loss, DropTail of 64 packets."""

    rate_bps: float
    delay_us: float
    loss: float  # Bernoulli, 0..1
    queue: str  # "droptail" | "red"
    limit_packets: int
    limit_bytes: int  # when given, the queue counts bytes
    red_min: float  # RED thresholds, in packets (or bytes when limit_bytes is given)
    red_max: float
    red_weight: float
    red_max_p: float
    red_gentle: bool
    overhead_bytes: int  # that each frame costs on the wire beyond its length; default 0
    seed: int  # of the link's random choices; default: derived from the live switch's seed and the port

class Switch:
    """One P4 switch without I/O or clock: p4c's BMv2 JSON and its control state. Names are the JSON's. Thread-safe."""

    def __init__(self, program_json: str, *, seed: int = 0, cpu_port: int | None = None, num_ports: int = 512) -> None: ...
    @property
    def cpu_port(self) -> int | None: ...
    def process(self, port: int, packet: bytes, now_us: int = 0) -> list[tuple[int, bytes]]:
        """Ingress, replication and egress at once, with empty queues: the (egress port, packet) pairs in order.
        Copies for the CPU port are among them."""
    def take_events(self, max_events: int = 1024) -> list[Event]:
        """Digests and idle timeouts since the last call (bounded; the overflow is counted in stats)."""
    def wait_events(self, timeout_ms: int, max_events: int = 1024) -> list[Event]:
        """As take_events (with packet-ins of a live switch too), but waits for the first one, without the GIL."""
    def stats(self) -> dict[str, int]: ...
    def reset(self) -> None:
        """Back to the state after loading: no entries but const ones, zero counters and registers, no groups."""
    # What the program has.
    def tables(self) -> list[str]: ...
    def table_info(self, table: str) -> dict[str, object]: ...
    # Tables.
    def table_add(
        self,
        table: str,
        match: Sequence[MatchKey],
        action: str,
        params: Sequence[bytes],
        priority: int = 0,
        idle_timeout_us: int = 0,
    ) -> None: ...
    def table_add_indirect(
        self,
        table: str,
        match: Sequence[MatchKey],
        *,
        member: int | None = None,
        group: int | None = None,
        priority: int = 0,
        idle_timeout_us: int = 0,
    ) -> None: ...
    def table_modify(
        self,
        table: str,
        match: Sequence[MatchKey],
        action: str,
        params: Sequence[bytes],
        priority: int = 0,
        idle_timeout_us: int = 0,
    ) -> None: ...
    def table_modify_indirect(
        self,
        table: str,
        match: Sequence[MatchKey],
        *,
        member: int | None = None,
        group: int | None = None,
        priority: int = 0,
        idle_timeout_us: int = 0,
    ) -> None: ...
    def table_delete(self, table: str, match: Sequence[MatchKey], priority: int = 0) -> None: ...
    def table_get(self, table: str, match: Sequence[MatchKey], priority: int = 0) -> TableEntry: ...
    def table_entries(self, table: str) -> list[TableEntry]: ...
    def table_default(self, table: str) -> ActionCall | None: ...
    def table_set_default(self, table: str, action: str, params: Sequence[bytes]) -> None: ...
    def table_reset_default(self, table: str) -> None: ...
    # Action profiles and selectors.
    def member_add(self, profile: str, member: int, action: str, params: Sequence[bytes]) -> None: ...
    def member_modify(self, profile: str, member: int, action: str, params: Sequence[bytes]) -> None: ...
    def member_delete(self, profile: str, member: int) -> None: ...
    def members(self, profile: str) -> dict[int, ActionCall]: ...
    def group_set(self, profile: str, group: int, members: Mapping[int, int], max_size: int = 0) -> None:
        """Create or replace a group: member id -> weight."""
    def group_delete(self, profile: str, group: int) -> None: ...
    def groups(self, profile: str) -> dict[int, dict[int, int]]: ...
    # Counters, meters, registers. Direct ones are addressed by the table and the entry's match.
    def counter_read(self, counter: str, index: int) -> tuple[int, int]: ...  # packets, bytes
    def counter_read_all(self, counter: str) -> list[tuple[int, int]]: ...
    def counter_write(self, counter: str, index: int, packets: int, octets: int) -> None: ...
    def direct_counter_read(self, table: str, match: Sequence[MatchKey], priority: int = 0) -> tuple[int, int]: ...
    def direct_counter_write(
        self, table: str, match: Sequence[MatchKey], priority: int, packets: int, octets: int
    ) -> None: ...
    def meter_read(self, meter: str, index: int) -> MeterRates | None: ...
    def meter_write(self, meter: str, index: int, rates: MeterRates | None) -> None: ...
    def direct_meter_read(self, table: str, match: Sequence[MatchKey], priority: int = 0) -> MeterRates | None: ...
    def direct_meter_write(
        self, table: str, match: Sequence[MatchKey], priority: int, rates: MeterRates | None
    ) -> None: ...
    def register_size(self, register: str) -> int: ...
    def register_read(self, register: str, index: int) -> int: ...
    def register_write(self, register: str, index: int, value: int) -> None: ...
    # Packet replication engine.
    def mcast_group_add(self, group: int, replicas: Sequence[tuple[int, int]]) -> None: ...  # (port, instance)
    def mcast_group_modify(self, group: int, replicas: Sequence[tuple[int, int]]) -> None: ...
    def mcast_group_delete(self, group: int) -> None: ...
    def mcast_groups(self) -> dict[int, list[tuple[int, int]]]: ...
    def clone_session_set(
        self, session: int, replicas: Sequence[tuple[int, int]], packet_length: int = 0, class_of_service: int = 0
    ) -> None: ...
    def clone_session_delete(self, session: int) -> None: ...
    def clone_sessions(self) -> dict[int, CloneSession]: ...
    # Parser value sets.
    def value_set_write(self, value_set: str, members: Sequence[Sequence[MatchKey]]) -> None: ...

class LiveSwitch:
    """A Switch between AF_PACKET ports, each with its emulated link; one Rust thread, no GIL. Needs root."""

    def __init__(self, switch: Switch, *, seed: int = 0) -> None: ...
    def add_port(
        self, port: int, interface: str, *, tx: LinkSpec | None = None, rx: LinkSpec | None = None
    ) -> None:
        """Raises OSError (with errno) when the interface is missing or may not be opened."""
    def remove_port(self, port: int) -> None: ...
    def set_link(self, port: int, *, tx: LinkSpec | None = None, rx: LinkSpec | None = None) -> None: ...
    def set_port_up(self, port: int, up: bool) -> None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def inject(self, port: int, packet: bytes) -> None:
        """Hand a packet to ingress as if it had arrived at `port` (packet-out: the CPU port)."""
    def port_stats(self) -> dict[int, dict[str, int]]:
        """Per port: rx_packets, rx_bytes, tx_packets, tx_bytes, queue_packets, queue_bytes, drop_queue, drop_red,
        drop_loss, drop_oversize, ..."""

def bench(switch: Switch, port: int, packet: bytes, packets: int) -> dict[str, float]:
    """Sends one packet through `process` many times without Python in between: seconds, packets_in, packets_out."""

def flood(interface: str, packet: bytes, seconds: float, packets_per_second: float | None = None) -> int:
    """Sends a frame on an interface at a rate, or as fast as it goes; returns how many were sent. Needs root."""

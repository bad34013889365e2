"""The Rust half of the engine, as Python sees it. This file is the contract: the crate `native` implements it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, Unpack

Backend: TypeAlias = Literal["native", "adaptive", "interpreter"]
MatchKey: TypeAlias = bytes | tuple[bytes, int] | tuple[bytes, bytes] | None
"""exact: bytes; lpm: (bytes, prefix length); ternary: (bytes, mask); range: (low, high); optional: bytes or None."""

# Priority, wherever an entry carries one: a signed 32-bit number, and the larger one wins, as P4Runtime has it. The
# JSON counts the other way: its priority j is max(j of the table) + 1 - j here, so that N entries have N, N-1, ..., 1.
# Tables without ternary, range or optional fields have 0. Byte strings are big-endian; those handed in may have leading
# zeros or lack them.

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

class KeyFieldInfo(TypedDict):
    name: str
    kind: str  # exact, lpm, ternary, range, optional, valid
    bits: int

class ActionInfo(TypedDict):
    name: str
    params: list[tuple[str, int]]  # name and bits of each

class TableInfo(TypedDict):
    name: str
    key: list[KeyFieldInfo]
    actions: list[ActionInfo]
    max_size: int
    needs_priority: bool
    profile: str | None
    has_selector: bool
    is_const: bool
    has_const_default: bool
    has_counters: bool
    meter: str | None
    supports_timeout: bool

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
    """One direction of a link. Absent keys: no rate limit, no delay, no loss, DropTail of 64 packets; CoDel, FQ-CoDel,
    PIE and DualPI2 hold 10,240 packets and have what their RFCs say (8289, 8290, 8033, 9332). TypeError for a key that
    the kind of queue has not."""

    rate_bps: float
    delay_us: float
    loss: float  # Bernoulli, 0..1
    gilbert_elliott: tuple[float, float, float, float]  # good to bad, bad to good, loss when good, loss when bad
    queue: str  # "droptail" | "red" | "codel" | "fq_codel" | "pie" | "dualpi2"
    limit_packets: int
    limit_bytes: int  # when given, the queue counts bytes
    red_min: float  # RED thresholds, in packets (or bytes when limit_bytes is given)
    red_max: float
    red_weight: float
    red_max_p: float
    red_gentle: bool
    red_wait: bool
    red_ecn: bool  # mark ECN-capable packets instead of dropping them early
    red_mean_packet_bytes: int
    target_us: float  # codel, fq_codel: standing delay that is tolerated; pie, dualpi2: delay that is aimed at
    interval_us: float  # codel, fq_codel: how long it must last before packets are dropped
    ecn: bool  # codel, fq_codel, pie: mark ECN-capable packets instead of dropping them; default True
    flows: int  # fq_codel: queues that flows are hashed to
    quantum: int  # fq_codel: bytes that a queue may send in its turn
    update_us: float  # pie, dualpi2: between two updates of the probability
    alpha: float  # pie, dualpi2: gain for the delay above the target, per second
    beta: float  # pie, dualpi2: gain for what the delay has grown by, per second
    max_burst_us: float  # pie: a burst that passes
    coupling: float  # dualpi2: k
    step_us: float  # dualpi2: delay in the L queue from which on its packets are marked,
    ramp_us: float  # and how much longer it is when all of them are
    overhead_bytes: int  # that each frame costs on the wire beyond its length; default 0
    mtu: int  # octets of the longest IP packet, without the Ethernet header of 14; longer ones are dropped
    reorder: float  # probability that a frame comes reorder_delay_us later than others, which overtake it
    reorder_delay_us: float
    duplicate: float  # probability that a frame comes twice
    seed: int  # of the link's random choices; default: derived from the live switch's seed and the port

class Switch:
    """One P4 switch without I/O or clock: p4c's BMv2 JSON and its control state. Names are the JSON's. Thread-safe."""

    def __init__(
        self,
        program_json: str,
        *,
        seed: int = 0,
        cpu_port: int | None = None,
        num_ports: int = 512,
        digest_rate: tuple[int, int] = (0, 0),
        digest_repeat_rate: tuple[int, int] = (0, 0),
        backend: Backend = "adaptive",
    ) -> None:
        """`digest_rate`: digests a second, and at once, that packets of one port may cause; `digest_repeat_rate`: those
        with the same contents. 0: no limit. What is beyond is dropped and counted in stats. `backend`: what runs the
        program: native code made now, or after so many packets that it pays, or the interpreter. All do the same."""
    def backend(self) -> tuple[Backend, str | None]:
        """What runs the program now, and if native code was asked for in vain, why."""
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
    def set_trace(self, limit: int) -> None:
        """Trace packets from now on, as long as fewer than `limit` lines wait to be taken; 0: no more."""
    def take_trace(self, max_lines: int = 4096) -> list[str]:
        """Lines on packets' ways through the program, oldest first: "[seconds] [packet>egress port] what happened"."""
    def reset(self) -> None:
        """Back to the state after loading: no entries but const ones, zero counters and registers, no groups."""
    # What the program has.
    def tables(self) -> list[str]: ...
    def table_sizes(self) -> list[tuple[str, int, int]]:
        """Name, entries and capacity of each table."""
    def counters(self) -> list[str]:
        """The indirect counters."""
    def table_info(self, table: str) -> TableInfo: ...
    # Tables.
    def table_add(
        self,
        table: str,
        match: Sequence[MatchKey],
        action: str | None = None,
        params: Sequence[bytes] = (),
        priority: int = 0,
        idle_timeout_us: int = 0,
        *,
        member: int | None = None,
        group: int | None = None,
    ) -> None:
        """With an action, or a member or group of the table's action profile."""
    def table_modify(
        self,
        table: str,
        match: Sequence[MatchKey],
        action: str | None = None,
        params: Sequence[bytes] = (),
        priority: int = 0,
        idle_timeout_us: int = 0,
        *,
        member: int | None = None,
        group: int | None = None,
    ) -> None: ...
    def table_delete(self, table: str, match: Sequence[MatchKey], priority: int = 0) -> None: ...
    def table_get(self, table: str, match: Sequence[MatchKey], priority: int = 0) -> TableEntry: ...
    def table_entries(self, table: str) -> list[TableEntry]: ...
    def table_default(self, table: str) -> ActionCall | None: ...
    def table_set_default(self, table: str, action: str, params: Sequence[bytes]) -> None: ...
    def table_reset_default(self, table: str) -> None: ...
    def table_open(self, table: str, max_size: int) -> None:
        """Let the entries of a table change that the program has filled, and have others, up to a size. The JSON does
        not say whether the program meant them to be constant, and gives their number for the size."""
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
    def direct_meter_write(
        self, table: str, match: Sequence[MatchKey], priority: int, rates: MeterRates | None
    ) -> None: ...
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

class Capture:
    """A folder of captures, INTERFACE_in.pcap and INTERFACE_out.pcap, which outlives the switches that write there."""

    def __init__(self, folder: Path, *, limit_bytes: int = 2**64 - 1) -> None:
        """Makes the folder. A file that would exceed the limit is put aside as NAME.1, and begun anew. Raises
        OSError."""
    def stats(self) -> dict[str, int]:
        """captured: frames written; capture_dropped: frames that found no room."""
    def close(self) -> None:
        """Writes what waits, and takes no more."""

class LiveSwitch:
    """A Switch between AF_PACKET ports, each with its emulated link; one Rust thread, no GIL. Needs root."""

    def __init__(self, switch: Switch, *, seed: int = 0) -> None: ...
    def add_port(self, port: int, interface: str, *, tx: LinkSpec | None = None, rx: LinkSpec | None = None) -> None:
        """Raises OSError (with errno) when the interface is missing or may not be opened."""
    def remove_port(self, port: int) -> None: ...
    def set_link(self, port: int, *, tx: LinkSpec | None = None, rx: LinkSpec | None = None) -> None: ...
    def set_capture(self, port: int, capture: Capture | None) -> None:
        """Has a port's frames written down, or no more: those that arrive, and those that its interface has taken."""
    def set_port_up(self, port: int, up: bool) -> None: ...
    def set_packet_in_rate(self, per_second: int, burst: int) -> None:
        """How many packet-ins each port may cause; 0: no limit. What is beyond is counted in port_stats."""
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def inject(self, port: int, packet: bytes) -> None:
        """Hand a packet to ingress as if it had arrived at `port` (packet-out: the CPU port)."""
    def port_stats(self) -> dict[int, dict[str, int]]:
        """Per port: rx_packets, rx_bytes, tx_packets, tx_bytes, queue_packets, queue_bytes, drop_queue, drop_red,
        drop_aqm, marked_packets, drop_mtu, reordered_packets, duplicated_packets, drop_loss, drop_oversize, ..."""

def bench(switch: Switch, port: int, packets: Sequence[bytes], count: int) -> dict[str, float]:
    """Sends `count` packets through `process`, those given in turn, without Python in between: seconds, packets_in,
    packets_out."""

def flood(interface: str, packet: bytes, seconds: float, packets_per_second: float | None = None) -> int:
    """Sends a frame on an interface at a rate, or as fast as it goes; returns how many were sent. Needs root."""

class Sink:
    """Throws away what an interface receives, before the protocol stack looks at it, for as long as the object lives.
    The interface still counts it. Raises OSError: EPERM without root, EINVAL before Linux 6.6."""

    def __init__(self, interface: str) -> None: ...

class DatagramReader:
    """Reads UDP sockets; of up to `limit` (1..1024, else ValueError) messages at a time, each in 64 KiB of room."""

    def __init__(self, limit: int) -> None: ...
    def receive(
        self, descriptor: int
    ) -> tuple[
        list[tuple[bytes, int, int, float | None, float | None, int | None, int, list[tuple[int, float]]]], int | None
    ]:
        """What waits at an IPv4 socket that does not block, at most `limit` messages, in order; empty: none. Datagrams
        of one source, time to live, ECN field and length (but for the last, which may be shorter) that followed each
        other are one run: the payloads together, the length of each, the source (address << 16 | port), when the first
        and the last arrived (seconds since 1970, if SO_TIMESTAMPNS is on), their time to live (if IP_RECVTTL is on) and
        ECN field (if IP_RECVTOS is on, else 0); and, where they came as several messages, how many datagrams were
        before each of these, and when it arrived. And how many datagrams found no room in the socket's buffer, ever,
        modulo 2^32, where the kernel has said so (SO_RXQ_OVFL). Raises OSError."""

class DatagramSender:
    """Sends datagrams; several of one length and destination as one message if the kernel cuts it (UDP_SEGMENT)."""

    def __init__(self, segments: bool) -> None: ...
    @property
    def segments(self) -> bool:
        """Whether it makes such messages: not after the kernel has refused one."""

    def send(
        self,
        descriptor: int,
        runs: Sequence[tuple[bytes, tuple[str, int], int] | tuple[bytes, tuple[str, int], int, int]],
    ) -> tuple[int, int]:
        """Send (payload, (IPv4 address, port), ECN field) in order, or several datagrams as (payloads, address, ECN
        field, length of each), without waiting, until the kernel has no more room. Returns how many datagrams are done
        with, and how many of these the kernel refused (no route, too large). ValueError: not an address, no length."""

def short_hashes(data: bytes, size: int) -> bytes:
    """The first 8 bytes of the SHA-256 of each piece of `size` bytes (the last may be shorter), one after the other;
    other threads run meanwhile. ValueError: no size."""

def frame_symbols(head: bytes, data: bytes, symbol: int) -> bytes:
    """Payloads with the symbols of `symbol` bytes in `data` (the last is filled up with zeros), each behind the head,
    whose last 32 bits are a number in network order that goes on. ValueError: a head without it, no size."""

def following_symbols(data: bytes, size: int, head: int) -> int:
    """How many of the payloads of `size` bytes, from the first on, have the first one's head of `head` bytes, with
    numbers that go on; 0: not even one is whole."""

def alike(data: bytes, size: int, head: int, begin: int, end: int) -> list[int]:
    """The last 32 bits of the heads of `head` bytes of the datagrams of `size` bytes, from the first on, as long as the
    rest of the heads is the same, but for the bytes from `begin` to `end`, which count on; empty: not even one is
    whole, or there is no such head."""

class StreamFraming:
    """Runs of packets of a stream: datagrams with heads of `head` bytes that are the same but for two numbers in
    network order, at `seq` one of 32 bits that counts packets (modulo 2^32), at `offset` one of 64 bits, the place
    of the payload in the stream. ValueError: they overlap, or are not within the head."""

    def __init__(self, head: int, seq: int, offset: int) -> None: ...
    def frame(self, head: bytes, payload: bytes, size: int) -> bytes:
        """The datagrams for a payload in pieces of `size` bytes (the last may be shorter), one after the other, each
        with the head, in which the numbers go on. ValueError: a head of another length, no size."""

    def join(self, data: bytes, size: int) -> tuple[int, bytes]:
        """How many of the datagrams of `size` bytes in `data`, from the first on, continue the one before in both
        numbers, with the same head otherwise; and their payloads, one after the other. 0: the first is too short."""

class Seal:
    """Seals what one endpoint sends, and opens what comes to it (docs/security.md). A sealed packet is longer by 36
    bytes."""

    def __init__(self, epochs: Sequence[tuple[int, bytes]], sender: int) -> None:
        """`epochs`: number (8 bits) and secret of each that is opened, of which the last one seals. `sender`: 64 random
        bits. ValueError: there is no epoch."""
    @property
    def left(self) -> int:
        """Packets that may be sealed before `renew` is due."""
    def renew(self, sender: int) -> None:
        """Go on as another sender."""
    def change(self, epochs: Sequence[tuple[int, bytes]], sender: int) -> None:
        """Go on with these epochs, of which the last one seals, as another sender; what was heard in those that stay is
        remembered. ValueError: there is no epoch."""
    def seal(self, packet: bytes, source: tuple[str, int], destination: tuple[str, int], time_s: int) -> bytes:
        """`time_s`: Unix time modulo 2^32. ValueError: none is `left`."""
    def seal_run(
        self, packets: bytes, size: int, source: tuple[str, int], destination: tuple[str, int], time_s: int
    ) -> bytes:
        """Each of the packets of `size` bytes, of which the last may be shorter, one after the other. ValueError: too
        few are `left`, or `size` is 0."""
    def open(
        self, sealed: bytes, source: tuple[str, int], destination: tuple[str, int], time_s: int
    ) -> bytes | Literal["open", "epoch", "forged", "replayed", "stale", "own", "crowded"]:
        """The packet, or why there is none."""
    def open_run(
        self, sealed: bytes, size: int, source: tuple[str, int], destination: tuple[str, int], time_s: int
    ) -> tuple[bytes, list[tuple[int, str]]]:
        """What is in sealed packets of `size` bytes each, of which the last may be shorter: each packet at its place,
        and which of them, counted from 0, are none, and why, in the words of `open`. ValueError: `size` is 0."""

    def seal_headed(
        self, packet: bytes, head: int, source: tuple[str, int], destination: tuple[str, int], time_s: int
    ) -> bytes:
        """Likewise with the first `head` bytes open, but for the version; who sealed it stands behind them. ValueError:
        none is `left`, or no packet with such a head."""
    def open_headed(
        self, sealed: bytes, head: int, source: tuple[str, int], destination: tuple[str, int], time_s: int
    ) -> bytes | Literal["open", "epoch", "forged", "replayed", "stale", "own", "crowded"]:
        """Likewise of what `seal_headed` made."""
    def seal_feedback(self, packet: bytes, source: tuple[str, int], destination: tuple[str, int], time_s: int) -> bytes:
        """Likewise of feedback, which is open as a whole and has a short tag. ValueError: none is `left`, or it has no
        common header."""
    def open_feedback(
        self, sealed: bytes, source: tuple[str, int], destination: tuple[str, int], time_s: int
    ) -> bytes | Literal["open", "epoch", "forged", "replayed", "stale", "own", "crowded"]:
        """Likewise of what `seal_feedback` made."""

def hop_tag(key: int, message: bytes) -> int:
    """HalfSipHash-2-4, 64 bits, of whole words of 32 bits, each as the number that it is in network order; ValueError:
    it has a part of one. So are the key's two halves."""

class Signer:
    """Signs with Ed25519 (RFC 8032)."""

    def __init__(self, seed: bytes) -> None:
        """`seed`: 32 random bytes; else ValueError."""
    @property
    def public(self) -> bytes:
        """32 bytes, by which others check."""
    def sign(self, message: bytes) -> bytes:
        """A signature of 64 bytes."""

def verify_signature(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the owner of `public` has signed `message`; anything may be given."""

class RaptorqEncoder:
    """Repair symbols of one source block (RFC 6330). `symbol`: bytes of a symbol, a multiple of `alignment`;
    `sub_blocks`: N. ValueError: an empty block, one of more than 56,403 symbols, or no such symbols."""

    def __init__(self, data: bytes, symbol: int, sub_blocks: int = 1, alignment: int = 8) -> None:
        """Takes time in proportion to the block: some 10 ms a megabyte."""

    def repair(self, first: int, count: int) -> list[bytes]:
        """So many repair symbols, those after the `first` first ones; their identifiers go on after the source
        symbols'. Takes time in proportion to `count`. ValueError beyond 24 bits."""

class RaptorqDecoder:
    """One source block of one sub-block, from any of its symbols. ValueError as the encoder's. One thread at a time."""

    def __init__(self, length: int, symbol: int) -> None: ...
    def add(self, identifier: int, symbol: bytes) -> bytes | None:
        """Take a symbol; the block, once, when all source symbols have come. ValueError: not a symbol of this block."""
    def add_run(self, first: int, data: bytes, size: int, head: int) -> bytes | None:
        """Take symbols that follow each other, from identifier `first` on, each behind `head` bytes of a payload of
        `size`; the block likewise, and what is behind it in `data` is left. ValueError likewise."""
    @property
    def is_solvable(self) -> bool:
        """Whether there may be enough symbols for the block, and more than at the last `solve`."""
    def solve(self) -> bytes | None:
        """The block, once; None: it takes more symbols. Takes time in proportion to the block: some 10 ms a
        megabyte, without the interpreter."""

class BlockSymbols:
    """Symbols of a block, `symbol` bytes each, by their numbers (hosts/protocols/webrc/flute/decoding.py). ValueError:
    no bytes."""

    def __init__(self, symbol: int) -> None: ...
    def __len__(self) -> int: ...
    def __contains__(self, identifier: int) -> bool: ...
    def add(self, identifier: int, symbol: bytes) -> bool:
        """Take one, filled up with zeros; whether it was not there."""
    def add_run(self, identifiers: Sequence[int], mask: int, data: bytes, size: int) -> int:
        """Take those that end datagrams of `size` bytes, of whose numbers `mask` counts; how many are new. ValueError:
        a datagram is shorter than a symbol."""
    def items(self) -> list[tuple[int, bytes]]:
        """All, in the order in which they came."""
    def records(self) -> bytes:
        """All, as a receiver keeps them (hosts/protocols/webrc/flute/store.py)."""
    def add_records(self, records: bytes) -> int:
        """Take records up to the first that is not good; how many are. What is there already stays."""
    def joined(self, length: int) -> bytes | None:
        """The first `length` bytes of the source symbols; None: one is missing."""
    def solve(self, length: int, sub_blocks: int, alignment: int) -> bytes | None:
        """The block of so many bytes by RaptorQ, without the interpreter; None: it takes more symbols. ValueError as
        `RaptorqEncoder`'s."""

class SlotOrder:
    """What each of a WEBRC slot's ticks sends, the earliest deadline first (hosts/protocols/webrc/schedule.py)."""

    def __init__(self, ring: int, channels: Sequence[tuple[Sequence[tuple[bytes, float]], int, float, float]]) -> None:
        """`ring`: ticks. Two channels, a wave and the base channel, are: in each slot that it lasts its fluid, from the
        slot's beginning to the end of each tick (64 bits each, as `array` has them), and what to multiply that with;
        packets; of what a volume may be off; what the fluid has of a packet. ValueError: a fluid of another length.
        AssertionError: there is no such order."""
    def __len__(self) -> int: ...
    def places(
        self, first: int, count: int, channels: int, youngest: int, base: tuple[int, int], psn: int
    ) -> list[tuple[int, int, int]]:
        """Channel, slot index and number in the channel of packets that follow each other, from the session's first
        (0) on. `channels`: T; `youngest`: N - 1; `base`: packets of the base channel in a slot, and how many numbers it
        has; `psn`: a wave's first number."""

class ChannelPackets:
    """Gathers datagrams of `channels` channels, those of each together, in runs of `most` bytes at most; 0: each alone,
    and all in order (hosts/protocols/webrc/channel_runs.py)."""

    def __init__(self, channels: int, most: int) -> None: ...
    @property
    def packets(self) -> int: ...
    @property
    def octets(self) -> int: ...
    def add(self, channel: int, datagram: bytes) -> None:
        """ValueError: no such channel."""
    def add_symbols(
        self, places: Sequence[tuple[int, int, int]], head: bytes, is_long: bool, first: int, symbols: list[bytes]
    ) -> None:
        """Symbols, numbered from `first` on, in a datagram each, in the places (channel, slot index, number) in turn,
        behind a head like this one (RFC 3738's long format or the short one, the FEC Payload ID at the end). ValueError
        likewise."""
    def take(self) -> list[tuple[int, bytes, int]]:
        """Channel, datagrams, and bytes of each, in the order in which their first ones came; and forgets them."""

class SimError(Exception):
    """The network is described wrongly, or its run cannot go on; the message says where and why."""

class SimEndpoint(Protocol):
    """A state machine of the seam `hosts.endpoint`, as far as the simulator calls it."""

    def start(self, *, now: float) -> Iterable[object]: ...
    def receive(self, datagram: Any, /, *, now: float) -> Iterable[object]: ...
    def handle_timer(self, *, now: float) -> Iterable[object]: ...
    @property
    def wake_at(self) -> float | None: ...

class TcpOptions(TypedDict, total=False):
    """`packet_bytes` is a full packet's length on the link, headers included. Absent keys: ns-2's for the classic TCP
    (reno-1990, newreno, sack, vegas), Linux's for the modern one; the last groups of keys are each of one of them."""

    congestion_control: Literal[
        "cubic", "reno", "bbr", "bbr3", "dctcp", "prague", "reno-1990", "newreno", "sack", "vegas"
    ]  # default sack
    packet_bytes: int  # default 1,000; modern 1,514
    transfer_bytes: int | None  # None: never ends
    initial_window: float  # packets, default 2; modern 10
    window_limit: int | None  # packets; None: the congestion window alone
    min_rto: float  # seconds, default 0.2
    delayed_ack: float | None  # seconds that an acknowledgment waits for a second packet; None: every packet at once,
    # the classic default; modern 0.04
    # Classic.
    initial_ssthresh: float  # packets, default infinite
    limited_transmit: bool  # RFC 3042, default True
    clock_granularity: float  # seconds, default 0.001
    growth: Literal["acknowledgments", "packets"]  # what opens the window; default packets with delayed_ack
    # Modern.
    ecn: Literal["off", "classic", "accurate", "scalable"] | None  # None: the congestion control's own
    pacing: bool  # default True; bbr and bbr3 always pace

class UdpOptions(TypedDict, total=False):
    """`rate_bps` is needed; it counts packets' lengths on the link, and for onoff is the rate while on."""

    rate_bps: float
    packet_bytes: int  # length on the link, default 1,000
    gaps: Literal["constant", "poisson", "onoff"]  # default constant
    sizes: Literal["constant", "exponential"]  # default constant
    mean_on: float  # seconds, default 0.5
    mean_off: float  # seconds, default 0.5
    shape: float  # of the periods' Pareto distribution, above 1, default 1.5

class Sim:
    """A network in virtual time; everything random in it follows from `seed`. Times are in seconds.

    Events at one instant happen in this order: changes, departures from queues, arrivals (in the order in which the
    packets were handed to their links), programs' timers. Names of nodes are unique. Methods raise SimError for what
    does not fit the network and ValueError or TypeError for a value that is wrong in itself; while it runs (in a call
    from one of its endpoints) only `now` may be read. Programs (endpoints, transfers, sources, sinks) are known by the
    numbers that adding them returns.
    """

    def __init__(self, seed: int = 0, *, storm_limit: int | None = None) -> None:
        """`storm_limit`: events that one instant may hold before `run` gives up (default: grows with the network)."""
    # Nodes and links: before the first run.
    def add_host(self, name: str, address: str, *, mac: bytes | None = None) -> None: ...
    def add_router(self, name: str, address: str = "0.0.0.0") -> None:
        """A plain multicast router of any number of ports; routes are the paths of fewest hops."""
    def add_switch(self, name: str, switch: Switch, *, mac: bytes | None = None) -> None:
        """A P4 switch. Its state is installed through `switch`; `mac` is where its neighbours send frames."""
    def connect(
        self,
        a: str,
        b: str,
        forth: LinkSpec | None = None,
        back: LinkSpec | None = None,
        *,
        a_port: int | None = None,
        b_port: int | None = None,
    ) -> int:
        """A full-duplex link, by number; `forth` from a to b. Ports matter on switches: else the first free one."""
    def set_processing(
        self, host: str, *, outgoing: tuple[float, float] | None = None, incoming: tuple[float, float] | None = None
    ) -> None:
        """Each packet takes a time, uniform in the range, before it leaves or is handed to its program; one by one."""
    # Programs.
    def add_endpoint(
        self,
        host: str,
        name: str,
        endpoint: SimEndpoint,
        *,
        port: int,
        seam: ModuleType,
        start_at: float = 0.0,
        on_effect: Callable[[object, float], Iterable[object] | None] | None = None,
    ) -> int:
        """`seam` is the module `hosts.endpoint`: its Address, Datagram, Send, JoinGroup and LeaveGroup are known here.
        Other effects go to `on_effect(effect, now)`, which may return further ones. All copies of a packet carry the
        bytes object that was sent, unless a P4 switch lies between. An exception ends `run` and comes out of it."""
    def act_at(self, time: float, program: int, action: Callable[..., Iterable[object]]) -> None:
        """Calls `action(now=time)` for an endpoint, and carries out the effects that it returns."""
    def every(
        self,
        interval: float,
        action: Callable[[float], Iterable[tuple[str, int, bytes]] | None],
        *,
        start_at: float = 0.0,
    ) -> int:
        """Calls `action(now)` at regular times: a control plane. It may return packet-outs: switch, port, frame."""
    def add_tcp(
        self, source: str, sink: str, *, start_at: float = 0.0, traced: bool = False, **options: Unpack[TcpOptions]
    ) -> tuple[int, int]:
        """A transfer: the programs at source and sink. `traced`: each change of its window is in the time series."""
    def add_udp(
        self,
        source: str,
        destination: str,
        *,
        port: int | None = None,
        start_at: float = 0.0,
        stop_at: float | None = None,
        **options: Unpack[UdpOptions],
    ) -> int:
        """A stream to an address, a host's or a group's. What no program takes is counted at the host."""
    def add_udp_sink(
        self, host: str, port: int, *, join: tuple[str, str | None] | None = None, start_at: float = 0.0
    ) -> int:
        """Counts what arrives at a port; `join` is a group and its source (None: any)."""
    def add_web(
        self,
        source: str,
        sink: str,
        *,
        mean_gap: float,
        mean_bytes: float,
        shape: float = 1.2,
        start_at: float = 0.0,
        stop_at: float | None = None,
        **options: Unpack[TcpOptions],
    ) -> tuple[int, int]:
        """Short transfers that begin as a Poisson stream, with Pareto distributed sizes."""
    # Changes at a time, before anything else of that instant.
    def link_down_at(self, time: float, link: int) -> None:
        """Both directions lose what waits, what is under way, and what comes until the link is up."""
    def link_up_at(self, time: float, link: int) -> None: ...
    def configure_link_at(
        self, time: float, link: int, *, forth: LinkSpec | None = None, back: LinkSpec | None = None
    ) -> None: ...
    def kill_at(self, time: float, program: int) -> None:
        """The program dies without a word to anybody."""
    # Running.
    def run(self, until: float) -> None:
        """Runs all events up to that time, and may be called again. Ctrl-C ends it with what has happened so far; time
        that does not advance is a SimError."""
    def inject(self, switch: str, port: int, packet: bytes) -> None:
        """Hand a frame to a switch's ingress now, as if it had arrived at `port` (a packet-out: the CPU port)."""
    @property
    def now(self) -> float: ...
    @property
    def seed(self) -> int: ...
    def derive_seed(self, name: str) -> int:
        """A seed for the part called `name`, for the random generators of endpoints."""
    @property
    def events(self) -> int: ...
    @property
    def packet_hops(self) -> int: ...
    # Reading, at any time between runs.
    def link_stats(self, link: int) -> tuple[dict[str, int | float | str], dict[str, int | float | str]]:
        """Forth and back: from, to, queue_packets, queue_bytes, offered_, sent_ and delivered_packets and _bytes,
        marked_packets, max_queue_packets, max_queue_bytes, mean_queue_packets, drop_queue, drop_red, drop_aqm,
        drop_mtu, reordered_packets, duplicated_packets, drop_loss, drop_down."""
    def node_stats(self, name: str) -> dict[str, int]:
        """Packets sent and received, and drops by reason (drop_...)."""
    def program_stats(self, program: int) -> dict[str, float]:
        """Of transfers, sources and sinks: cwnd_packets, acknowledged_bytes, received_packets and so on."""
    def sample_every(self, interval: float) -> None:
        """Rows of all links and programs in the time series from now on."""
    def take_series(self) -> bytes:
        """The time series so far, and forgets them: JSON lines with time_s and kind (link or program)."""

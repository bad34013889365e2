"""What many table entries cost: every packet is looked up in an exact, an lpm and a ternary table, first while they are
empty, then with 100,000, 100,000 and 10,000 entries, which it hits.

The packets are of 1,000 and of 10,000 flows in turn, whose entries are spread over the tables, and with them over the
processor's caches.
"""

import random
from ipaddress import IPv4Address

import canopy_engine

from experiments.bench.switch.forwarding import PROGRAMS
from experiments.bench.switch.in_process import best_rate
from experiments.bench.switch.workload import ipv4_packet, udp_datagram
from experiments.figures.bench import Figure

EXACT_ENTRIES = 100_000
LPM_ENTRIES = 100_000
TERNARY_ENTRIES = 10_000
FLOWS = 1_000
MANY_FLOWS = 10_000
MOST_TIMES = 1.5
"""With all entries a packet of 10,000 flows should take at most so many times as long as with none."""

LPM_LENGTHS = ((24, 0.6), (23, 0.1), (22, 0.1), (20, 0.05), (19, 0.05), (16, 0.02), (28, 0.04), (32, 0.04))
"""Prefix lengths and their shares: mostly /24 and a little shorter, as in the Internet's routing table, and some more
specific ones inside."""

TERNARY_MASKS = 48
"""Different combinations of masks among the ternary entries, which is what their look-up costs by; lists of access
rules have some dozens."""

_SEED = 1
_ETHERNET = bytes.fromhex("020000000002 020000000001 0800")
_PROTOCOL_UDP = 17
_ALL_ONES_16 = 0xFFFF

Packet = tuple[int, int, int, int]
"""Source, destination, source port, destination port."""


def empty_switch() -> canopy_engine.Switch:
    return canopy_engine.Switch((PROGRAMS / "tables.json").read_text(), backend="native")


def random_packets(rng: random.Random) -> list[Packet]:
    addresses = rng.sample(range(0x0B000000, 0xDF000000), 2 * MANY_FLOWS)
    return [
        (addresses[i], addresses[MANY_FLOWS + i], rng.getrandbits(16), rng.getrandbits(16)) for i in range(MANY_FLOWS)
    ]


def frame(packet: Packet) -> bytes:
    source, destination, source_port, destination_port = packet
    datagram = udp_datagram(64 - 34, source_port, destination_port)
    return _ETHERNET + ipv4_packet(IPv4Address(source), IPv4Address(destination), 64, _PROTOCOL_UDP, datagram)


def _bytes(value: int, size: int) -> bytes:
    return value.to_bytes(size, "big")


def _mask(bits: int, width: int) -> int:
    return (1 << width) - (1 << width - bits)


def fill(switch: canopy_engine.Switch, packets: list[Packet], rng: random.Random) -> None:
    """Entries that the packets hit, and others up to the number wanted."""
    sources = {packet[0] for packet in packets}
    while len(sources) < EXACT_ENTRIES:
        sources.add(rng.getrandbits(32))
    for source in sources:
        switch.table_add("TablesIngress.exact_match", [_bytes(source, 4)], "TablesIngress.mark", [b"\x2e"])
    for prefix, length in _prefixes(packets, rng):
        switch.table_add("TablesIngress.lpm_match", [(_bytes(prefix, 4), length)], "TablesIngress.forward", [b"\x02"])
    _fill_ternary(switch, packets, rng)


def _prefixes(packets: list[Packet], rng: random.Random) -> set[tuple[int, int]]:
    lengths, weights = zip(*LPM_LENGTHS, strict=True)
    prefixes: set[tuple[int, int]] = set()
    addresses = [packet[1] for packet in packets]
    while len(prefixes) < LPM_ENTRIES:
        address = addresses.pop() if addresses else rng.getrandbits(32)
        (length,) = rng.choices(lengths, weights)
        prefixes.add((address & _mask(length, 32), length))
    return prefixes


def _fill_ternary(switch: canopy_engine.Switch, packets: list[Packet], rng: random.Random) -> None:
    """Each entry is a packet under one of the masks; the last packets get none, and miss or hit another's."""
    masks = [
        (_mask(rng.choice((8, 16, 24, 32)), 32), _mask(rng.choice((0, 16, 24, 32)), 32), source_port, destination_port)
        for source_port in (0, _ALL_ONES_16)
        for destination_port in (0, 0xFF00, _ALL_ONES_16)
        for _ in range(TERNARY_MASKS // 6)
    ]
    entries: set[tuple[Packet, Packet]] = set()
    while len(entries) < TERNARY_ENTRIES:
        mask, packet = rng.choice(masks), rng.choice(packets)
        masked = tuple(value & m for value, m in zip(packet, mask, strict=True))
        entries.add(((masked[0], masked[1], masked[2], masked[3]), mask))
    widths = (4, 4, 2, 2)
    for values, mask in entries:
        source, destination, source_port, destination_port = (
            (_bytes(value, size), _bytes(m, size)) for value, m, size in zip(values, mask, widths, strict=True)
        )
        key = [source, destination, (b"\x00", b"\x00"), source_port, destination_port]
        priority = rng.randint(1, 1000)
        switch.table_add("TablesIngress.ternary_match", key, "TablesIngress.prioritise", [b"\x03"], priority)


def full_tables(seconds: float) -> list[Figure]:
    """Time per packet with empty tables and with full ones, and the second over the first."""
    rng = random.Random(_SEED)
    packets = random_packets(rng)
    frames = [frame(packet) for packet in packets]
    switch = empty_switch()
    empty = best_rate(switch, 1, frames[:FLOWS], 1, seconds)
    fill(switch, packets, rng)
    full, many = (best_rate(switch, 1, flows, 1, seconds) for flows in (frames[:FLOWS], frames))
    entries = f"{EXACT_ENTRIES:,} exact, {LPM_ENTRIES:,} lpm, {TERNARY_ENTRIES:,} ternary entries"
    return [
        Figure("three empty tables", 1e9 / empty, "ns a packet"),
        Figure(entries, 1e9 / full, "ns a packet"),
        Figure(f"the same, {MANY_FLOWS:,} flows", 1e9 / many, "ns a packet"),
        Figure(
            f"full tables over empty ones, {MANY_FLOWS:,} flows", empty / many, "times", target=MOST_TIMES, at_most=True
        ),
    ]

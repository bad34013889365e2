"""Packets for robustness tests: sound ones of every kind, damaged, and damaged behind checksums made right again."""

import random
import struct

from scapy.utils import checksum

from tests.p4src.bench.packets import (
    Record,
    arp_request,
    data,
    host_ip,
    host_mac,
    igmp_message,
    igmp_packet,
    join,
    leave,
    report,
    report_v2,
    unicast,
)

SOURCE = "10.0.1.1"
GROUP = "239.1.1.1"


def sound_packets() -> list[bytes]:
    """One of each kind that the program treats differently."""
    return [
        bytes(unicast(host_ip(1), host_ip(2), size=200)),
        bytes(data(SOURCE, GROUP)),
        bytes(data("10.0.9.9", GROUP)),
        bytes(arp_request(host_ip(1), host_mac(1), host_ip(2))),
        join(GROUP),
        join(GROUP, SOURCE),
        leave(GROUP),
        leave(GROUP, SOURCE),
        report_v2(GROUP),
        report(*[Record("allow", GROUP, [SOURCE, "10.0.1.2"], b"auxiliary..."), Record("to_ex", GROUP)] * 5),
        report(Record("block", GROUP, [SOURCE]), Record("is_ex", GROUP, [SOURCE]), Record(9, GROUP, [SOURCE])),
        bytes(igmp_packet(igmp_message(0x11, 0, bytes(4)), destination="224.0.0.1")),
    ]


def damage(chooser: random.Random, packet: bytes) -> bytes:
    """Truncated, prolonged, a few bytes changed, or some cut out; never empty."""
    kind = chooser.randrange(5)
    if kind == 0:
        return packet[: chooser.randrange(1, len(packet) + 1)]
    if kind == 1:
        return packet + chooser.randbytes(chooser.randrange(1, 2000))
    damaged = bytearray(packet)
    for _ in range(chooser.randrange(1, 4)):
        damaged[chooser.randrange(len(damaged))] = chooser.randrange(256)
    if kind == 2:
        start = chooser.randrange(len(damaged))
        del damaged[start : start + chooser.randrange(1, 9)]
    return bytes(damaged) or b"\0"


def repair(packet: bytes) -> bytes:
    """The packet with right IPv4 and IGMP checksums, as far as it has such headers: behind them nothing protects."""
    fixed = bytearray(packet)
    if len(fixed) < 34 or fixed[12:14] != b"\x08\x00":
        return packet
    message = 14 + 4 * (fixed[14] & 15)
    if message < 34 or len(fixed) < message + 8:
        return packet
    fixed[24:26] = b"\0\0"
    fixed[24:26] = struct.pack("!H", checksum(bytes(fixed[14:message])))
    if fixed[23] == 2:
        fixed[message + 2 : message + 4] = b"\0\0"
        # Over the whole frame, as the switch takes padding to be zeros.
        fixed[message + 2 : message + 4] = struct.pack("!H", checksum(bytes(fixed[message:])))
    return bytes(fixed)


def random_packet(chooser: random.Random, sound: list[bytes]) -> bytes:
    """A sound packet, a damaged one, or one that is damaged behind its checksums."""
    packet = chooser.choice(sound)
    kind = chooser.randrange(3)
    if kind == 0:
        return packet
    damaged = damage(chooser, packet)
    return damaged if kind == 1 else repair(damaged)

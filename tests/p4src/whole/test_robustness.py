"""Random, truncated and oversized packets: each is forwarded by the rules or dropped and counted, and nothing ends."""

import random

from tests.p4src.bench.fuzz import GROUP, SOURCE, random_packet, sound_packets
from tests.p4src.bench.packets import data, host_ip, igmp_message, igmp_packet, join, unicast
from tests.p4src.bench.program import number
from tests.p4src.bench.setup import install, route_group, route_host, route_source
from tests.p4src.bench.target import Embedded, Target

PORTS = 8


def _install(target: Target) -> None:
    install(target, ports=PORTS)
    for port in range(1, PORTS + 1):
        route_host(target, port)
    route_group(target, GROUP, 1, upstream=[1, 2], accept=range(1, PORTS + 1))
    route_source(target, SOURCE, GROUP, 2, upstream=[1])


def _still_works(target: Target) -> None:
    for port in (4, 5):
        target.send(port, join(GROUP))
    outputs = [port for port, _ in target.send(3, bytes(data("10.0.9.9", GROUP)))]
    assert {4, 5} <= set(outputs)
    assert [port for port, _ in target.send(1, bytes(unicast(host_ip(1), host_ip(2))))] == [2]


def _run(target: Target, chooser: random.Random, packets: list[bytes], *more_ports: int) -> int:
    """Sends them to ports at random; returns how many were forwarded or given to the controller."""
    answered = 0
    for packet in packets:
        port = chooser.choice([*range(1, PORTS + 1), 300, *more_ports])
        answered += bool(target.send(port, packet))
        if target.exact_time:
            target.advance(chooser.randrange(1000))
    return answered + len(target.packet_ins())


def test_random_bytes(embedded: Embedded) -> None:
    _install(embedded)
    chooser = random.Random(1)
    packets = [chooser.randbytes(chooser.choice([1, 13, 14, 33, 34, 60, 100, 1500])) for _ in range(10_000)]
    answered = _run(embedded, chooser, packets)
    assert answered + sum(embedded.drops().values()) == len(packets)
    _still_works(embedded)


def test_random_bytes_behind_an_ipv4_ethertype(embedded: Embedded) -> None:
    _install(embedded)
    chooser = random.Random(2)
    head = bytes.fromhex("02000000 00fe 0200 0000 0101 0800 45")
    packets = [head + chooser.randbytes(chooser.randrange(1, 200)) for _ in range(10_000)]
    answered = _run(embedded, chooser, packets)
    assert answered + sum(embedded.drops().values()) == len(packets)
    _still_works(embedded)


def test_damaged_packets(embedded: Embedded) -> None:
    _install(embedded)
    chooser = random.Random(3)
    sound = sound_packets()
    packets = [random_packet(chooser, sound) for _ in range(20_000)]
    _run(embedded, chooser, packets, number("CPU_PORT"))
    _still_works(embedded)


def test_random_reports_with_a_right_checksum(embedded: Embedded) -> None:
    """Behind the checksum nothing else protects the records."""
    _install(embedded)
    chooser = random.Random(4)
    packets = []
    for _ in range(1_500):
        kind = chooser.choice([0x22, 0x22, 0x22, 0x16, 0x17, chooser.randrange(256)])
        count = chooser.choice([0, 1, 2, 5, 65535])
        body = bytes([0, 0, count >> 8, count & 255])
        for _ in range(chooser.randrange(8)):
            sources = chooser.choice([0, 0, 1, 2, 3, 65535])
            body += bytes([chooser.randrange(8), chooser.choice([0, 0, 1, 255]), sources >> 8, sources & 255])
            body += chooser.choice([bytes([239, 1, 1, 1]), chooser.randbytes(4)])
            body += chooser.randbytes(4 * min(sources, 3))
        body = body[: chooser.randrange(4, len(body) + 1)]
        packets.append(bytes(igmp_packet(igmp_message(kind, 0, body), router_alert=chooser.random() < 0.5)))
    _run(embedded, chooser, packets)
    _still_works(embedded)


def test_oversized_packets(target: Target) -> None:
    """A jumbo frame is forwarded as any other; its length is not the switch's business."""
    _install(target)
    for size in (1_472, 1_473, 4_000, 9_000):
        ((port, sent),) = target.send(1, bytes(unicast(host_ip(1), host_ip(2), size=size)))
        assert (port, len(sent)) == (2, 14 + 28 + size)


def test_damaged_packets_on_either_switch(target: Target) -> None:
    _install(target)
    chooser = random.Random(5)
    sound = sound_packets()
    _run(target, chooser, [random_packet(chooser, sound) for _ in range(500)])
    _still_works(target)

"""Random and damaged packets through the embedded switch with our program: nothing ends, each packet is accounted for,
and memory does not grow.

`CANOPY_RANDOM_PACKETS=10000000 pytest tests/engine/whole/test_random_packets.py` tries longer.
"""

import os
import random
import resource

import pytest
from canopy_engine import Switch

from tests.p4src.bench.fuzz import GROUP, SOURCE, random_packet, sound_packets
from tests.p4src.bench.packets import data, host_ip, join, unicast
from tests.p4src.bench.program import number, program
from tests.p4src.bench.setup import EPOCH_SHIFT, install, route_group, route_host, route_source
from tests.p4src.bench.target import Embedded

PACKETS = int(os.environ.get("CANOPY_RANDOM_PACKETS", "30000"))
"""For each size of switch."""
POOL = 5_000
"""Packets that are made anew at a time; each is sent `REPEATS` times, from other ports and with other bits wrong."""
REPEATS = 4
GROWTH_LIMIT_KB = 20_000
"""For the memory of the whole process, once the first packets have been sent: the test's own lists need some of it."""


class CountingSwitch(Embedded):
    """The switch without the work that `Embedded.send` does with what comes out."""

    def pass_through(self, port: int, packet: bytes) -> None:
        self._switch.process(port, packet, self.now_us)

    def take_events(self) -> None:
        while self._switch.take_events():
            pass

    @property
    def engine(self) -> Switch:
        return self._switch


def set_up(ports: int) -> CountingSwitch:
    switch = CountingSwitch(program())
    install(switch, ports=ports, epoch_shift=EPOCH_SHIFT)
    for port in range(1, ports + 1):
        route_host(switch, port)
    route_group(switch, GROUP, 1, upstream=[1, 2], accept=range(1, ports + 1))
    route_source(switch, SOURCE, GROUP, 2, upstream=[1])
    return switch


def one_bit_wrong(chooser: random.Random, packet: bytes) -> bytes:
    changed = bytearray(packet)
    changed[chooser.randrange(len(changed))] ^= 1 << chooser.randrange(8)
    return bytes(changed)


def packet_out(chooser: random.Random, packet: bytes) -> bytes:
    """With the controller's header in front: a port, a mode and ports at random, most often a mode that there is."""
    mode = chooser.choice([0, 1, 1, 2, 3, 127])
    header = chooser.randrange(1, 20) << 23 | mode << 16 | chooser.getrandbits(16)
    return header.to_bytes(4, "big") + packet


def send_some(switch: CountingSwitch, chooser: random.Random, ports: int) -> None:
    """`POOL * REPEATS` packets; about one of forty is from the controller, one of forty from a port without a link."""
    sound = sound_packets()
    pool = [random_packet(chooser, sound) for _ in range(POOL * 4 // 5)]
    pool += [chooser.randbytes(chooser.randrange(1, 300)) for _ in range(POOL - len(pool))]
    for _ in range(REPEATS):
        for packet in pool:
            kind = chooser.randrange(40)
            sent = one_bit_wrong(chooser, packet) if kind > 30 else packet
            if kind == 0:
                switch.pass_through(number("CPU_PORT"), packet_out(chooser, sent))
            elif kind == 1:
                switch.pass_through(chooser.choice([0, ports + 1, 17, 300, 511]), sent)
            else:
                switch.pass_through(chooser.randrange(1, ports + 1), sent)
            switch.advance(chooser.randrange(256))
    switch.take_events()


def assert_all_are_accounted_for(engine: Switch) -> None:
    """What came in, and what was copied in the switch, has left it or was dropped and counted under a reason."""
    counts = engine.stats()
    drops = sum(count for name, count in counts.items() if name.startswith("drop_"))
    made = counts["packets_in"] + counts["replicas"] + counts["ingress_clones"]
    assert made == counts["packets_out"] + drops, counts


def assert_it_still_works(switch: CountingSwitch) -> None:
    switch.advance(1 << 30)  # former members are forgotten
    for port in (4, 5):
        switch.send(port, join(GROUP))
    assert {port for port, _ in switch.send(3, bytes(data("10.0.9.9", GROUP)))} == {4, 5}
    assert [port for port, _ in switch.send(1, bytes(unicast(host_ip(1), host_ip(2))))] == [2]


@pytest.mark.parametrize("ports", [8, 16])
def test_random_packets(ports: int) -> None:
    switch = set_up(ports)
    chooser = random.Random(ports)
    send_some(switch, chooser, ports)
    sent = POOL * REPEATS
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    while sent < PACKETS:
        send_some(switch, chooser, ports)
        sent += POOL * REPEATS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < GROWTH_LIMIT_KB
    assert switch.engine.stats()["packets_in"] == sent
    assert_all_are_accounted_for(switch.engine)
    assert sum(switch.drops().values()) <= switch.engine.stats()["drop_ingress"]
    assert_it_still_works(switch)

"""The embedded switch against simple_switch_grpc, packet for packet, where the latter is installed."""

import random
from collections import Counter

import pytest

from tests.p4src.bench.bmv2 import SimpleSwitch
from tests.p4src.bench.fuzz import GROUP, SOURCE, random_packet, sound_packets
from tests.p4src.bench.program import number, program
from tests.p4src.bench.setup import install, route_group, route_host, route_source
from tests.p4src.bench.target import Digest, Embedded, Target
from tests.p4src.conftest import share_simple_switches
from tests.simple_switch import find_simple_switch

PACKETS = 600


def _install(target: Target, ports: int) -> None:
    install(target, ports=ports)
    for port in (1, 2, 3):
        route_host(target, port)
    route_group(target, GROUP, 1, upstream=[1, 2], accept=range(1, ports + 1))
    route_source(target, SOURCE, GROUP, 2, upstream=[1])


def _without_time(digest: Digest) -> tuple[str, tuple[int, ...]]:
    return digest.name, tuple(value for name, value in digest.fields.items() if name != "timestamp")


if find_simple_switch() is not None:

    @pytest.mark.bmv2
    @pytest.mark.parametrize(("seed", "ports"), [(1, 8), (2, 12), (3, 16)])
    def test_both_switches_agree(simple_switches: list[SimpleSwitch], seed: int, ports: int) -> None:
        (other,) = share_simple_switches(simple_switches, 1)
        embedded = Embedded(program())
        targets: list[Target] = [embedded, other]
        for target in targets:
            _install(target, ports)
        chooser = random.Random(seed)
        sound = sound_packets()
        for index in range(PACKETS):
            packet = random_packet(chooser, sound)
            port = chooser.choice([*range(1, ports + 1), 300, number("CPU_PORT")])
            if port == number("CPU_PORT"):
                packet = chooser.randbytes(4) + packet
            ours, theirs = (target.send(port, packet) for target in targets)
            assert ours == theirs, f"seed {seed}, packet {index} at port {port}: {packet.hex()}"
        assert embedded.drops() == other.drops()
        assert embedded.packet_ins() == other.packet_ins()
        ours_told, theirs_told = ([_without_time(digest) for digest in target.digests()] for target in targets)
        changes = [digest for digest in ours_told if digest[0] == "members_changed"]
        assert changes == [digest for digest in theirs_told if digest[0] == "members_changed"]
        # Time passes on one of them only: it may tell of an unknown group again.
        assert not Counter(ours_told) - Counter(theirs_told)

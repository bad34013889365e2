"""ipv4.p4 and canopy.p4: what is not a sound IPv4 packet is dropped and counted by reason."""

import pytest
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from tests.p4src.bench.packets import SWITCH_MAC, Record, address, data, host_ip, host_mac, report, unicast
from tests.p4src.bench.program import enum
from tests.p4src.bench.setup import install, route_group, route_host
from tests.p4src.bench.target import Target


def _changed(**fields: object) -> Packet:
    packet = unicast(host_ip(1), host_ip(2))
    for name, value in fields.items():
        setattr(packet[IP], name, value)
    return packet


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        pytest.param(_changed(version=5), "ipv4_version", id="version 5"),
        pytest.param(_changed(version=6), "ipv4_version", id="version 6"),
        pytest.param(_changed(ihl=4), "ipv4_header", id="ihl 4"),
        pytest.param(_changed(ihl=0), "ipv4_header", id="ihl 0"),
        pytest.param(_changed(len=19), "ipv4_length", id="total length below header"),
        pytest.param(_changed(len=0), "ipv4_length", id="total length 0"),
        pytest.param(_changed(ihl=7, len=24), "ipv4_length", id="total length below header with options"),
        pytest.param(_changed(len=93), "ipv4_length", id="total length beyond the frame"),
        pytest.param(_changed(len=65535), "ipv4_length", id="total length at most"),
        pytest.param(_changed(chksum=0x1234), "ipv4_checksum", id="checksum"),
        pytest.param(_changed(src="127.0.0.1"), "martian", id="from loopback"),
        pytest.param(_changed(src="0.0.0.0"), "martian", id="from nobody"),
        pytest.param(_changed(src="224.1.2.3"), "martian", id="from a group"),
        pytest.param(_changed(src="240.0.0.1"), "martian", id="from class E"),
        pytest.param(_changed(src="255.255.255.255"), "martian", id="from broadcast"),
        pytest.param(_changed(dst="127.0.0.1"), "martian", id="to loopback"),
        pytest.param(_changed(dst="0.0.0.0"), "martian", id="to nobody"),
        pytest.param(_changed(dst="255.255.255.255"), "martian", id="to broadcast"),
        pytest.param(_changed(dst="240.0.0.1"), "martian", id="to class E"),
    ],
)
def test_faults(switch: Target, packet: Packet, reason: str) -> None:
    switch.insert("ipv4_lpm", {"destination": (0, 0)}, "forward", {"port": 2, "mac": 1})
    assert switch.send(1, bytes(packet)) == []
    assert switch.drops() == {reason: 1}


def test_group_packets_are_checked_too(switch: Target) -> None:
    packet = data(host_ip(1), "239.1.1.1")
    packet[IP].chksum = 1
    assert switch.send(1, bytes(packet)) == []
    assert switch.drops() == {"ipv4_checksum": 1}


def test_sound_packet_passes(switch: Target) -> None:
    route_host(switch, 2)
    assert len(switch.send(1, bytes(_changed()))) == 1


def test_every_truncation_is_dropped(switch: Target) -> None:
    route_host(switch, 2)
    packet = bytes(unicast(host_ip(1), host_ip(2), size=8))
    for length in range(1, len(packet)):
        assert switch.send(1, packet[:length]) == []
    drops = switch.drops()
    assert drops == {"parse_error": 33, "ipv4_length": len(packet) - 34}


@pytest.mark.parametrize("ethertype", [0x86DD, 0x8100, 0x0000, 0x05DC, 0xFFFF])
def test_other_ethertypes(switch: Target, ethertype: int) -> None:
    frame = Ether(src=host_mac(1), dst=SWITCH_MAC, type=ethertype) / Raw(bytes(60))
    assert switch.send(1, bytes(frame)) == []
    assert switch.drops() == {"ethertype": 1}


def test_bytes_are_counted(switch: Target) -> None:
    packet = bytes(unicast(host_ip(1), host_ip(2)))
    switch.send(1, packet)
    reason = switch.program.constants.enums["drop_reason"]["no_route"]
    assert switch.counter("drops", reason) == (1, len(packet))


HOST_ADDRESS, FOREIGN = host_ip(1), "10.0.0.77"


def guard(target: Target) -> None:
    """Port 1 has one host; port 2 leads to another switch."""
    install(target)
    for port in (1, 2):
        route_host(target, port)
    for source, bits, action in ((HOST_ADDRESS, 32, "permit"), ("0.0.0.0", 32, "permit"), ("0.0.0.0", 0, "deny")):
        target.insert("source_guard", {"port": 1, "source": (address(source), bits)}, action, {})


def test_a_host_sends_from_its_own_address_only(target: Target) -> None:
    guard(target)
    assert [port for port, _ in target.send(1, bytes(unicast(HOST_ADDRESS, host_ip(2))))] == [2]
    assert target.send(1, bytes(unicast(FOREIGN, host_ip(2)))) == []
    assert target.drops() == {"spoofed_source": 1}
    # From elsewhere anything may come.
    assert [port for port, _ in target.send(2, bytes(unicast(FOREIGN, HOST_ADDRESS)))] == [1]


def test_nobody_reports_or_sends_to_a_group_in_anothers_name(target: Target) -> None:
    guard(target)
    route_group(target, "239.1.1.1", 1, accept=[1, 2])
    assert target.send(1, join_from(FOREIGN)) == []
    assert target.send(1, bytes(data(FOREIGN, "239.1.1.1"))) == []
    assert target.drops() == {"spoofed_source": 2}
    assert target.digests() == []
    target.send(1, join_from("0.0.0.0"))
    target.send(1, join_from(HOST_ADDRESS))
    assert [digest["change"] for digest in target.digests()] == [enum("change", "join")]


def test_the_controller_may_say_that_a_packet_came_from_anybody(target: Target) -> None:
    guard(target)
    replayed = unicast(FOREIGN, host_ip(2))
    assert [
        port for port, _ in target.packet_out(bytes(replayed), port=1, mode=enum("packet_out_mode", "receive"))
    ] == [2]


def join_from(source: str) -> bytes:
    return report(Record("to_ex", "239.1.1.1"), source=source)

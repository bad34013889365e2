"""unicast.p4: longest prefix match, MAC rewriting, TTL."""

import pytest
from scapy.layers.inet import IP, IPOption_NOP
from scapy.layers.l2 import Ether

from tests.p4src.bench.packets import SWITCH_MAC, address, host_ip, host_mac, mac, unicast
from tests.p4src.bench.program import enum
from tests.p4src.bench.setup import route_host
from tests.p4src.bench.target import Target


def test_packet_is_forwarded_one_hop(switch: Target) -> None:
    route_host(switch, 2)
    packet = unicast(host_ip(1), host_ip(2), ttl=8)
    ((port, sent),) = switch.send(1, bytes(packet))
    expected = packet.copy()
    expected[Ether].src = SWITCH_MAC
    expected[Ether].dst = host_mac(2)
    expected[IP].ttl = 7
    assert (port, sent) == (2, bytes(expected))
    assert switch.drops() == {}


@pytest.mark.parametrize("protocol", [1, 6, 17, 132])
@pytest.mark.parametrize("tos", [0b1011_1000 | ecn for ecn in range(4)])
def test_the_tos_byte_is_the_packets_own(switch: Target, tos: int, protocol: int) -> None:
    """DSCP and ECN: links mark, the program does not, whatever the packet carries."""
    route_host(switch, 2)
    packet = unicast(host_ip(1), host_ip(2))
    packet[IP].tos, packet[IP].proto = tos, protocol
    ((_, sent),) = switch.send(1, bytes(packet))
    assert IP(sent[14:]).tos == tos


def test_longest_prefix_wins(switch: Target) -> None:
    for prefix, length, port in (("10.0.0.0", 8, 3), ("10.1.0.0", 16, 4), ("10.1.2.0", 24, 5), ("0.0.0.0", 0, 6)):
        params = {"port": port, "mac": mac(host_mac(port))}
        switch.insert("ipv4_lpm", {"destination": (address(prefix), length)}, "forward", params)
    for destination, port in (("10.1.2.3", 5), ("10.1.3.3", 4), ("10.2.3.4", 3), ("192.0.2.1", 6)):
        assert [out for out, _ in switch.send(1, bytes(unicast(host_ip(1), destination)))] == [port]


def test_no_route_and_drop_route(switch: Target) -> None:
    switch.insert("ipv4_lpm", {"destination": (address("10.2.0.0"), 16)}, "route_drop", {})
    assert switch.send(1, bytes(unicast(host_ip(1), "10.2.0.1"))) == []
    assert switch.send(1, bytes(unicast(host_ip(1), "10.3.0.1"))) == []
    assert switch.drops() == {"route_drop": 1, "no_route": 1}


@pytest.mark.parametrize(("ttl", "passes"), [(0, False), (1, False), (2, True), (255, True)])
def test_ttl(switch: Target, ttl: int, passes: bool) -> None:
    route_host(switch, 2)
    sent = switch.send(1, bytes(unicast(host_ip(1), host_ip(2), ttl=ttl)))
    assert [IP(packet[14:]).ttl for _, packet in sent] == ([ttl - 1] if passes else [])
    assert switch.drops() == ({} if passes else {"ttl_expired": 1})


def test_checksum_is_right_after_every_hop(switch: Target) -> None:
    """Also where the sum is near 0xffff, where RFC 1141's way would go wrong (RFC 1624 3)."""
    route_host(switch, 2)
    seen = set()
    for identification in range(0, 0x10000, 257):
        packet = unicast(host_ip(1), host_ip(2))
        packet[IP].id = identification
        # Walk the checksum over all its high bytes with the field that is free, and stop at the corner.
        for flip in (0, 1):
            packet[IP].tos = flip
            packet[IP].chksum = None
            ((_, sent),) = switch.send(1, bytes(packet))
            out = IP(sent[14:])
            seen.add(out.chksum >> 8)
            claimed = out.chksum
            out.chksum = None
            assert IP(bytes(out)).chksum == claimed
    assert len(seen) > 200


def test_checksum_that_becomes_zero(switch: Target) -> None:
    route_host(switch, 2)
    packet = unicast(host_ip(1), host_ip(2))
    packet[IP].id = 0
    before = IP(bytes(packet[IP])).chksum
    # Make the arriving checksum 0xfeff: one hop adds 0x0100, and 0xffff must be written as 0x0000.
    packet[IP].id = (before - 0xFEFF) % 0xFFFF
    packet[IP].chksum = None
    assert IP(bytes(packet[IP])).chksum == 0xFEFF
    ((_, sent),) = switch.send(1, bytes(packet))
    assert IP(sent[14:]).chksum == 0


def test_options_and_padding_are_kept(switch: Target) -> None:
    route_host(switch, 2)
    packet = unicast(host_ip(1), host_ip(2), size=0)
    packet[IP].options = [IPOption_NOP()] * 40
    frame = bytes(packet) + b"\xaa" * 7
    ((_, sent),) = switch.send(1, frame)
    assert len(sent) == len(frame)
    assert sent[34:] == frame[34:]
    out = IP(sent[14:])
    assert out.ihl == 15
    claimed = out.chksum
    out.chksum = None
    assert IP(bytes(out)).chksum == claimed


@pytest.mark.parametrize("to_mac", ["ff:ff:ff:ff:ff:ff", "02:00:00:00:00:01", "01:00:5e:00:00:01"])
def test_packet_for_another_mac_is_not_routed(switch: Target, to_mac: str) -> None:
    route_host(switch, 2)
    assert switch.send(1, bytes(unicast(host_ip(1), host_ip(2), to_mac=to_mac))) == []
    assert switch.drops() == {"foreign_mac": 1}


def test_fragments_pass(switch: Target) -> None:
    route_host(switch, 2)
    for flags, offset in (("MF", 0), ("MF", 185), (0, 370)):
        packet = unicast(host_ip(1), host_ip(2))
        packet[IP].flags, packet[IP].frag = flags, offset
        ((_, sent),) = switch.send(1, bytes(packet))
        assert (IP(sent[14:]).flags, IP(sent[14:]).frag) == (packet[IP].flags, offset)


def test_igmp_to_a_unicast_address_is_routed(switch: Target) -> None:
    route_host(switch, 2)
    packet = unicast(host_ip(1), host_ip(2))
    packet[IP].remove_payload()
    packet[IP].proto = 2
    assert [port for port, _ in switch.send(1, bytes(packet / (b"\x1f" + bytes(31))))] == [2]


def test_punted_packet_reaches_the_controller_unchanged(switch: Target) -> None:
    switch.insert("ipv4_lpm", {"destination": (address("10.0.0.254"), 32)}, "punt", {})
    packet = bytes(unicast(host_ip(3), "10.0.0.254", ttl=1))
    assert switch.send(3, packet) == []
    (packet_in,) = switch.packet_ins()
    assert (packet_in.ingress_port, packet_in.reason) == (3, enum("packet_in_reason", "route"))
    assert packet_in.packet == packet


def test_route_back_out_of_the_same_port(switch: Target) -> None:
    """The sender believes in a single subnet and cannot be told of a better way."""
    route_host(switch, 1)
    assert [port for port, _ in switch.send(1, bytes(unicast("10.0.0.77", host_ip(1))))] == [1]

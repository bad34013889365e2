"""arp.p4: proxy ARP."""

import pytest
from scapy.layers.l2 import ARP, Ether

from tests.p4src.bench.packets import SWITCH_MAC, arp_request, host_ip, host_mac
from tests.p4src.bench.program import enum
from tests.p4src.bench.target import Target


@pytest.mark.parametrize("port", [1, 2, 8])
def test_any_unicast_address_is_the_switch(switch: Target, port: int) -> None:
    request = arp_request(host_ip(port), host_mac(port), "10.9.8.7")
    ((egress, packet),) = switch.send(port, bytes(request))
    assert egress == port
    reply = Ether(packet)
    assert (reply.dst, reply.src, reply.type) == (host_mac(port), SWITCH_MAC, 0x0806)
    assert (reply[ARP].op, reply[ARP].hwsrc, reply[ARP].psrc) == (2, SWITCH_MAC, "10.9.8.7")
    assert (reply[ARP].hwdst, reply[ARP].pdst) == (host_mac(port), host_ip(port))
    assert (reply[ARP].hwtype, reply[ARP].ptype, reply[ARP].hwlen, reply[ARP].plen) == (1, 0x0800, 6, 4)
    assert switch.drops() == {}


def test_padding_of_a_short_frame_is_kept(switch: Target) -> None:
    request = bytes(arp_request(host_ip(1), host_mac(1), host_ip(2))).ljust(60, b"\0")
    ((_, packet),) = switch.send(1, request)
    assert packet[42:] == bytes(18)


def test_neighbour_that_checks_by_unicast_is_answered(switch: Target) -> None:
    request = arp_request(host_ip(1), host_mac(1), host_ip(2))
    request[Ether].dst = SWITCH_MAC
    assert len(switch.send(1, bytes(request))) == 1


def _changed(offset: int, value: str) -> bytes:
    """A request with the bytes at an offset into the ARP packet replaced (RFC 826)."""
    request = bytearray(bytes(arp_request(host_ip(1), host_mac(1), host_ip(2))))
    new = bytes.fromhex(value)
    request[14 + offset : 14 + offset + len(new)] = new
    return bytes(request)


@pytest.mark.parametrize(
    "request_packet",
    [
        pytest.param(_changed(0, "0006"), id="hardware type"),
        pytest.param(_changed(2, "86dd"), id="protocol type"),
        pytest.param(_changed(4, "08"), id="hardware length"),
        pytest.param(_changed(5, "10"), id="protocol length"),
        pytest.param(_changed(6, "0002"), id="reply"),
        pytest.param(_changed(6, "0003"), id="reverse ARP"),
        pytest.param(_changed(14, "00000000"), id="probe"),
        pytest.param(_changed(14, "0a000002"), id="announcement"),
        pytest.param(_changed(24, "e0000001"), id="for a group"),
        pytest.param(_changed(24, "ffffffff"), id="for broadcast"),
        pytest.param(_changed(24, "00000000"), id="for nobody"),
    ],
)
def test_others_are_ignored(switch: Target, request_packet: bytes) -> None:
    assert switch.send(1, request_packet) == []
    assert switch.drops() == {"arp_ignored": 1}


def test_request_that_the_controller_injects(switch: Target) -> None:
    request = bytes(arp_request(host_ip(5), host_mac(5), host_ip(2)))
    sent = switch.packet_out(request, port=5, mode=enum("packet_out_mode", "receive"))
    assert [port for port, _ in sent] == [5]

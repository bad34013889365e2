"""packet_io.p4: packets from the controller and to it."""

import pytest

from tests.p4src.bench.packets import data, host_ip, host_mac, igmp_message, igmp_packet, join, unicast
from tests.p4src.bench.program import enum
from tests.p4src.bench.setup import bitmap, install, route_group, route_host
from tests.p4src.bench.target import Target

GROUP = "239.1.1.1"


def _mode(name: str) -> int:
    return enum("packet_out_mode", name)


def query() -> bytes:
    """An IGMPv3 general query (RFC 3376 4.1), as the controller sends it to hosts."""
    return bytes(igmp_packet(igmp_message(0x11, 100, bytes(4) + b"\x02\x7d\0\0"), destination="224.0.0.1"))


@pytest.mark.parametrize("port", [1, 8, 100])
def test_out_of_one_port(switch: Target, port: int) -> None:
    packet = query()
    assert switch.packet_out(packet, port=port, mode=_mode("egress")) == [(port, packet)]


@pytest.mark.parametrize("ports", [8, 12, 16])
def test_out_of_several_ports(target: Target, ports: int) -> None:
    install(target, ports=ports)
    packet = query()
    for chosen in ([1], [2, 5], list(range(1, ports + 1)), [ports]):
        sent = target.packet_out(packet, mode=_mode("ports"), ports=bitmap(chosen))
        assert sent == [(port, packet) for port in chosen]


def test_out_of_no_port(switch: Target) -> None:
    assert switch.packet_out(query(), mode=_mode("ports"), ports=0) == []


def test_what_the_controller_sends_need_not_be_a_packet_that_the_switch_knows(switch: Target) -> None:
    for packet in (b"x", b"\0" * 13, bytes(range(256)) * 5):
        assert switch.packet_out(packet, port=2, mode=_mode("egress")) == [(2, packet)]


def test_sent_packets_are_not_counted_as_data(switch: Target) -> None:
    switch.packet_out(bytes(data("10.0.1.1", GROUP)), mode=_mode("ports"), ports=3)
    assert switch.counter("slot_port", 0) == (0, 0)
    assert switch.counter("slot_port", 1) == (0, 0)


@pytest.mark.parametrize("mode", [4, 64, 127])
def test_unknown_mode_is_dropped(switch: Target, mode: int) -> None:
    assert switch.packet_out(query(), port=1, mode=mode, ports=1) == []
    assert switch.drops() == {"packet_out": 1}


@pytest.mark.parametrize("length", [1, 2, 3])
def test_truncated_packet_out(switch: Target, length: int) -> None:
    assert switch.send(510, bytes(length)) == []
    assert switch.drops() == {"parse_error": 1}


def test_received_for_a_port(switch: Target) -> None:
    route_host(switch, 2)
    route_group(switch, GROUP, 1, accept=[1, 2, 3])
    packet = bytes(unicast(host_ip(1), host_ip(2)))
    assert [port for port, _ in switch.packet_out(packet, port=1, mode=_mode("receive"))] == [2]
    switch.packet_out(join(GROUP), port=3, mode=_mode("receive"))
    assert [port for port, _ in switch.send(1, bytes(data(host_ip(1), GROUP)))] == [3]
    assert switch.drops() == {}


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_received_for_a_port_but_truncated(switch: Target, cut: int) -> None:
    """The packet_out header does not make up for missing bytes."""
    route_host(switch, 2)
    packet = bytes(unicast(host_ip(1), host_ip(2), size=64))
    assert switch.packet_out(packet[:-cut], port=1, mode=_mode("receive")) == []
    assert switch.drops() == {"ipv4_length": 1}


def test_lldp_goes_to_the_controller(switch: Target) -> None:
    frame = bytes.fromhex("0180c200000e") + bytes.fromhex(host_mac(4).replace(":", "")) + b"\x88\xcc" + bytes(46)
    assert switch.send(4, frame) == []
    (packet_in,) = switch.packet_ins()
    assert (packet_in.ingress_port, packet_in.reason) == (4, enum("packet_in_reason", "lldp"))
    assert packet_in.packet == frame


def test_packet_in_of_a_high_port(switch: Target) -> None:
    """All nine bits of the port."""
    frame = bytes.fromhex("0180c200000e020000000104") + b"\x88\xcc" + bytes(46)
    switch.send(300, frame)
    assert [packet_in.ingress_port for packet_in in switch.packet_ins()] == [300]

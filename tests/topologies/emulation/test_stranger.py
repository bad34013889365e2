"""What a stranger's program hears and builds, without a network."""

import pytest

from hosts.endpoint import Address, Datagram
from hosts.protocols.mtcp.packets import encode_data
from topologies.emulation import stranger
from topologies.emulation.stranger import Order, Stranger, build, parse

GROUP, SENDER, ONE = Address("239.1.1.1", 5000), Address("10.0.0.1", 10000), Address("10.0.0.2", 10000)
DATA = Datagram(encode_data(7, False, 10, 1, 14000, bytes(1400)), SENDER, GROUP)


def order(forgery: str) -> Order:
    return Order("mtcp", 7, GROUP, SENDER, [ONE], False, forgery, 1, "10.0.0.9", "stranger-eth0")


def test_a_packet_is_built_and_heard_again() -> None:
    packet = build(DATA)
    assert parse(packet) == DATA
    assert parse(packet[:20]) is None
    assert parse(bytes([0x60]) + packet[1:]) is None, "IPv6"
    assert parse(packet[:6] + b"\x20\x00" + packet[8:]) is None, "a part of one"
    assert parse(packet[:9] + bytes([6]) + packet[10:]) is None, "TCP"


def test_it_attacks_once_it_is_told_to_and_the_session_is_under_way() -> None:
    one = Stranger(order("abort"))
    one.hear(DATA._replace(destination=Address("239.9.9.9", 1)))
    assert one.packets == 0
    one.is_told()
    assert one.attack() is None
    one.hear(DATA)
    packets = one.attack()
    assert packets is not None
    assert [(packet.source, packet.destination) for packet in packets] == [(SENDER, GROUP)]
    before = Stranger(order("announcement"))
    assert before.attack() is None
    before.is_told()
    assert before.attack(), "before there is any"


def test_feedback_is_what_a_receiver_of_its_own_would_say(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Stranger(order("reports"))
    one.hear(DATA)
    one.is_told()
    reports = one.attack()
    assert reports is not None
    assert {(packet.source.host, packet.destination) for packet in reports} == {("10.0.0.9", SENDER)}
    sealed = Stranger(order("reports"))
    sealed.hear(DATA._replace(data=bytes([2]) + DATA.data[1:]))
    sealed.is_told()
    assert sealed.attack() is None, "it understands nothing"
    monkeypatch.setattr(stranger, "_PATIENCE_S", 0.0)
    assert sealed.attack(), "then something that it has heard has to do"

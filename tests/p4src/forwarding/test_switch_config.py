"""switch_config.p4: nothing passes an unconfigured switch."""

from tests.p4src.bench.packets import SWITCH_MAC, arp_request, host_ip, host_mac, join, mac, unicast
from tests.p4src.bench.setup import install, route_host
from tests.p4src.bench.target import Target


def test_unconfigured_switch_drops_everything(target: Target) -> None:
    route_host(target, 2)
    for packet in (
        bytes(unicast(host_ip(1), host_ip(2))),
        bytes(arp_request(host_ip(1), host_mac(1), host_ip(2))),
        join("239.1.1.1"),
    ):
        assert target.send(1, packet) == []
    assert target.drops() == {"not_configured": 3}


def test_configuration_takes_effect_at_once(target: Target) -> None:
    route_host(target, 2)
    assert target.send(1, bytes(unicast(host_ip(1), host_ip(2)))) == []
    install(target)
    assert [port for port, _ in target.send(1, bytes(unicast(host_ip(1), host_ip(2))))] == [2]


def test_mac_can_be_changed(switch: Target) -> None:
    route_host(switch, 2)
    other = "02:00:00:00:00:fd"
    switch.set_default("switch_config", "set_config", {"mac": mac(other), "epoch_shift": 24, "bitmap_groups": 1})
    assert switch.send(1, bytes(unicast(host_ip(1), host_ip(2), to_mac=SWITCH_MAC))) == []
    ((_, sent),) = switch.send(1, bytes(unicast(host_ip(1), host_ip(2), to_mac=other)))
    assert sent[6:12] == bytes.fromhex(other.replace(":", ""))


def test_reset_forgets_everything(switch: Target) -> None:
    route_host(switch, 2)
    switch.reset()
    assert switch.send(1, bytes(unicast(host_ip(1), host_ip(2)))) == []
    assert switch.drops() == {"not_configured": 1}

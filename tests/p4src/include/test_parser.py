"""parser.p4: what is too short or is not a packet of ours is routed and replicated like any other."""

import pytest
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

from hosts.protocols.mtcp.packets import encode_data
from tests.p4src.bench.feedback import GROUP, PARENT_PORT, Bench
from tests.p4src.bench.packets import SWITCH_MAC, data, group_mac, host_ip, host_mac, unicast
from tests.p4src.bench.setup import route_group
from tests.p4src.bench.target import Target


@pytest.mark.parametrize("size", range(14))
def test_datagrams_that_are_too_short_to_be_looked_at(target: Target, size: int) -> None:
    bench = Bench(target)
    bench.assist()
    payload = bytes((1, 1, 1, 0))[:size] + bytes(max(0, size - 4))
    ip = IP(src=host_ip(2), dst=host_ip(3), ttl=8, proto=17)
    sent = bytes(Ether(src=host_mac(2), dst=SWITCH_MAC) / ip / payload)
    ((port, packet),) = target.send(2, sent)
    assert port == 3
    assert packet[34:] == sent[34:]
    ip = IP(src=host_ip(PARENT_PORT), dst=GROUP, ttl=8, proto=17)
    sent = bytes(Ether(src=host_mac(1), dst=group_mac(GROUP)) / ip / payload)
    ((port, packet),) = target.send(PARENT_PORT, sent)
    assert (port, packet[34:]) == (2, sent[34:])


def test_others_datagrams_pass_as_they_are(target: Target) -> None:
    bench = Bench(target)
    bench.assist()
    route_group(target, "239.1.1.1", 2, accept=[1])
    for payload in (b"", b"\x01", encode_data(7, False, 1, 2, 3, b"x")[:10], bytes(152)):
        packet = unicast(host_ip(2), host_ip(3), size=0) / payload
        ((port, left),) = target.send(2, bytes(packet))
        assert port == 3
        assert left[34:] == bytes(packet)[34:]
    assert bytes(data(host_ip(1), GROUP))[34:] == target.send(1, bytes(data(host_ip(1), GROUP)))[0][1][34:]

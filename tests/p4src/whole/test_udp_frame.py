"""The frames of the tests that send ten thousands, against Scapy's."""

from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from tests.p4src.bench.packets import UDP_PORT, udp_frame

MACS = st.binary(min_size=6, max_size=6).map(lambda octets: octets.hex(":"))
ADDRESSES = st.ip_addresses(v=4).map(str)


@given(MACS, MACS, ADDRESSES, ADDRESSES, st.integers(0, 255), st.binary(max_size=300))
def test_it_is_the_frame_that_scapy_makes(a: str, b: str, source: str, destination: str, ttl: int, text: bytes) -> None:
    ip = IP(src=source, dst=destination, ttl=ttl) / UDP(sport=UDP_PORT, dport=UDP_PORT) / text
    assert udp_frame(a, b, source, destination, ttl, text) == bytes(Ether(src=a, dst=b) / ip)

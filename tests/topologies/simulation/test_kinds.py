import pytest
from canopy_engine import Switch
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Packet

from controller.network import CPU_PORT
from controller.program import BLOB_NAME, default_directory
from hosts.protocols.webrc.packets import Alc, encode
from hosts.wire.header import COMMON, SEALED_VERSION, VERSION
from topologies.simulation.kinds import kind_of, with_kinds

ACK, MERGE = 3, 2


@pytest.fixture(scope="module")
def switch() -> Switch:
    program = (default_directory() / BLOB_NAME).read_text()
    switch = Switch(with_kinds(program), cpu_port=CPU_PORT)
    switch.set_trace(1000)
    return switch


def kind(switch: Switch, datagram: bytes) -> str:
    """What the parser knows it for."""
    return kind_of_payload(switch, UDP(sport=1, dport=2) / datagram)


def kind_of_payload(switch: Switch, payload: Packet, fragment: int = 0) -> str:
    frame = Ether(dst="01:00:5e:01:00:01") / IP(src="10.0.0.1", dst="232.1.0.1", frag=fragment) / payload
    switch.process(1, bytes(frame))
    return kind_of([line.split("'")[1] for line in switch.take_trace(1000) if "Parser entering state" in line])


def header(protocol: int, of_type: int, *, version: int = VERSION, flags: int = 0) -> bytes:
    return COMMON.struct.pack(version, protocol, of_type, flags, 7) + bytes(200)


def test_packets_have_their_protocols_names_whether_switches_help_or_not(switch: Switch) -> None:
    assert kind(switch, header(1, 1)) == "mtcp_data"
    assert kind(switch, header(1, ACK)) == "mtcp_ack"
    assert kind(switch, header(1, ACK, flags=MERGE)[:34]) == "mtcp_ack"
    assert kind(switch, header(1, 0x70)) == "mtcp_ask"


def test_a_sealed_packet_says_that_it_is(switch: Switch) -> None:
    assert kind(switch, header(1, ACK, version=SEALED_VERSION)) == "mtcp_ack_sealed"


def test_packets_without_the_common_header_are_known_by_their_own(switch: Switch) -> None:
    assert kind(switch, encode(Alc(7, 0, 1, 5, symbol=bytes(100)))) == "webrc_short"
    assert kind(switch, encode(Alc(7, 0, 1, 5, symbol=bytes(100), is_long=True))) == "webrc_long"


@pytest.mark.parametrize("payload", [b"", b"abc", bytes(300), header(1, 0xEE), header(0xEE, 1)])
def test_what_is_of_no_protocol_is_udp(switch: Switch, payload: bytes) -> None:
    assert kind(switch, payload) == "udp"


def test_tcp_is_told_from_other_payloads(switch: Switch) -> None:
    assert kind_of_payload(switch, TCP(sport=1, dport=2) / bytes(100)) == "tcp"
    assert kind_of_payload(switch, TCP(sport=1, dport=2) / bytes(100), fragment=100) == "ipv4_payload"
    assert kind_of_payload(switch, ICMP()) == "ipv4_payload"

"""Plain L2 and L3 forwarding of 64-byte frames from one port to another, by tables of some hundred entries."""

from ipaddress import IPv4Address
from pathlib import Path

from experiments.bench.switch.workload import Entry, Workload, ipv4_packet, udp_datagram

PROGRAMS = Path(__file__).resolve().parent / "programs"
INPUT_PORT, OUTPUT_PORT = 1, 2
FRAME_BYTES = 64  # without the frame check sequence, which no program sees

_HOSTS = 500  # entries of each table, of which the frame hits one
_ETHERTYPE_IPV4 = bytes.fromhex("0800")
_PROTOCOL_UDP = 17


def _mac(host: int) -> int:
    return 0x020000000000 | host


def _bytes_of(mac: int) -> bytes:
    return mac.to_bytes(6, "big")


def _l2_entries() -> tuple[Entry, ...]:
    """Odd hosts are behind the input port, even ones behind the output port."""
    ports = {host: INPUT_PORT if host % 2 else OUTPUT_PORT for host in range(1, _HOSTS + 1)}
    sources = (
        Entry("sources", {"hdr.ethernet.source": _mac(host), "standard.ingress_port": port}, "NoAction", {})
        for host, port in ports.items()
    )
    destinations = (
        Entry("destinations", {"hdr.ethernet.destination": _mac(host)}, "forward", {"port": port})
        for host, port in ports.items()
    )
    return (*sources, *destinations)


def _l3_entries() -> tuple[Entry, ...]:
    """10.x.y.0/24 of many x and y behind as many next hops, and 10.0.0.0/8 behind the first."""
    prefixes = [(int(IPv4Address("10.1.0.0")) + (host << 8), 24) for host in range(1, _HOSTS)]
    prefixes.append((int(IPv4Address("10.0.0.0")), 8))
    routes = (
        Entry("routes", {"hdr.ipv4.destination": prefix}, "route", {"next_hop": hop, "port": OUTPUT_PORT})
        for hop, prefix in enumerate(prefixes, 1)
    )
    next_hops = (
        Entry("next_hops", {"meta.next_hop": hop}, "rewrite", {"mac": _mac(hop)}) for hop in range(1, len(prefixes) + 1)
    )
    interfaces = (
        Entry("interfaces", {"standard.egress_port": port}, "rewrite_source", {"mac": _mac(port)})
        for port in (INPUT_PORT, OUTPUT_PORT)
    )
    return (*routes, *next_hops, *interfaces)


def _frame(destination: int, source: int) -> bytes:
    """A UDP datagram between those hosts' MAC addresses."""
    datagram = udp_datagram(FRAME_BYTES - 14 - 20)
    packet = ipv4_packet(IPv4Address("10.250.0.1"), IPv4Address("10.1.200.7"), 64, _PROTOCOL_UDP, datagram)
    return _bytes_of(_mac(destination)) + _bytes_of(_mac(source)) + _ETHERTYPE_IPV4 + packet


def _forwarding(name: str, title: str, frame: bytes, entries: tuple[Entry, ...]) -> Workload:
    return Workload(
        name=name,
        title=f"{title}, {FRAME_BYTES} bytes, 1 to 1",
        program_json=PROGRAMS / f"{name}.json",
        p4info=PROGRAMS / f"{name}.p4info.txtpb",
        input_port=INPUT_PORT,
        output_ports=(OUTPUT_PORT,),
        frame=frame,
        entries=entries,
    )


L2 = _forwarding("l2", "plain L2", _frame(40, 31), _l2_entries())
L3 = _forwarding("l3", "plain L3", _frame(INPUT_PORT, 77), _l3_entries())

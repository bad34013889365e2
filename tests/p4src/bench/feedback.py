"""Protocols' packets through a switch under test: built, sent, and taken apart again."""

from dataclasses import dataclass

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from hosts.endpoint import Address
from hosts.protocols.mtcp.control import encode_abort, encode_probe
from hosts.protocols.mtcp.packets import Feedback, encode_data, encode_merged, parse
from hosts.wire.reason import Reason
from tests.p4src.bench.packets import SWITCH_MAC, group_mac, host_ip, host_mac, join
from tests.p4src.bench.setup import bitmap, install, route_host, route_source
from tests.p4src.bench.target import Target

PORTS = 8
PARENT_PORT = 1
GROUP = "232.1.1.1"
UDP_PORT = 5000


@dataclass
class Bench:
    """A switch of eight ports: the sender, who is every parent, is behind port 1, children are behind the others."""

    target: Target
    session: int = 7

    def __post_init__(self) -> None:
        target = self.target
        install(target, ports=PORTS)
        for port in range(1, PORTS + 1):
            route_host(target, port)
        route_source(target, host_ip(PARENT_PORT), GROUP, 1, accept=[PARENT_PORT])
        target.send(2, join(GROUP, host_ip(PARENT_PORT)))
        target.advance(1000)  # time 0 is before everything

    def assist(self, switch_ports: frozenset[int] = frozenset()) -> None:
        """Switches merging on."""
        self.target.set_default("assist", "set_assist", {"switch_ports": bitmap(switch_ports)})

    # --- MTCP's packets

    def data(self, seq: int, *, session: int | None = None) -> None:
        """A data packet passes down."""
        packet = encode_data(self.session if session is None else session, False, seq, 1, 0, b"x" * 100)
        assert self.down(packet) == packet

    def probe(self, port: int, rtt_us: int, *, parent: str | None = None) -> None:
        """A parent's probe passes down."""
        packet = encode_probe(self.session, 123, rtt_us, 0, (Address(host_ip(1), UDP_PORT),))
        outputs = self._unicast(PARENT_PORT, packet, parent or host_ip(PARENT_PORT), host_ip(port))
        assert [out for out, _ in outputs] == [port]

    def abort(self, port: int) -> None:
        """A child leaves."""
        packet = encode_abort(self.session, Reason.INTERRUPTED)
        assert self.up(port, packet) == [packet]

    def feedback(self, port: int, packet: Feedback, *, parent: str | None = None) -> Feedback | None:
        """Feedback goes up; what leaves towards the parent."""
        left = self.up(port, encode_merged(packet), parent=parent)
        if not left:
            return None
        (payload,) = left
        parsed = parse(payload)
        assert isinstance(parsed, Feedback)
        return parsed

    # --- anybody's

    def down(self, payload: bytes) -> bytes:
        """A datagram of the sender to the group; how its copy leaves."""
        udp = IP(src=host_ip(PARENT_PORT), dst=GROUP, ttl=8) / UDP(sport=UDP_PORT, dport=UDP_PORT) / payload
        ((out, frame),) = self.target.send(PARENT_PORT, bytes(Ether(src=host_mac(1), dst=group_mac(GROUP)) / udp))
        assert out == 2
        return self._payload(frame, host_ip(PARENT_PORT), GROUP, len(payload))

    def up(self, port: int, payload: bytes, *, parent: str | None = None) -> list[bytes]:
        """A datagram of the host behind `port` to a parent; what leaves there.

        Checksums are verified, and that everything around the datagram is as it was.
        """
        source, destination = host_ip(port), parent or host_ip(PARENT_PORT)
        left = []
        for out, frame in self._unicast(port, payload, source, destination):
            assert out == PARENT_PORT
            assert Ether(frame).dst == host_mac(PARENT_PORT)
            left.append(self._payload(frame, source, destination, len(payload)))
        return left

    @staticmethod
    def _payload(frame: bytes, source: str, destination: str, size: int) -> bytes:
        left = Ether(frame)
        assert left.src == SWITCH_MAC
        ip = left[IP]
        assert (ip.src, ip.dst, ip.ttl, ip.len) == (source, destination, 7, 28 + size)
        assert (ip[UDP].sport, ip[UDP].dport, ip[UDP].len) == (UDP_PORT, UDP_PORT, 8 + size)
        rebuilt = ip.copy()
        checksums = (rebuilt.chksum, rebuilt[UDP].chksum)
        del rebuilt.chksum, rebuilt[UDP].chksum
        again = IP(bytes(rebuilt))
        assert checksums == (again.chksum, again[UDP].chksum)
        return bytes(ip[UDP].payload)

    def _unicast(self, port: int, payload: bytes, source: str, destination: str) -> list[tuple[int, bytes]]:
        udp = IP(src=source, dst=destination, ttl=8) / UDP(sport=UDP_PORT, dport=UDP_PORT) / payload
        return self.target.send(port, bytes(Ether(src=host_mac(port), dst=SWITCH_MAC) / udp))

    def outcomes(self) -> dict[str, int]:
        """The counter `feedback`, by name."""
        names = self.target.program.constants.enums["feedback"]
        counts = {name: self.target.counter("feedback", index)[0] for name, index in names.items()}
        return {name: count for name, count in counts.items() if count}

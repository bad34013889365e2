"""Protocols' packets through a switch under test: built, sent, and taken apart again."""

from dataclasses import dataclass

from hosts.endpoint import Address
from hosts.protocols.mtcp.packets import FEEDBACK, Feedback, encode_data, encode_repair, parse
from hosts.protocols.mtcp.tree_packets import encode_abort, encode_probe
from hosts.wire.reason import Reason
from tests.p4src.bench.packets import SWITCH_MAC, UDP_PORT, group_mac, host_ip, host_mac, join, udp_frame
from tests.p4src.bench.setup import bitmap, install, route_host, route_source
from tests.p4src.bench.target import Target

PORTS = 8
PARENT_PORT = 1
GROUP = "232.1.1.1"
TTL = 8
HEADERS = 14 + 20 + 8
"""Bytes of Ethernet's, IPv4's and UDP's headers."""


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

    def repair(self, port: int, seq: int, time_us: int, *, merge: bool = True, parent: str | None = None) -> list[int]:
        """A parent's repair for the child behind `port` passes down; the ports that it leaves by, each for the child
        there and otherwise as it was.
        """
        data = encode_data(self.session, False, seq, 1, 0, b"x" * 100)
        packet = encode_repair(data, time_us, merge=merge)
        source = parent or host_ip(PARENT_PORT)
        outputs = self._unicast(PARENT_PORT, packet, source, host_ip(port))
        for out, frame in outputs:
            assert frame == udp_frame(SWITCH_MAC, host_mac(out), source, host_ip(out), TTL - 1, packet)
        return [out for out, _ in outputs]

    def abort(self, port: int) -> None:
        """A child leaves."""
        packet = encode_abort(self.session, Reason.INTERRUPTED)
        assert self.up(port, packet) == [packet]

    def feedback(self, port: int, packet: Feedback, *, parent: str | None = None) -> Feedback | None:
        """Feedback goes up; what leaves towards the parent."""
        left = self.up(port, FEEDBACK.encode(packet), parent=parent)
        if not left:
            return None
        (payload,) = left
        parsed = parse(payload)
        assert isinstance(parsed, Feedback)
        return parsed

    # --- anybody's

    def down(self, payload: bytes) -> bytes:
        """A datagram of the sender to the group; how its copy leaves."""
        source = host_ip(PARENT_PORT)
        sent = udp_frame(host_mac(PARENT_PORT), group_mac(GROUP), source, GROUP, TTL, payload)
        ((out, frame),) = self.target.send(PARENT_PORT, sent)
        assert out == 2
        left = frame[HEADERS:]
        assert frame == udp_frame(SWITCH_MAC, group_mac(GROUP), source, GROUP, TTL - 1, left)
        return left

    def up(self, port: int, payload: bytes, *, parent: str | None = None) -> list[bytes]:
        """A datagram of the host behind `port` to a parent; what leaves there.

        Checksums are verified, and that everything around the datagram is as it was.
        """
        left = self.up_or_back(port, payload, parent=parent)
        assert all(out == PARENT_PORT for out, _ in left)
        return [answer for _, answer in left]

    def up_or_back(self, port: int, payload: bytes, *, parent: str | None = None) -> list[tuple[int, bytes]]:
        """As `up`, for what the switch may send back, too: (port, datagram)."""
        source, destination = host_ip(port), parent or host_ip(PARENT_PORT)
        left = []
        for out, frame in self._unicast(port, payload, source, destination):
            answer = frame[HEADERS:]
            assert len(answer) == len(payload)
            ends = (source, destination) if out == PARENT_PORT else (destination, source)
            assert out in (PARENT_PORT, port)
            assert frame == udp_frame(SWITCH_MAC, host_mac(out), *ends, TTL - 1, answer)
            left.append((out, answer))
        return left

    def parent_sends(self, port: int, payload: bytes) -> None:
        """A datagram from the first port's side to the host behind `port`, which passes as it is."""
        source, destination = host_ip(PARENT_PORT), host_ip(port)
        frame = udp_frame(SWITCH_MAC, host_mac(port), source, destination, TTL - 1, payload)
        assert self._unicast(PARENT_PORT, payload, source, destination) == [(port, frame)]

    def _unicast(self, port: int, payload: bytes, source: str, destination: str) -> list[tuple[int, bytes]]:
        return self.target.send(port, udp_frame(host_mac(port), SWITCH_MAC, source, destination, TTL, payload))

    def outcomes(self) -> dict[str, int]:
        """The counter `feedback`, by name."""
        names = self.target.program.constants.enums["feedback"]
        counts = {name: self.target.counter("feedback", index)[0] for name, index in names.items()}
        return {name: count for name, count in counts.items() if count}

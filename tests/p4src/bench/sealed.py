"""A switch with keys at its ports, and sealed packets through it: what neighbours vouch for, and what they do not."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from hosts.wire.header import HEADED_VERSION, VERSION
from hosts.wire.sealed import HEADED, HOP, SEAL, TAG_BYTES, Hop, OpenHead
from tests.p4src.bench.feedback import PARENT_PORT, Bench
from tests.p4src.bench.packets import SWITCH_MAC, UDP_PORT, address, group_mac, host_ip, host_mac
from tests.p4src.bench.target import Target
from tests.p4src.models.halfsiphash import hop_tag

SWITCH_PORT = 6
SINCE = 1 << 40
MESSAGES = (76, 140, 172)
"""Bytes of what is tagged."""
_SEAL = bytes(range(SEAL.size))
_WHO, _TAG = bytes(range(HEADED.size)), bytes(range(TAG_BYTES))


def key_in(port: int) -> int:
    return 0x0123456789ABCDEF * port % 2**64


def key_out(port: int) -> int:
    return 0xFEDCBA9876543210 * port % 2**64


def tagged(key: int, counter: int, source: str, destination: str, packet: bytes) -> int:
    """The tag of feedback, by the model."""
    ports = UDP_PORT.to_bytes(2, "big") * 2
    ends = address(source).to_bytes(4, "big") + address(destination).to_bytes(4, "big")
    message = counter.to_bytes(8, "big") + ends + ports + packet
    return hop_tag(key, message.ljust(min(size for size in MESSAGES if size >= len(message)), b"\0"))


@dataclass
class Sealed:
    """A switch with keys at all ports but some, and another switch behind port 6."""

    target: Target
    without: frozenset[int] = frozenset()
    bench: Bench = field(init=False)
    counters: Iterator[int] = field(default_factory=lambda: iter(range(100, 1 << 20)))
    sent: int = SINCE

    def __post_init__(self) -> None:
        self.bench = Bench(self.target)
        self.bench.assist(frozenset({SWITCH_PORT}))
        for port in range(1, 9):
            if port not in self.without:
                args = {"key": key_in(port), "from_switch": int(port == SWITCH_PORT)}
                self.target.insert("hop_in", {"port": port}, "set_hop_key", args)
                self.target.insert("hop_out", {"port": port}, "set_hop_out", {"key": key_out(port), "since": SINCE})

    def data(self, packet: bytes, head: OpenHead) -> bytes:
        """Sealed data pass down: how the part that is open leaves. All behind it is as it was."""
        opened, rest = bytes([HEADED_VERSION]) + packet[1 : head.size], packet[head.size :]
        behind = _WHO + rest + _TAG
        left = self.bench.down(opened + behind)
        assert (left[0], left[head.size :]) == (HEADED_VERSION, behind)
        return bytes([VERSION]) + left[1 : head.size]

    def frame_of(self, port: int, packet: bytes, counter: int | None = None, to: str | None = None) -> bytes:
        """Sealed feedback of the host behind a port. The end-to-end seal is of no interest to switches."""
        head = bytes([HEADED_VERSION]) + packet[1:]
        counter = next(self.counters) if counter is None else counter
        destination = to or host_ip(PARENT_PORT)
        tag = tagged(key_in(port), counter, host_ip(port), destination, head) if counter else 0
        payload = head + _SEAL + HOP.pack(Hop(counter, tag))
        mac = SWITCH_MAC if to is None else group_mac(to)
        ip = IP(src=host_ip(port), dst=destination, ttl=8)
        return bytes(Ether(src=host_mac(port), dst=mac) / ip / UDP(sport=UDP_PORT, dport=UDP_PORT) / payload)

    def drops_what_is_changed(self, port: int, packet: bytes, step: int = 1) -> tuple[dict[str, int], int]:
        """Sends feedback with one byte changed after it was tagged: of addresses, ports, flags and session, each
        `step`th of the rest, and those that vouch for it. What it was all dropped as, and how many there were."""
        start, end = 14 + 20, 14 + 20 + 8 + len(packet)
        places = [26, 29, start, start + 2, start + 14, start + 15]  # addresses' last bytes, ports, flags, session
        places += [*range(start + 16, end, step), *range(end + SEAL.size, end + SEAL.size + HOP.size)]
        for place in places:
            frame = bytearray(self.frame_of(port, packet))
            frame[place] ^= 0x20
            forged = Ether(bytes(frame))
            del forged[IP].chksum, forged[UDP].chksum
            assert self.target.send(port, bytes(forged)) == [], place
        return self.target.drops(), len(places)

    def drops_what_has_come_before(self, first: bytes, second: bytes) -> list[bytes]:
        """Two frames of port 2 leave, once each, as is returned; from another port they never do."""
        left = [packet for frame in (first, second) if (packet := self.sends(2, frame)) is not None]
        assert len(left) == 2
        for frame in (first, second, first):
            assert self.target.send(2, frame) == []
        assert self.target.drops() == {"hop_replay": 3}
        assert self.target.send(3, second) == []  # another port has another key
        assert self.target.drops() == {"hop_replay": 3, "hop_tag": 1}
        return left

    def sends(self, port: int, frame: bytes, *, vouched: bool = True) -> bytes | None:
        """What leaves towards the parent of such a frame; its tag is checked."""
        left = self.all_sent(port, frame, vouched=vouched)
        if not left:
            return None
        (packet,) = left
        return packet

    def all_sent(self, port: int, frame: bytes, *, vouched: bool = True) -> list[bytes]:
        """Likewise, where several may leave."""
        return [self._checked(port, out, sent, vouched) for out, sent in self.target.send(port, frame)]

    def _checked(self, port: int, out: int, bytes_left: bytes, vouched: bool) -> bytes:
        assert out == PARENT_PORT
        udp = Ether(bytes_left)[UDP]
        payload = bytes(udp.payload)
        assert udp.chksum == 0
        end = len(payload) - HOP.size
        head, seal, hop = payload[: end - SEAL.size], payload[end - SEAL.size : end], payload[end:]
        assert (head[0], seal) == (HEADED_VERSION, _SEAL)
        counter, tag = HOP.made_of(HOP.struct.unpack(hop))
        if vouched:
            self.sent += 1
            assert counter == self.sent
            assert tag == tagged(key_out(out), counter, host_ip(port), host_ip(PARENT_PORT), head)
        else:
            assert (counter, tag) == (0, 0)
        return bytes([VERSION]) + head[1:]

    def up(self, port: int, packet: bytes) -> bytes | None:
        """Sealed feedback that its host vouches for; what leaves."""
        return self.sends(port, self.frame_of(port, packet))

"""Captures of each kind of session, kept as they were: what is received today must be received tomorrow.

`sessions.pcap.xz` has one session a UDP port, from the base and wave channels of a sender of each kind, and last what
flute-alc 1.11.7 sends of `PEERS` in RaptorQ symbols of two sub-blocks (its Rust crate does: its Python module cannot).
`python -m tests.hosts.protocols.webrc.captures` makes ours again; flute-alc's stays.
"""

import io
import lzma
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import PcapWriter, rdpcap

from hosts.endpoint import Send
from hosts.protocol import Session
from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.sender import WebrcSender
from tests.hosts.protocols.webrc.memory import FAST, GROUP, SENDER, FromTheStart, packets

PATH: Final = Path(__file__).parent / "sessions.pcap.xz"
DATA: Final = bytes(at // 128 for at in range(9001))
"""No two blocks are the same, and yet what codes make of them takes little room."""
PEERS: Final = Random(11).randbytes(9001)
"""The file that flute-alc sends."""
KINDS: Final[dict[str, dict[str, Any]]] = {
    "raptorq": {},
    "reed-solomon": {"fec": "reed-solomon"},
    "no-code, version 1": {"fec": "no-code", "flute_version": 1},
    "gzip": {"gzip": True},
    "long format": {"quiescence_s": 600.0},
}
"""Parameters of the sessions with a file, in the order of their ports, from the group's on."""
REALTIME: Final = GROUP.port + len(KINDS)
PEER: Final = REALTIME + 1


def sessions() -> dict[int, list[tuple[str, bytes]]]:
    """The kept datagrams with their groups, by UDP port."""
    found: dict[int, list[tuple[str, bytes]]] = {}
    for packet in rdpcap(io.BytesIO(lzma.decompress(PATH.read_bytes()))):
        found.setdefault(packet[UDP].dport, []).append((packet[IP].dst, bytes(packet[UDP].payload)))
    return found


def _ours() -> Iterator[tuple[int, Send]]:
    today = {**FAST, "rules": "today"}
    for port, how in enumerate(KINDS.values(), GROUP.port):
        options = WebrcOptions(**{**today, "carousel_s": 4.0, **how})
        found = [send for _, send in packets(options, DATA, 6.0)]
        base = [send for send in found if send.destination == GROUP]
        yield from ((port, send) for send in [*base[:4], *found[:13], *found[-2:]])
    sender = WebrcSender(Session(GROUP, SENDER.host, 7, realtime=True), WebrcOptions(**today), FromTheStart())
    sender.start(now=0.0)
    for _ in range(12):
        for effect in sender.handle_timer(now=sender.wake_at or 0.0):
            assert isinstance(effect, Send)
            yield REALTIME, effect


def _keep() -> None:
    peer = sessions()[PEER] if PATH.exists() else []
    ours = [(port, send.destination.host, send.data) for port, send in _ours()]
    frames = []
    for port, group, data in [*ours, *((PEER, group, data) for group, data in peer)]:
        link = Ether(src="02:00:00:00:00:01", dst="01:00:5e:06:00:00")
        frames.append(link / IP(src=SENDER.host, dst=group) / UDP(sport=SENDER.port, dport=port) / data)
    made = io.BytesIO()
    PcapWriter(made).write(frames)
    best = {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4}
    PATH.write_bytes(lzma.compress(made.getvalue(), filters=[best]))


if __name__ == "__main__":
    _keep()

"""DATA packets of a stream that follow each other: made and read as one run (canopy_engine.StreamFraming)."""

from collections.abc import Iterator
from typing import Any, Final

from canopy_engine import StreamFraming

from hosts.endpoint import DatagramRun
from hosts.wire.format import Format
from hosts.wire.header import COMMON

MESSAGE_BYTES: Final = 65_507
"""The most that leaves as one message: what an IPv4 packet holds behind its header and UDP's."""
MOST_PACKETS: Final = 64
"""In one run that is sent: what the kernel cuts one message into (linux/udp.h, UDP_MAX_SEGMENTS until 6.9)."""


def framing(data: Format[Any]) -> StreamFraming:
    """Of a protocol's DATA packet, that has the fields `seq` and `offset`."""
    at = {place.name: COMMON.size + (place.at or 0) // 8 for place in data.places()}
    return StreamFraming(data.struct.size, at["seq"], at["offset"])


def run_packets(datagram_bytes: int) -> int:
    """Packets of so many bytes in one run, at most."""
    return max(1, min(MOST_PACKETS, MESSAGE_BYTES // datagram_bytes))


def pieces(stream: StreamFraming, run: DatagramRun) -> Iterator[tuple[DatagramRun, bytes]]:
    """The parts of a run, in order, in which packets follow each other in number and place, with the same head
    otherwise; and their payloads, one after the other. A single one may be anything."""
    rest = run
    while rest.data:
        count, payload = stream.join(rest.data, rest.size)
        part, rest = rest.split(max(1, count))
        yield part, payload

"""DATA packets of a stream that follow each other: made and read as one run (canopy_engine.StreamFraming)."""

from collections.abc import Iterator
from typing import Any

from canopy_engine import StreamFraming

from hosts.endpoint import DatagramRun
from hosts.wire.format import Format
from hosts.wire.header import COMMON


def framing(data: Format[Any]) -> StreamFraming:
    """Of a protocol's DATA packet, that has the fields `seq` and `offset`."""
    at = {place.name: COMMON.size + (place.at or 0) // 8 for place in data.places()}
    return StreamFraming(data.struct.size, at["seq"], at["offset"])


def pieces(stream: StreamFraming, run: DatagramRun) -> Iterator[tuple[DatagramRun, bytes]]:
    """The parts of a run, in order, in which packets follow each other in number and place, with the same head
    otherwise; and their payloads, one after the other. A single one may be anything."""
    rest = run
    while rest.data:
        count, payload = stream.join(rest.data, rest.size)
        part, rest = rest.split(max(1, count))
        yield part, payload


def singly(packet: Any, payload: bytes) -> Iterator[tuple[int, Any]]:
    """DATA packets like this one that follow each other from it on, with as much of the payload each; and how many came
    before.
    """
    size = len(packet.payload)
    for start in range(0, len(payload), size):
        yield start // size, packet._replace(offset=packet.offset + start, payload=payload[start : start + size])

"""What a receiver does with the packets of a reliable stream as they come: what does not fit, or cannot be right, is
dropped, and the rest is put in order; all of it is counted.
"""

from collections import Counter
from typing import Any, NamedTuple

from hosts.endpoint import Effect, StreamEnded
from hosts.parts.reassembly import Packet, Reassembly
from hosts.wire.seq import extend


class Taken(NamedTuple):
    """A packet, or some that follow each other, that the stream has now."""

    seq: int  # the first one's, extended
    is_new: bool  # False: a repeat
    is_gap: bool  # something before it has not come
    effects: list[Effect]  # what is delivered by it


def take(stream: Reassembly[Packet], packet: Packet, name: str, counters: Counter[str]) -> Taken | None:
    """Take a packet, which is counted by that name; None: it was dropped. Raises BrokenStreamError."""
    received = stream.received
    seq = extend(packet.seq, received.cumulative)
    if not stream.takes(seq, packet.offset, len(packet.payload)):
        counters["drop_outside_window"] += 1
        return None
    if not stream.is_right(seq, packet):
        counters["drop_wrong"] += 1
        return None
    counters[name] += 1
    is_gap = seq > received.end
    delivered = stream.add(seq, packet)
    if delivered is None:
        counters["duplicate_packets"] += 1
        return Taken(seq, False, is_gap, [])
    return Taken(seq, True, is_gap, _effects(stream, delivered))


def take_run(
    stream: Reassembly[Packet], first: Packet, payload: bytes, count: int, counters: Counter[str]
) -> Taken | None:
    """Take `count` DATA of equal size that follow each other, `payload` together, of which none ends the stream. None:
    they have to be taken one by one. Raises BrokenStreamError."""
    received = stream.received
    seq = extend(first.seq, received.cumulative)
    if seq < received.cumulative or not stream.takes(seq, first.offset, len(payload), count):
        return None
    named_tuple: Any = first
    whole = named_tuple._replace(payload=payload)
    if not stream.is_right(seq, whole, count):
        return None
    is_gap = seq > received.end
    delivered = stream.add_run(seq, count, whole)
    if delivered is None:
        return None
    counters["data_packets"] += count
    return Taken(seq, True, is_gap, _effects(stream, delivered))


def _effects(stream: Reassembly[Packet], delivered: list[Any]) -> list[Effect]:
    if stream.ended:
        delivered.append(StreamEnded(stream.delivered))
    return delivered

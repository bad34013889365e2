"""What the tests of protocols' codecs share: fields' values, and packets with the bytes that they are encoded to."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from hypothesis import strategies as st

from hosts.wire.reason import Reason

u8, u16, u32, u64 = (st.integers(0, 2**bits - 1) for bits in (8, 16, 32, 64))
positive = st.integers(1, 2**32 - 1)
reasons = st.sampled_from(Reason)

Pairs: TypeAlias = st.SearchStrategy[tuple[Any, bytes]]


def encoded(packets: st.SearchStrategy[Any], encode: Callable[[Any], bytes]) -> Pairs:
    """Packets of a type, each with its bytes."""
    return packets.map(lambda packet: (packet, encode(packet)))


@dataclass(frozen=True)
class Codec:
    """A protocol's."""

    number: int
    parse: Callable[[bytes], object]
    parse_data: Callable[[bytes], object]
    """The short way to packets of type `data`; None for others."""
    data: type
    packets: Pairs
    """Of all types."""

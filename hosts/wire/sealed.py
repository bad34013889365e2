"""What is readable of a sealed packet (docs/security.md): its first bytes; or, of one that switches have to read, its
head, what says behind that who sealed it, and what one hop of its way says to the next."""

from typing import Any, Final, NamedTuple

from hosts.wire.fields import Bitmap, Number, Reserved
from hosts.wire.header import HEADER_BYTES, SEALED_VERSION
from hosts.wire.layout import Layout

_WHO: Final = (
    Number("sender", 64, "drawn at each start of an endpoint"),
    Number("counter", 32, "of the sender's packets"),
    Number("sealed_at", 32, "Unix time, seconds, modulo 2^32"),
)
SEALED: Final = Layout[object](
    "sealed",
    None,
    Number("version", 8, "of the seal", least=SEALED_VERSION, most=SEALED_VERSION),
    Number("protocol", 8, "of the common header within; 0: none"),
    Number("type", 8, "likewise"),
    Number("epoch", 8, "whose secret it is sealed with"),
    *_WHO,
)
TAG_BYTES: Final = 16
"""At the packet's end."""

HEADED: Final = Layout[object](
    "headed", None, Number("epoch", 8, "whose secret it is sealed with"), Reserved("reserved", 24), *_WHO
)
"""Behind an open head; then come the rest of the packet and the tag."""

SEAL: Final = Layout[object](
    "seal",
    None,
    Number("epoch", 8, "whose secret it is sealed with"),
    *_WHO,
    Number("tag", 64, "end to end; of what a switch has merged it says nothing"),
)
"""Behind feedback, which is open as a whole."""

HOP_COUNTER_BITS: Final = 56


class Hop(NamedTuple):
    """What one hop says of feedback to the next."""

    counter: int
    tag: int


HOP: Final = Layout(
    "hop",
    Hop,
    Bitmap("counter", HOP_COUNTER_BITS, "rises with each packet of who sends it; 0: nobody vouches for it"),
    Number("tag", 64, "HalfSipHash-2-4 under the key of the port"),
)
"""At the end of feedback."""
FEEDBACK_SEAL_BYTES: Final = SEAL.size + HOP.size
"""What feedback that neighbours vouch for is longer by."""


class OpenHead(NamedTuple):
    """How much of a packet is open where its session's packets are sealed and switches help it."""

    size: int
    """Bytes from the common header on. The rest is encrypted, all is authenticated."""
    flags: int = 0
    """Only of packets that have one of these; 0: of all."""
    is_copied: bool = False
    """Switches send it to others, too: to whom it goes is not sealed."""
    is_vouched: bool = False
    """Feedback, for which neighbours vouch: it is open as a whole, if it has just this size, and a `Hop` follows."""
    merged: int = 0
    """Of feedback: the flag by which a switch says that it has merged it; 0: it is merged with nothing."""
    changed: tuple[slice, ...] = ()
    """Bytes of feedback that switches change in passing: they are 0 when it leaves its host."""
    told: int = 0
    """Flags of data that switches set in passing: nobody vouches for these, and they are sealed as 0."""


def bytes_of(layout: Layout[Any], name: str) -> slice:
    """Where a field is in a packet with the common header. KeyError: it has none of that name."""
    for place in layout.places():
        if place.name == name and place.at is not None:
            start = HEADER_BYTES + place.at // 8
            return slice(start, start + place.field.bits // 8)
    raise KeyError(name)


def end_of(layout: Layout[Any], name: str) -> int:
    """Bytes of a packet up to the end of that field."""
    end: int = bytes_of(layout, name).stop
    return end

"""What is readable of a sealed packet: its first bytes (docs/security.md)."""

from typing import Final

from hosts.wire.fields import Number
from hosts.wire.header import SEALED_VERSION
from hosts.wire.layout import Layout

SEALED: Final = Layout[object](
    "sealed",
    None,
    Number("version", 8, "of the seal", least=SEALED_VERSION, most=SEALED_VERSION),
    Number("protocol", 8, "of the common header within; 0: none"),
    Number("type", 8, "likewise"),
    Number("epoch", 8, "whose secret it is sealed with"),
    Number("sender", 64, "drawn at each start of an endpoint"),
    Number("counter", 32, "of the sender's packets"),
    Number("sealed_at", 32, "Unix time, seconds, modulo 2^32"),
)
TAG_BYTES: Final = 16
"""At the packet's end."""

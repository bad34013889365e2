"""The session's parameters as its sender announces them, so that a receiver needs a group and a port only.

They stand in a header extension of our own on the base channel (docs/packets.md): with every FDT of a file, and every
other packet of real-time data, of which they have the deadline, too. Other receivers skip it (RFC 5651, 5.2).

A parameter that a receiver was given, and that is not its default, must be the announced one: to take another in
silence would not be what its user asked for.
"""

import struct
from dataclasses import replace
from typing import Final

from hosts.protocols.webrc.options import WebrcOptions
from hosts.protocols.webrc.packets import EXT_SESSION
from hosts.wire.fields import Double, Number
from hosts.wire.header import PacketError
from hosts.wire.layout import Layout

NAMES: Final = ("session_rate_bps", "base_rate", "p", "slot_s", "quiescence_s", "packet_bytes")
"""The parameters that sender and receivers share (Table 1), in the extension's order."""
EXTENSION: Final = Layout[object](
    "session extension",
    None,
    Number("type", 8, "of the header extension", least=EXT_SESSION, most=EXT_SESSION),
    Number("words", 8, "of the header extension", least=11, most=13),
    Number("packet_bytes", 16, "of a packet on a link, with all headers"),
    Double("session_rate_bps", "bit/s of all channels"),
    Double("base_rate", "packets/s of the base channel"),
    Double("p", "what a slot leaves of a wave's rate"),
    Double("slot_s", "how long a slot is, s"),
    Double("quiescence_s", "how late a leave may take effect, s"),
    Double("deadline_s", "of real-time data, s; left out where it is none"),
    meaning="A header extension with the session's parameters.",
)
_REALTIME: Final = EXTENSION.struct
_FIELDS: Final = struct.Struct(_REALTIME.format.removesuffix("d"))
MOST_CHANNELS: Final = 2048
"""Wave channels that a receiver takes from the network (ours): each is a group, with memory of its own."""


def encode_description(options: WebrcOptions) -> bytes:
    """The header extension."""
    *rates, packet_bytes = (getattr(options, name) for name in NAMES)
    fields, last = (_REALTIME, (options.deadline_s,)) if options.deadline_s else (_FIELDS, ())
    return fields.pack(EXT_SESSION, fields.size // 4, packet_bytes, *rates, *last)


def described(own: WebrcOptions, extension: bytes) -> WebrcOptions:
    """A receiver's options with the session's parameters put in. PacketError: no sender has such."""
    try:
        fields = _REALTIME if len(extension) == _REALTIME.size else _FIELDS
        _, _, packet_bytes, *rates = fields.unpack(extension)
        names = (*NAMES[:-1], "deadline_s")[: len(rates)]
        options = replace(own, packet_bytes=packet_bytes, **dict(zip(names, rates, strict=True)))
        if options.waves().t > MOST_CHANNELS:
            raise ValueError
    except (struct.error, ValueError, OverflowError):
        raise PacketError("description") from None
    return options


def conflict(own: WebrcOptions, announced: WebrcOptions) -> str:
    """What a receiver was told otherwise, for its user; empty: nothing."""
    usual = WebrcOptions()
    for name in (*NAMES, "deadline_s"):
        mine, theirs = getattr(own, name), getattr(announced, name)
        if mine not in (theirs, getattr(usual, name)):
            return f"the sender's {name} is {theirs:g}, not {mine:g} as set here; without it the sender's is taken"
    return ""

"""A packet of a protocol: a layout behind the common header, and how a tuple is written and read with it."""

import enum
import struct
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from hosts.wire.checks import OfSession, check_size
from hosts.wire.fields import Field, Flag, write_flags
from hosts.wire.header import COMMON, VERSION, PacketError
from hosts.wire.layout import Layout

P = TypeVar("P", bound=OfSession)

_HEADER_VALUES: Final = 5


class Format(Layout[P]):
    """What says all of a packet: protocol, types, tuple, fields and flags.

    Hot paths use `struct` by themselves: its arguments are the common header's fields, then those declared.
    """

    __slots__ = ("_has_flags", "_size_at", "flags", "kinds", "protocol", "second")

    def __init__(
        self,
        protocol: int,
        kinds: enum.IntEnum | tuple[enum.IntEnum, enum.IntEnum],
        make: Callable[..., P],
        *fields: Field,
        flags: tuple[Flag, ...] = (),
        second: str = "",
        name: str = "",
    ) -> None:
        """`kinds`: its type; or two, of which the tuple's attribute `second` says whether it is the latter.

        A tuple that has `flags` has them as one number; else each of `flags` is an attribute. ValueError: attributes
        that are not in the packet, or the other way round."""
        both = (kinds,) if isinstance(kinds, enum.IntEnum) else kinds
        super().__init__(name or both[0].name, make, *fields)
        self.protocol = protocol
        self.kinds: tuple[enum.IntEnum, ...] = both
        self.second = second
        self.flags = flags
        whole: Any = make
        attributes: set[str] = set(whole._fields)
        self._has_flags = "flags" in attributes
        own = {"flags"} if self._has_flags else {flag.name for flag in flags}
        wrong = attributes ^ (self.attributes | own | {"session", second} - {""})
        if wrong:
            raise ValueError(f"{self.name}: {', '.join(sorted(wrong))} in the tuple or the packet only")
        self.struct = struct.Struct(COMMON.struct.format + self.codes)
        self._size_at = _HEADER_VALUES + self.size_at

    def encode(self, packet: P) -> bytes:
        """The datagram. struct.error: a number does not fit."""
        kind = self.kinds[1 if self.second and getattr(packet, self.second) else 0]
        whole: Any = packet
        flags: int = whole.flags if self._has_flags else write_flags(self.flags, packet)
        values: list[Any] = [VERSION, self.protocol, int(kind), flags, packet.session]
        self.write(packet, values)
        head = self.struct.pack(*values)
        return head if self.tail is None else head + self.tail.write(packet)

    def decode(self, data: bytes, kind: int, flags: int, session: int) -> P:
        """A datagram whose common header has been read. Raises PacketError: truncated, oversized, value."""
        size = self.struct.size
        tail = self.tail
        if tail is None:
            check_size(len(data), size)
            values: tuple[Any, ...] = self.struct.unpack(data)
        else:
            if len(data) < size:
                raise PacketError("truncated")
            values = self.struct.unpack_from(data)
            count: int = values[self._size_at]
            if tail.most is not None and count > tail.most:
                raise PacketError("value")
            check_size(len(data), size + count * tail.unit)
        into: dict[str, object] = {"session": session}
        if self.second:
            into[self.second] = kind == self.kinds[1]
        if self._has_flags:
            into["flags"] = flags
        else:
            for flag in self.flags:
                into[flag.name] = bool(flags & flag.mask)
        try:
            self.read(values, _HEADER_VALUES, into)
            if tail is not None:
                into[tail.attribute] = tail.read(data[size:])
        except ValueError:
            raise PacketError("value") from None
        assert self.make is not None
        return self.make(**into)


def by_kind(formats: Iterable[Format[Any]]) -> dict[int, Format[Any]]:
    """Which one a packet of a type has."""
    return {int(kind): one for one in formats for kind in one.kinds}


def decode_by_kind(formats: Mapping[int, Format[P]], data: bytes, kind: int, flags: int, session: int) -> P:
    """A datagram whose common header has been read. Raises PacketError: type, truncated, oversized, value."""
    found = formats.get(kind)
    if found is None:
        raise PacketError("type")
    return found.decode(data, kind, flags, session)

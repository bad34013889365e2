"""The kinds of fields that a packet's layout has (`hosts.wire.layout`).

A tuple's attribute is named as the field, or by the field's `attribute`; one that is empty (of what the tuple does not
have) travels as 0.
"""

import enum
import socket
from collections.abc import Iterable
from typing import Any, NamedTuple


class Field:
    """So many bits with a name; widths that are no multiple of 8 stand next to others, with which they fill octets."""

    __slots__ = ("attribute", "bits", "meaning", "name")

    def __init__(self, name: str, bits: int, meaning: str, attribute: str | None) -> None:
        self.name = name
        self.bits = bits
        self.meaning = meaning
        self.attribute = name if attribute is None else attribute

    @property
    def names(self) -> dict[int, str]:
        """Of the values that have one."""
        return {}

    def write(self, packet: object) -> Any:
        """What the struct packs."""
        raise NotImplementedError

    def read(self, value: Any) -> object:
        """The attribute, from what the struct unpacked. ValueError: it cannot have this value."""
        raise NotImplementedError

    def take(self, value: Any, into: dict[str, object]) -> None:
        """Put what is read into the attributes of a tuple."""
        into[self.attribute] = self.read(value)


class Number(Field):
    """Unsigned. `kind`: what it becomes, an IntEnum or bool, of which other values are refused."""

    __slots__ = ("cut", "default", "kind", "least", "most", "wraps")

    def __init__(
        self,
        name: str,
        bits: int,
        meaning: str = "",
        *,
        attribute: str | None = None,
        kind: type[int] = int,
        least: int = 0,
        most: int | None = None,
        default: int | None = None,
        wraps: bool = False,
        cut: bool = False,
    ) -> None:
        """Below `least` or above `most` it is refused when it is read. A number too large to be written travels modulo
        the width (`wraps`) or as the largest (`cut`), or is the struct's error. `default`: for packets by hand."""
        super().__init__(name, bits, meaning, attribute)
        self.kind: Any = kind
        self.least = least
        self.most = most if most is not None else 1 if kind is bool else (1 << bits) - 1
        self.default = least if default is None else default
        self.wraps = wraps
        self.cut = cut

    @property
    def names(self) -> dict[int, str]:
        if not issubclass(self.kind, enum.IntEnum):
            return {}
        return {int(member): member.name for member in self.kind}

    def write(self, packet: object) -> Any:
        value: int = getattr(packet, self.attribute) if self.attribute else self.default
        if self.wraps:
            return value & (1 << self.bits) - 1
        return min(value, self.most) if self.cut else value

    def read(self, value: Any) -> object:
        if not self.least <= value <= self.most:
            raise ValueError(self.name)
        return self.kind(value)

    def take(self, value: Any, into: dict[str, object]) -> None:
        read = self.read(value)
        if self.attribute:
            into[self.attribute] = read

    @property
    def is_plain(self) -> bool:
        """Whether the attribute is what the struct has."""
        whole = self.least == 0 and self.most == (1 << self.bits) - 1
        return bool(self.attribute) and self.kind is int and whole and not self.wraps and not self.cut


class Reserved(Field):
    """Sent as 0 and ignored."""

    __slots__ = ()

    def __init__(self, name: str, bits: int) -> None:
        super().__init__(name, bits, "sent as 0, ignored", "")

    def write(self, packet: object) -> Any:
        return 0

    def take(self, value: Any, into: dict[str, object]) -> None:
        pass


class Bitmap(Field):
    """A number of any octets, of which an excess is cut off above: bit i stands for the i-th of something."""

    __slots__ = ()

    def __init__(self, name: str, bits: int, meaning: str) -> None:
        super().__init__(name, bits, meaning, None)

    def write(self, packet: object) -> Any:
        value: int = getattr(packet, self.attribute)
        return (value & (1 << self.bits) - 1).to_bytes(self.bits // 8, "big")

    def read(self, value: Any) -> object:
        return int.from_bytes(value, "big")


class Host(Field):
    """An IPv4 address, dotted in the tuple."""

    __slots__ = ()

    def __init__(self, name: str, meaning: str = "") -> None:
        super().__init__(name, 32, meaning, None)

    def write(self, packet: object) -> Any:
        return socket.inet_aton(getattr(packet, self.attribute))

    def read(self, value: Any) -> object:
        return socket.inet_ntoa(value)


class Octets(Field):
    """Bytes as they are. Packed and unpacked by hand."""

    __slots__ = ()

    def __init__(self, name: str, bits: int, meaning: str) -> None:
        super().__init__(name, bits, meaning, "")


class Double(Field):
    """A number as IEEE 754 has it in 64 bits. Packed and unpacked by hand."""

    __slots__ = ()

    def __init__(self, name: str, meaning: str) -> None:
        super().__init__(name, 64, f"{meaning} (IEEE 754)", "")


class Flag(NamedTuple):
    """A bit of the common header's flags, or of `Marks`: true or false in the tuple."""

    name: str
    mask: int
    meaning: str


def write_flags(flags: Iterable[Flag], packet: object) -> int:
    """The bits that are set in a tuple."""
    bits = 0
    for flag in flags:
        if getattr(packet, flag.name):
            bits |= flag.mask
    return bits


class Marks(Field):
    """Flags within a packet; one that has no meaning is refused."""

    __slots__ = ("flags",)

    def __init__(self, name: str, bits: int, *flags: Flag) -> None:
        super().__init__(name, bits, "; ".join(f"{flag.mask:#x} {flag.name}: {flag.meaning}" for flag in flags), "")
        self.flags = flags

    def write(self, packet: object) -> Any:
        return write_flags(self.flags, packet)

    def take(self, value: Any, into: dict[str, object]) -> None:
        if value & ~sum(flag.mask for flag in self.flags):
            raise ValueError(self.name)
        for flag in self.flags:
            into[flag.name] = bool(value & flag.mask)


class Size(Field):
    """How long the tail is: bytes of a payload, or items of a list, which is the attribute `of`."""

    __slots__ = ()

    def __init__(self, name: str, bits: int, meaning: str, of: str) -> None:
        super().__init__(name, bits, meaning, of)

    def write(self, packet: object) -> Any:
        return len(getattr(packet, self.attribute))

    def take(self, value: Any, into: dict[str, object]) -> None:
        pass


class Group(Field):
    """Narrow fields that stand together and fill a number."""

    __slots__ = ("fields",)

    def __init__(self, fields: list[Field]) -> None:
        super().__init__(fields[0].name, sum(field.bits for field in fields), "", "")
        self.fields = fields

    def write(self, packet: object) -> Any:
        number = 0
        for field in self.fields:
            number = number << field.bits | int(field.write(packet))
        return number

    def take(self, value: Any, into: dict[str, object]) -> None:
        for field in reversed(self.fields):
            field.take(value & (1 << field.bits) - 1, into)
            value >>= field.bits


class Tail(Field):
    """What follows at the end, as many units of `unit` bytes as a `Size` says, `most` at most."""

    __slots__ = ("most", "unit")

    def __init__(self, name: str, meaning: str, attribute: str | None, unit: int, most: int | None) -> None:
        super().__init__(name, 0, meaning, attribute)
        self.unit = unit
        self.most = most


class Payload(Tail):
    """Bytes."""

    __slots__ = ()

    def __init__(self, name: str, meaning: str = "", attribute: str | None = None) -> None:
        super().__init__(name, meaning, attribute, 1, None)

    def write(self, packet: object) -> Any:
        return getattr(packet, self.attribute)

    def read(self, value: Any) -> object:
        return value


class Words(Field):
    """32-bit words up to the one that the field `until` counts to, from the packet's start. Read by hand."""

    __slots__ = ("until",)

    def __init__(self, name: str, meaning: str, until: str) -> None:
        super().__init__(name, 0, meaning, "")
        self.until = until

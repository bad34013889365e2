"""What lies where in a packet: one declaration of its fields, which all else is made from.

A `Layout` has the fields in the order of the wire, in network order. It makes the struct that endpoints pack and unpack
with, and writes and reads a tuple field by field; hosts/dissect makes Scapy layers, Wireshark's dissector and
docs/packets.md of it. `hosts.wire.format` adds the common header.

A tuple's attribute is named as the field, or by the field's `attribute`; one that is empty (of what the tuple does not
have) travels as 0.
"""

import enum
import socket
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

T = TypeVar("T")

_CODES: Final = {8: "B", 16: "H", 32: "I", 64: "Q"}


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
        self.kind = kind
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


class _Group(Field):
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


class Inner(Field):
    """Another layout within this one, its fields' names behind `prefix`."""

    __slots__ = ("layout", "prefix")

    def __init__(self, layout: "Layout[Any]", meaning: str, attribute: str, prefix: str = "") -> None:
        super().__init__(attribute, 8 * layout.size, meaning, None)
        self.layout = layout
        self.prefix = prefix


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


class Items(Tail):
    """Tuples, each of the same layout."""

    __slots__ = ("layout",)

    def __init__(
        self, name: str, layout: "Layout[Any]", meaning: str, attribute: str | None = None, most: int | None = None
    ) -> None:
        super().__init__(name, meaning, attribute, layout.size, most)
        self.layout = layout

    def write(self, packet: object) -> Any:
        return b"".join(self.layout.pack(item) for item in getattr(packet, self.attribute))

    def read(self, value: Any) -> object:
        return tuple(self.layout.made_of(values) for values in self.layout.struct.iter_unpack(value))


class Words(Field):
    """32-bit words up to the one that the field `until` counts to, from the packet's start. Read by hand."""

    __slots__ = ("until",)

    def __init__(self, name: str, meaning: str, until: str) -> None:
        super().__init__(name, 0, meaning, "")
        self.until = until


class Place(NamedTuple):
    """A field where it lies."""

    name: str
    field: Field
    at: int | None
    """Bits from the layout's start; None behind something whose length differs."""
    meaning: str


class Layout(Generic[T]):
    """The fields of a packet's body, of an item in a list, or of a packet without the common header."""

    __slots__ = ("_parts", "codes", "fields", "make", "meaning", "name", "size_at", "struct", "tail")

    def __init__(self, name: str, make: Callable[..., T] | None, *fields: Field, meaning: str = "") -> None:
        """`make`: the tuple that these fields are, all of it; None: they are packed and unpacked by hand.

        ValueError: narrow fields fill no number, or no struct has a number so wide."""
        self.name = name
        self.make = make
        self.meaning = meaning
        self.fields = fields
        fixed = [field for field in fields if field.bits]
        self.tail: Tail | None = None
        for number, field in enumerate(fields):
            if isinstance(field, Words):
                fixed = list(fields[:number])
            elif isinstance(field, Tail):
                self.tail = field
        parts = _grouped(fixed)
        self.codes = "".join(map(_code, parts))
        self.struct: struct.Struct = struct.Struct("!" + self.codes)
        """Of all that is of fixed length; reserved fields take no argument, narrow ones together are one number."""
        self._parts = [
            (part, isinstance(part, Number) and part.is_plain) for part in parts if not isinstance(part, Reserved)
        ]
        self.size_at = 0
        """Place of the tail's `Size` among what the struct unpacks."""
        for part, _ in self._parts:
            if isinstance(part, Size):
                break
            self.size_at += part.layout.size_at if isinstance(part, Inner) else 1

    @property
    def size(self) -> int:
        """Bytes of all that is of fixed length."""
        return self.struct.size

    @property
    def attributes(self) -> set[str]:
        """What is read and written of a tuple."""
        names = {field.attribute for field in self.fields} - {""}
        return names.union(*({flag.name for flag in field.flags} for field in self.fields if isinstance(field, Marks)))

    def places(self, prefix: str = "") -> list[Place]:
        """Its fields and those of the layouts in it, one after the other."""
        found: list[Place] = []
        at: int | None = 0
        for field in self.fields:
            if isinstance(field, Inner):
                start = at or 0
                for place in field.layout.places(prefix + field.prefix):
                    meaning = f"{field.meaning}: {place.meaning}"
                    found.append(Place(place.name, place.field, start + (place.at or 0), meaning))
            else:
                found.append(Place(prefix + field.name, field, at, field.meaning))
            at = None if at is None or not field.bits else at + field.bits
        return found

    def pack(self, item: T) -> bytes:
        """A tuple without a tail. struct.error: a number does not fit."""
        values: list[Any] = []
        self.write(item, values)
        return self.struct.pack(*values)

    def made_of(self, values: Sequence[Any]) -> T:
        """The tuple, from what the struct unpacked. ValueError: a field cannot have its value."""
        into: dict[str, object] = {}
        self.read(values, 0, into)
        assert self.make is not None
        return self.make(**into)

    def write(self, item: object, values: list[Any]) -> None:
        """Append what the struct packs."""
        for part, is_plain in self._parts:
            if is_plain:
                values.append(getattr(item, part.attribute))
            elif isinstance(part, Inner):
                part.layout.write(getattr(item, part.attribute), values)
            else:
                values.append(part.write(item))

    def read(self, values: Sequence[Any], at: int, into: dict[str, object]) -> int:
        """Put the attributes from the place `at` of what a struct unpacked on into a dictionary; where they end."""
        for part, is_plain in self._parts:
            if is_plain:
                into[part.attribute] = values[at]
            elif isinstance(part, Inner):
                inner: dict[str, object] = {}
                at = part.layout.read(values, at, inner)
                assert part.layout.make is not None
                into[part.attribute] = part.layout.make(**inner)
                continue
            else:
                part.take(values[at], into)
            at += 1
        return at


def _grouped(fields: Iterable[Field]) -> list[Field]:
    """Narrow fields that stand together as one."""
    runs: list[list[Field]] = []
    for field in fields:
        if field.bits % 8 and runs and runs[-1][0].bits % 8:
            runs[-1].append(field)
        else:
            runs.append([field])
    return [_Group(run) if run[0].bits % 8 else run[0] for run in runs]


def _code(field: Field) -> str:
    """In a struct's format."""
    if isinstance(field, Inner):
        return field.layout.codes
    if isinstance(field, Reserved):
        return f"{field.bits // 8}x"
    if isinstance(field, (Bitmap, Host)):
        return f"{field.bits // 8}s"
    if field.bits not in _CODES:
        raise ValueError(f"{field.name}: no number has {field.bits} bits")
    return _CODES[field.bits]

"""What lies where in a packet: one declaration of its fields, which all else is made from.

A `Layout` has the fields in the order of the wire, in network order. It makes the struct that endpoints pack and unpack
with, and writes and reads a tuple field by field; hosts/dissect makes Scapy layers, Wireshark's dissector and
docs/packets.md of it. `hosts.wire.format` adds the common header.
"""

import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from hosts.wire.fields import Bitmap, Double, Field, Group, Host, Marks, Number, Octets, Reserved, Size, Tail, Words

T = TypeVar("T")

_CODES: Final = {8: "B", 16: "H", 32: "I", 64: "Q"}


class Inner(Field):
    """Another layout within this one, its fields' names behind `prefix`."""

    __slots__ = ("layout", "prefix")

    def __init__(self, layout: "Layout[Any]", meaning: str, attribute: str, prefix: str = "") -> None:
        super().__init__(attribute, 8 * layout.size, meaning, None)
        self.layout = layout
        self.prefix = prefix


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
    return [Group(run) if run[0].bits % 8 else run[0] for run in runs]


def _code(field: Field) -> str:
    """In a struct's format."""
    if isinstance(field, Inner):
        return field.layout.codes
    if isinstance(field, Reserved):
        return f"{field.bits // 8}x"
    if isinstance(field, (Bitmap, Host, Octets)):
        return f"{field.bits // 8}s"
    if isinstance(field, Double):
        return "d"
    if field.bits not in _CODES:
        raise ValueError(f"{field.name}: no number has {field.bits} bits")
    return _CODES[field.bits]

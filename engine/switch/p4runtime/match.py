"""Match keys: FieldMatch messages in, the data plane's keys out, and back (specification, "Match Format").

In between a key is a tuple with one element per field of the table, in the table's order, with don't-care fields
filled in, so that equal keys compare equal:

    exact: value   lpm: (value, prefix length)   ternary: (value, mask)   range: (low, high)   optional: value or None
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from finsy.proto import p4i, p4r

from engine.switch.p4runtime import bytestrings
from engine.switch.p4runtime.errors import invalid_argument
from engine.switch.p4runtime.p4info import MatchFieldInfo
from engine.switch.p4runtime.restrictions import Type, Value

if TYPE_CHECKING:
    from canopy_engine import MatchKey

FieldKey: TypeAlias = int | tuple[int, int] | None
Key: TypeAlias = tuple[FieldKey, ...]

# The FieldMatch member that belongs to each match type.
MEMBER_OF: dict[int, str] = {
    p4i.MatchField.EXACT: "exact",
    p4i.MatchField.LPM: "lpm",
    p4i.MatchField.TERNARY: "ternary",
    p4i.MatchField.RANGE: "range",
    p4i.MatchField.OPTIONAL: "optional",
}


class FieldCodec:
    """One field of a key. `engine_kind` is the program's match kind, `width` the program's width in bits."""

    def __init__(self, info: MatchFieldInfo, width: int, engine_kind: str, owner: str) -> None:
        self.info = info
        self.width = width
        self.engine_kind = engine_kind
        self.member = MEMBER_OF[info.match_type]
        self._what = f"{owner}, field {info.name!r}"
        self._all_ones = (1 << width) - 1
        # A translated type may be narrower for the controller; a field of type error has no width in the P4Info.
        self._value_width = min(info.width or width, width)

    def wildcard(self) -> FieldKey:
        """What an omitted FieldMatch stands for. Raises INVALID_ARGUMENT for an exact field."""
        match self.member:
            case "exact":
                raise invalid_argument(f"{self._what}: an exact field may not be omitted")
            case "range":
                return (0, self._all_ones)
            case "optional":
                return None
            case _:
                return (0, 0)

    def parse(self, match: p4r.FieldMatch) -> FieldKey:
        member = match.WhichOneof("field_match_type")
        if member != self.member:
            raise invalid_argument(f"{self._what}: needs {self.member}, not {member or 'an empty match'}")
        match self.member:
            case "exact":
                return self._number(match.exact.value)
            case "optional":
                return self._number(match.optional.value)
            case "lpm":
                return self._parse_lpm(match.lpm)
            case "ternary":
                return self._parse_ternary(match.ternary)
            case _:
                return self._parse_range(match.range)

    def _number(self, value: bytes) -> int:
        return bytestrings.decode(value, self._value_width, self._what)

    def _parse_lpm(self, lpm: p4r.FieldMatch.LPM) -> FieldKey:
        value = self._number(lpm.value)
        if not 0 < lpm.prefix_len <= self.width:
            raise invalid_argument(
                f"{self._what}: prefix length {lpm.prefix_len} is not 1 to {self.width} (omit the field for don't care)"
            )
        if value & ((1 << (self.width - lpm.prefix_len)) - 1):
            raise invalid_argument(f"{self._what}: {value:#x} has bits beyond its prefix of {lpm.prefix_len}")
        return (value, lpm.prefix_len)

    def _parse_ternary(self, ternary: p4r.FieldMatch.Ternary) -> FieldKey:
        value, mask = self._number(ternary.value), self._number(ternary.mask)
        if mask == 0:
            raise invalid_argument(f"{self._what}: the mask is zero (omit the field for don't care)")
        if value & ~mask:
            raise invalid_argument(f"{self._what}: {value:#x} has bits outside its mask {mask:#x}")
        return (value, mask)

    def _parse_range(self, match: p4r.FieldMatch.Range) -> FieldKey:
        low, high = self._number(match.low), self._number(match.high)
        if low > high:
            raise invalid_argument(f"{self._what}: the range is empty, {low:#x} to {high:#x}")
        if low == 0 and high == self._all_ones:
            raise invalid_argument(f"{self._what}: the range has every value (omit the field for don't care)")
        return (low, high)

    def to_proto(self, key: FieldKey) -> p4r.FieldMatch | None:
        """The canonical FieldMatch, None for don't care."""
        if self.member != "exact" and key == self.wildcard():
            return None
        field = p4r.FieldMatch(field_id=self.info.id)
        if isinstance(key, tuple):
            first = bytestrings.encode(key[0])
            if self.member == "lpm":
                field.lpm.value, field.lpm.prefix_len = first, key[1]
            elif self.member == "ternary":
                field.ternary.value, field.ternary.mask = first, bytestrings.encode(key[1])
            else:
                field.range.low, field.range.high = first, bytestrings.encode(key[1])
        elif self.member == "exact":
            field.exact.value = bytestrings.encode(key or 0)
        else:
            field.optional.value = bytestrings.encode(key or 0)
        return field

    def to_engine(self, key: FieldKey) -> MatchKey:
        if isinstance(key, tuple):
            first = bytestrings.padded(key[0], self.width)
            return (first, key[1]) if self.member == "lpm" else (first, bytestrings.padded(key[1], self.width))
        if self.member == "optional" and self.engine_kind == "ternary":
            value, mask = (0, 0) if key is None else (key, self._all_ones)
            return bytestrings.padded(value, self.width), bytestrings.padded(mask, self.width)
        return None if key is None else bytestrings.padded(key, self.width)

    def type(self) -> Type:
        """What a restriction takes the field for."""
        return Type(self.member, self.info.width or self.width)

    def value(self, key: FieldKey) -> Value:
        """What a restriction sees of a key."""
        if self.member != "optional":
            return 0 if key is None else key
        return (key, (1 << self.type().width) - 1) if isinstance(key, int) else (0, 0)

    def from_engine(self, key: MatchKey) -> FieldKey:
        """The key of an entry that the program itself brought."""
        if isinstance(key, tuple):
            first = int.from_bytes(key[0], "big")
            second = key[1] if isinstance(key[1], int) else int.from_bytes(key[1], "big")
            if self.member == "optional":
                return first if second else None
            return (first, second)
        return None if key is None else int.from_bytes(key, "big")


class KeyCodec:
    """All fields of one table or value set; `owner` names it in errors."""

    def __init__(self, fields: Sequence[MatchFieldInfo], engine: Sequence[tuple[int, str]], owner: str) -> None:
        """`engine`: each field's width in bits and match kind in the program."""
        self.owner = owner
        self.fields = [FieldCodec(info, width, kind, owner) for info, (width, kind) in zip(fields, engine, strict=True)]
        self._position = {info.id: position for position, info in enumerate(fields)}

    def parse(self, matches: Iterable[p4r.FieldMatch]) -> Key:
        given: dict[int, p4r.FieldMatch] = {}
        for match in matches:
            position = self._position.get(match.field_id)
            if position is None:
                raise invalid_argument(f"{self.owner}: no match field has id {match.field_id}")
            if position in given:
                raise invalid_argument(f"{self.owner}: match field {match.field_id} is given twice")
            given[position] = match
        return tuple(
            field.parse(given[position]) if position in given else field.wildcard()
            for position, field in enumerate(self.fields)
        )

    def to_proto(self, key: Key) -> list[p4r.FieldMatch]:
        matches = (field.to_proto(part) for field, part in zip(self.fields, key, strict=True))
        return [match for match in matches if match is not None]

    def types(self) -> dict[str, Type]:
        return {field.info.name: field.type() for field in self.fields}

    def values(self, key: Key) -> dict[str, Value]:
        return {field.info.name: field.value(part) for field, part in zip(self.fields, key, strict=True)}

    def to_engine(self, key: Key) -> list[MatchKey]:
        return [field.to_engine(part) for field, part in zip(self.fields, key, strict=True)]

    def from_engine(self, key: Sequence[MatchKey]) -> Key:
        return tuple(field.from_engine(part) for field, part in zip(self.fields, key, strict=True))

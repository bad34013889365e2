"""P4Info as the server uses it: every object by id, checked once so that the rest need not."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from finsy.proto import p4i, p4t

from engine.switch.p4runtime import restrictions
from engine.switch.p4runtime.errors import invalid_argument, unimplemented
from engine.switch.p4runtime.translation import Names

MatchType = p4i.MatchField.MatchType
Scope = p4i.ActionRef.Scope

# Priority is required when a key has one of these (specification, "TableEntry").
PRIORITY_MATCH_TYPES = frozenset({p4i.MatchField.TERNARY, p4i.MatchField.RANGE, p4i.MatchField.OPTIONAL})

MATCH_TYPE_NAMES: dict[int, str] = {value: name for name, value in p4i.MatchField.MatchType.items()}


@dataclass(frozen=True, slots=True)
class MatchFieldInfo:
    """One field of a table's or value set's key; `width` in bits as the controller sees it.

    `translated`: by @p4runtime_translation, so that the program's width is another; `names`: to strings."""

    id: int
    name: str
    width: int
    match_type: int
    translated: bool = False
    names: Names | None = None


@dataclass(frozen=True, slots=True)
class ParamInfo:
    """An action's parameter, or a field of a @controller_header."""

    id: int
    name: str
    width: int
    translated: bool = False
    names: Names | None = None


@dataclass(frozen=True, slots=True)
class ActionInfo:
    """`restriction`: what must hold of its arguments, in p4-constraints' language."""

    id: int
    name: str
    params: tuple[ParamInfo, ...]
    restriction: str | None = None


@dataclass(frozen=True, slots=True)
class ActionProfileInfo:
    """`max_group_size` 0: not limited. Sizes count weights, or members when `sum_of_members`."""

    id: int
    name: str
    table_ids: tuple[int, ...]
    with_selector: bool
    size: int
    max_group_size: int
    sum_of_members: bool
    max_member_weight: int
    weights_disallowed: bool


@dataclass(frozen=True, slots=True)
class TableInfo:
    """`action_scopes`: the actions an entry may have, with the scope of each; `restriction`: what must hold of
    entries, in p4-constraints' language."""

    id: int
    name: str
    fields: tuple[MatchFieldInfo, ...]
    action_scopes: dict[int, int]
    const_default_action_id: int
    profile_id: int
    direct_counter_id: int
    direct_meter_id: int
    is_const: bool
    idle_timeout: bool
    size: int
    restriction: str | None = None

    @property
    def needs_priority(self) -> bool:
        return any(f.match_type in PRIORITY_MATCH_TYPES for f in self.fields)


@dataclass(frozen=True, slots=True)
class CounterInfo:
    id: int
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class MeterInfo:
    """An indexed meter; `kind` is a MeterSpec.Type."""

    id: int
    name: str
    size: int
    kind: int


@dataclass(frozen=True, slots=True)
class DirectInfo:
    """A direct counter or meter; `kind` is the meter's MeterSpec.Type, 0 for a counter."""

    id: int
    name: str
    table_id: int
    kind: int = 0


@dataclass(frozen=True, slots=True)
class RegisterInfo:
    id: int
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class ValueSetInfo:
    id: int
    name: str
    fields: tuple[MatchFieldInfo, ...]
    size: int


@dataclass(frozen=True, slots=True)
class DigestInfo:
    id: int
    name: str
    type_spec: p4t.P4DataTypeSpec


@dataclass(frozen=True, slots=True)
class PacketHeaderInfo:
    """A @controller_header: its fields in wire order, as the controller sees them."""

    fields: tuple[ParamInfo, ...]


class _Named(Protocol):
    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=_Named)


class Objects(Generic[T]):
    """All P4Info objects of one kind, by id."""

    def __init__(self, kind: str, objects: Iterable[T]) -> None:
        self.kind = kind
        self._by_id: dict[int, T] = {}
        for item in objects:
            if item.id == 0:
                raise invalid_argument(f"P4Info: {kind} {item.name!r} has id 0")
            if item.id in self._by_id:
                raise invalid_argument(
                    f"P4Info: {kind}s {self._by_id[item.id].name!r} and {item.name!r} have the same id {item.id:#x}"
                )
            self._by_id[item.id] = item

    def __getitem__(self, id_: int) -> T:
        return self._by_id[id_]

    def get(self, id_: int) -> T | None:
        return self._by_id.get(id_)

    def __iter__(self) -> Iterator[T]:
        return iter(self._by_id.values())

    def __contains__(self, id_: int) -> bool:
        return id_ in self._by_id


@dataclass(slots=True)
class P4InfoIndex:
    """One P4Info message, indexed."""

    message: p4i.P4Info
    actions: Objects[ActionInfo] = field(init=False)
    tables: Objects[TableInfo] = field(init=False)
    profiles: Objects[ActionProfileInfo] = field(init=False)
    counters: Objects[CounterInfo] = field(init=False)
    meters: Objects[MeterInfo] = field(init=False)
    direct_counters: Objects[DirectInfo] = field(init=False)
    direct_meters: Objects[DirectInfo] = field(init=False)
    registers: Objects[RegisterInfo] = field(init=False)
    value_sets: Objects[ValueSetInfo] = field(init=False)
    digests: Objects[DigestInfo] = field(init=False)
    packet_in: PacketHeaderInfo | None = field(init=False)
    packet_out: PacketHeaderInfo | None = field(init=False)
    names: dict[str, Names] = field(init=False)

    def __post_init__(self) -> None:
        m = self.message
        widths = _TranslatedWidths(m.type_info)
        self.names = widths.names
        self.actions = Objects("action", (_action(a, widths) for a in m.actions))
        self.profiles = Objects("action profile", map(_profile, m.action_profiles))
        self.direct_counters = Objects(
            "direct counter", (DirectInfo(c.preamble.id, c.preamble.name, c.direct_table_id) for c in m.direct_counters)
        )
        self.direct_meters = Objects(
            "direct meter",
            (DirectInfo(c.preamble.id, c.preamble.name, c.direct_table_id, c.spec.type) for c in m.direct_meters),
        )
        self.tables = Objects("table", (self._table(t, widths) for t in m.tables))
        self.counters = Objects("counter", (CounterInfo(c.preamble.id, c.preamble.name, c.size) for c in m.counters))
        self.meters = Objects(
            "meter", (MeterInfo(c.preamble.id, c.preamble.name, c.size, c.spec.type) for c in m.meters)
        )
        self.registers = Objects(
            "register", (RegisterInfo(r.preamble.id, r.preamble.name, r.size) for r in m.registers)
        )
        self.value_sets = Objects("value set", (_value_set(v, widths) for v in m.value_sets))
        self.digests = Objects("digest", (DigestInfo(d.preamble.id, d.preamble.name, d.type_spec) for d in m.digests))
        self.packet_in = self._packet_header("packet_in", widths)
        self.packet_out = self._packet_header("packet_out", widths)
        self._check_references()

    def _table(self, table: p4i.Table, widths: "_TranslatedWidths") -> TableInfo:
        name = table.preamble.name
        direct = list(table.direct_resource_ids)
        for id_ in direct:
            if id_ not in self.direct_counters and id_ not in self.direct_meters:
                raise invalid_argument(f"P4Info: table {name!r} has a direct resource {id_:#x} that is not declared")
        return TableInfo(
            id=table.preamble.id,
            name=name,
            fields=_match_fields(table.match_fields, f"table {name!r}", widths),
            action_scopes={ref.id: ref.scope for ref in table.action_refs},
            const_default_action_id=table.const_default_action_id,
            profile_id=table.implementation_id,
            direct_counter_id=next((id_ for id_ in direct if id_ in self.direct_counters), 0),
            direct_meter_id=next((id_ for id_ in direct if id_ in self.direct_meters), 0),
            is_const=table.is_const_table,
            idle_timeout=table.idle_timeout_behavior == p4i.Table.NOTIFY_CONTROL,
            size=table.size,
            restriction=restrictions.annotated(table.preamble.annotations, restrictions.ENTRY),
        )

    def _packet_header(self, name: str, widths: "_TranslatedWidths") -> PacketHeaderInfo | None:
        for header in self.message.controller_packet_metadata:
            if header.preamble.name == name:
                fields = tuple(
                    ParamInfo(m.id, m.name, *widths.of(m.bitwidth, m.type_name.name)) for m in header.metadata
                )
                info = PacketHeaderInfo(fields)
                if len({f.id for f in fields}) != len(fields):
                    raise invalid_argument(f"P4Info: two fields of {name!r} have the same id")
                return info
        return None

    def _check_references(self) -> None:
        for table in self.tables:
            for id_ in table.action_scopes:
                if id_ not in self.actions:
                    raise invalid_argument(f"P4Info: table {table.name!r} refers to an undeclared action {id_:#x}")
            if table.profile_id and table.profile_id not in self.profiles:
                raise invalid_argument(
                    f"P4Info: table {table.name!r} refers to an undeclared action profile {table.profile_id:#x}"
                )
        for direct in (*self.direct_counters, *self.direct_meters):
            if direct.table_id not in self.tables:
                raise invalid_argument(f"P4Info: {direct.name!r} is bound to an undeclared table {direct.table_id:#x}")


class _TranslatedWidths:
    """Widths of values, which for a type with @p4runtime_translation are the controller's, not the program's.

    Numbers are passed as they are when they fit; of a type that is translated to strings `names` has them."""

    def __init__(self, types: p4t.P4TypeInfo) -> None:
        self._new_types = types.new_types
        self.names = {
            name: Names(spec.annotations)
            for name, spec in types.new_types.items()
            if spec.translated_type.WhichOneof("sdn_type") == "sdn_string"
        }

    def of(self, width: int, type_name: str) -> tuple[int, bool, Names | None]:
        """The width, whether it is a translated type's, and its strings; their width is 0."""
        # Looking up a missing key would add it to the message.
        if type_name not in self._new_types:
            return width, False, None
        spec = self._new_types[type_name]
        if spec.WhichOneof("representation") != "translated_type":
            return width, False, None
        return spec.translated_type.sdn_bitwidth, True, self.names.get(type_name)


def _action(action: p4i.Action, widths: _TranslatedWidths) -> ActionInfo:
    name = action.preamble.name
    params = tuple(ParamInfo(p.id, p.name, *widths.of(p.bitwidth, p.type_name.name)) for p in action.params)
    if len({p.id for p in params}) != len(params):
        raise invalid_argument(f"P4Info: two parameters of action {name!r} have the same id")
    restriction = restrictions.annotated(action.preamble.annotations, restrictions.ACTION)
    return ActionInfo(action.preamble.id, name, params, restriction)


def _match_fields(
    fields: Iterable[p4i.MatchField], owner: str, widths: _TranslatedWidths
) -> tuple[MatchFieldInfo, ...]:
    result = []
    for f in fields:
        kind = f.other_match_type or f.match_type
        if kind == p4i.MatchField.UNSPECIFIED or kind not in MATCH_TYPE_NAMES:
            raise unimplemented(f"{owner}: match kind {kind!r} of field {f.name!r} is not supported")
        width, translated, names = widths.of(f.bitwidth, f.type_name.name)
        if names is not None and f.match_type not in (p4i.MatchField.EXACT, p4i.MatchField.OPTIONAL):
            raise invalid_argument(f"{owner}: field {f.name!r} is of strings, which only match exactly")
        result.append(MatchFieldInfo(f.id, f.name, width, f.match_type, translated, names))
    if len({f.id for f in result}) != len(result):
        raise invalid_argument(f"P4Info: two match fields of {owner} have the same id")
    return tuple(result)


def _profile(profile: p4i.ActionProfile) -> ActionProfileInfo:
    return ActionProfileInfo(
        id=profile.preamble.id,
        name=profile.preamble.name,
        table_ids=tuple(profile.table_ids),
        with_selector=profile.with_selector,
        size=profile.size,
        max_group_size=profile.max_group_size,
        sum_of_members=profile.WhichOneof("selector_size_semantics") == "sum_of_members",
        max_member_weight=profile.sum_of_members.max_member_weight,
        weights_disallowed=profile.weights_disallowed,
    )


def _value_set(value_set: p4i.ValueSet, widths: _TranslatedWidths) -> ValueSetInfo:
    name = value_set.preamble.name
    fields = _match_fields(value_set.match, f"value set {name!r}", widths)
    if any(f.names is not None for f in fields):
        raise unimplemented(f"value set {name!r}: members of strings are not supported")
    return ValueSetInfo(value_set.preamble.id, name, fields, value_set.size)

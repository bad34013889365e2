"""Random packets that a program understands: walks through its parser, with fields that its tables look for."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from finsy.proto import p4i, p4r

from tests.engine.whole.differential.entries import fitting_value
from tests.engine.whole.differential.values import Values

MAX_STATES = 24
"""A loop in a parser has no other end than the packet's."""
MAX_VARBIT_BYTES = 12
MAX_PAYLOAD_BYTES = 40

Place: TypeAlias = tuple[int, int]
"""A field in the packet: its first bit and its width."""
FieldName: TypeAlias = tuple[str, str]


class Bits:
    """A packet under construction."""

    def __init__(self) -> None:
        self.value = 0
        self.length = 0

    def append(self, value: int, width: int) -> None:
        self.value = self.value << width | value
        self.length += width

    def get(self, place: Place) -> int:
        first, width = place
        return self.value >> (self.length - first - width) & ((1 << width) - 1)

    def put(self, place: Place, value: int, mask: int) -> None:
        """Set the bits under the mask; what lies beyond the packet's end is left out."""
        first, width = place
        shift = self.length - first - width
        if shift < 0:
            return
        self.value = self.value & ~(mask << shift) | (value & mask) << shift

    def to_bytes(self) -> bytes:
        padded = -self.length % 8
        return (self.value << padded).to_bytes((self.length + 7) // 8, "big")


class Packets:
    """Makes packets for one program and the entries in its tables."""

    def __init__(
        self,
        program: Mapping[str, Any],
        p4info: p4i.P4Info,
        tables: Mapping[str, list[p4r.TableEntry]],
        values: Values,
        *,
        cut: bool = True,
    ) -> None:
        """`cut`: some packets end within a header, which only a program that looks at validity can stand."""
        self._values = values
        self._cut = cut
        self._chooser = values.chooser
        types = {kind["name"]: kind["fields"] for kind in program["header_types"]}
        self._fields = {header["name"]: types[header["header_type"]] for header in program["headers"]}
        by_id = {header["id"]: header["name"] for header in program["headers"]}
        self._stacks: dict[str, list[str]] = {
            s["name"]: [by_id[id_] for id_ in s["header_ids"]] for s in program["header_stacks"]
        }
        (self._parser,) = program["parsers"]
        self._states = {state["name"]: state for state in self._parser["parse_states"]}
        self._wishes = _wishes(program, p4info, tables)
        self._places: dict[FieldName, Place] = {}
        self._filled: dict[str, int] = {}

    def next(self) -> tuple[int, bytes]:
        """A packet and the port it arrives at."""
        bits = self._walk()
        self._grant_wishes(bits)
        packet = bits.to_bytes() + self._chooser.randbytes(self._chooser.randrange(MAX_PAYLOAD_BYTES))
        if self._cut and self._chooser.random() < 0.05:
            packet = packet[: self._chooser.randrange(len(packet) + 1)]
        port = self._wished_port if self._wished_port is not None else self._values.port()
        return port, packet or b"\0"

    # A way through the parser.

    def _walk(self) -> Bits:
        bits = Bits()
        self._places, self._filled = {}, {}
        ahead: list[tuple[Place, int, int]] = []
        name = self._parser["init_state"]
        for _ in range(MAX_STATES):
            if name is None:
                break
            state = self._states[name]
            for operation in state["parser_ops"]:
                self._operate(operation, bits)
            name = self._transition(state, bits, ahead)
        for place, value, mask in ahead:
            bits.append(0, max(0, place[0] + place[1] - bits.length))
            bits.put(place, value, mask)
        return bits

    def _operate(self, operation: Mapping[str, Any], bits: Bits) -> None:
        parameters = operation["parameters"]
        match operation["op"]:
            case "extract" | "extract_VL":
                self._extract(self._header(parameters[0]), bits)
            case "set":
                target, source = parameters
                if source["type"] == "field" and tuple(source["value"]) in self._places:
                    self._places[tuple(target["value"])] = self._places[tuple(source["value"])]
            case "advance" | "shift":
                amount = parameters[0]
                shift = int(amount["value"], 16) if amount["type"] == "hexstr" else 8 * self._chooser.randrange(8)
                bits.append(self._chooser.getrandbits(shift) if shift else 0, shift)

    def _header(self, parameter: Mapping[str, Any]) -> str:
        """The header that an extract fills."""
        name: Any = parameter["value"]
        if parameter["type"] == "stack":
            headers = self._stacks[name]
            position = self._filled.get(name, 0)
            self._filled[name] = position + 1
            return headers[min(position, len(headers) - 1)]
        if parameter["type"] == "union_stack":
            return str(name[-1])
        return str(name)

    def _extract(self, header: str, bits: Bits) -> None:
        for name, width, *_ in self._fields.get(header, ()):
            size = width if isinstance(width, int) else 8 * self._chooser.randrange(MAX_VARBIT_BYTES)
            value = self._values.port() if size == 9 else self._values.pick(size)
            self._places[header, name] = (bits.length, size)
            bits.append(value, size)

    def _transition(self, state: Mapping[str, Any], bits: Bits, ahead: list[tuple[Place, int, int]]) -> str | None:
        transitions = state["transitions"]
        if not transitions:
            return None
        keys = [self._key_place(key, bits) for key in state["transition_key"]]
        chosen = self._chooser.choice([t for t in transitions if t["type"] == "hexstr"] * 2 + transitions)
        if chosen["type"] == "hexstr" and chosen["value"] != "default":
            self._steer(keys, chosen, bits, ahead)
        next_state: str | None = chosen["next_state"]
        return next_state

    def _key_place(self, key: Mapping[str, Any], bits: Bits) -> tuple[Place | None, int]:
        """Where a part of the key lies in the packet, None for what does not, and its width there."""
        value = key["value"]
        if key["type"] == "lookahead":
            offset, width = value
            return (bits.length + offset, width), width
        if key["type"] == "stack_field":
            position = self._filled.get(value[0], 0)
            headers = self._stacks[value[0]]
            name = (headers[min(max(position - 1, 0), len(headers) - 1)], value[1])
        else:
            name = tuple(value)
        place = self._places.get(name)
        width = next((w for f, w, *_ in self._fields.get(name[0], ()) if f == name[1]), 0)
        return place, width if isinstance(width, int) else 0

    @staticmethod
    def _steer(
        keys: list[tuple[Place | None, int]],
        transition: Mapping[str, Any],
        bits: Bits,
        ahead: list[tuple[Place, int, int]],
    ) -> None:
        """Write what the transition compares with; each part of the key stands in whole bytes, the last one last."""
        value = int(transition["value"], 16)
        mask = int(transition["mask"], 16) if transition["mask"] else None
        for place, width in reversed(keys):
            ones = (1 << width) - 1
            part, part_mask = value & ones, ones if mask is None else mask & ones
            step = (width + 7) // 8 * 8
            value >>= step
            mask = None if mask is None else mask >> step
            if place is None:
                continue
            if place[0] + place[1] <= bits.length:
                bits.put(place, part, part_mask)
            else:
                ahead.append((place, part, part_mask))

    # Fields that entries match.

    def _grant_wishes(self, bits: Bits) -> None:
        self._wished_port: int | None = None
        for wishes in self._wishes:
            if self._chooser.random() < 0.4:
                continue
            for name, width, match in self._chooser.choice(wishes):
                value = fitting_value(match, self._values, width)
                if name == ("standard_metadata", "ingress_port"):
                    self._wished_port = value
                elif (place := self._places.get(name)) is not None:
                    bits.put(place, value, (1 << place[1]) - 1)


def _wishes(
    program: Mapping[str, Any], p4info: p4i.P4Info, tables: Mapping[str, list[p4r.TableEntry]]
) -> list[list[list[tuple[FieldName, int, p4r.FieldMatch]]]]:
    """For each table, for each entry: the fields it matches."""
    infos = {table.preamble.name: table for table in p4info.tables}
    found = []
    for pipeline in program["pipelines"]:
        for table in pipeline["tables"]:
            entries = tables.get(table["name"])
            if not entries:
                continue
            info = infos[table["name"]]
            # P4Info leaves out the fields of selectors, which come last, as the JSON's key does.
            fields = {
                field.id: ((key["target"][0], key["target"][1]), field.bitwidth)
                for field, key in zip(info.match_fields, table["key"], strict=False)
            }
            found.append([[(*fields[match.field_id], match) for match in entry.match] for entry in entries])
    return found

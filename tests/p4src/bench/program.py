"""The compiled program as the tests see it: its artifacts, and names from P4Info turned into ids and byte strings."""

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from finsy.proto import p4i
from google.protobuf import text_format

FOLDER = Path(__file__).resolve().parents[3] / "p4src"


@dataclass(frozen=True)
class Constants:
    """canopy.constants.json: numbers and enumerations of the P4 program, by name."""

    numbers: Mapping[str, int]
    enums: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Action:
    """An action's id, its name in the JSON, and the names and widths (bits) of its parameters in order."""

    id: int
    name: str
    params: tuple[tuple[str, int], ...]

    def encode(self, values: Mapping[str, int]) -> list[bytes]:
        """The parameters' values as big-endian byte strings of their width."""
        if set(values) != {name for name, _ in self.params}:
            raise KeyError(f"{self.name} takes {[name for name, _ in self.params]}, not {sorted(values)}")
        return [to_bytes(values[name], width) for name, width in self.params]


@dataclass(frozen=True)
class Table:
    """A table's id and its match fields in order: (name, width in bits, is it a longest prefix match)."""

    id: int
    name: str
    fields: tuple[tuple[str, int, bool], ...]


def to_bytes(value: int, width: int) -> bytes:
    return value.to_bytes((width + 7) // 8, "big")


class Program:
    """The artifacts in p4src/ and what their names mean."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self.json = (folder / "canopy.json").read_text()
        self.p4info = text_format.Parse((folder / "canopy.p4info.txtpb").read_text(), p4i.P4Info())
        constants = json.loads((folder / "canopy.constants.json").read_text())
        self.constants = Constants(constants["numbers"], constants["enums"])
        self._actions = {
            action.preamble.alias: Action(
                action.preamble.id, action.preamble.name, tuple((param.name, param.bitwidth) for param in action.params)
            )
            for action in self.p4info.actions
        }
        self._tables = {
            table.preamble.alias: Table(
                table.preamble.id,
                table.preamble.name,
                tuple(
                    (field.name, field.bitwidth, field.match_type == p4i.MatchField.LPM) for field in table.match_fields
                ),
            )
            for table in self.p4info.tables
        }

    def action(self, alias: str) -> Action:
        return self._actions[alias]

    def table(self, alias: str) -> Table:
        return self._tables[alias]

    def counter_id(self, name: str) -> int:
        return next(counter.preamble.id for counter in self.p4info.counters if counter.preamble.name == name)

    def meter_id(self, name: str) -> int:
        return next(meter.preamble.id for meter in self.p4info.meters if meter.preamble.name == name)

    def digest_ids(self) -> dict[int, str]:
        return {digest.preamble.id: digest.preamble.name for digest in self.p4info.digests}

    def digest_fields(self, name: str) -> list[str]:
        return [member.name for member in self.p4info.type_info.structs[name].members]

    def header_fields(self, name: str) -> list[tuple[int, str, int]]:
        """Of a controller header ("packet_in", "packet_out"): (id, name, width in bits) of its fields in order."""
        header = next(entry for entry in self.p4info.controller_packet_metadata if entry.preamble.name == name)
        return [(field.id, field.name, field.bitwidth) for field in header.metadata]

    def encode_header(self, name: str, values: Mapping[str, int]) -> bytes:
        """A controller header's bytes, as the parser reads them."""
        fields = self.header_fields(name)
        value = 0
        for _, field, width in fields:
            value = value << width | values[field]
        return to_bytes(value, sum(width for _, _, width in fields))

    def decode_header(self, name: str, packet: bytes) -> tuple[dict[str, int], bytes]:
        """A controller header's fields, and the packet behind it."""
        fields = self.header_fields(name)
        length = sum(width for _, _, width in fields) // 8
        value = int.from_bytes(packet[:length], "big")
        values = {}
        for _, field, width in reversed(fields):
            values[field] = value & ((1 << width) - 1)
            value >>= width
        return values, packet[length:]


@functools.cache
def program() -> Program:
    return Program()


def number(name: str) -> int:
    """A number of constants.p4."""
    return program().constants.numbers[name]


def enum(name: str, member: str) -> int:
    """A member of an enumeration of constants.p4."""
    return program().constants.enums[name][member]

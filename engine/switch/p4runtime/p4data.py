"""Values of P4 types as P4Data messages (specification, "Representation of Arbitrary P4 Types").

The data plane hands over a value as a flat list of fields; the type says how they nest.
"""

from collections.abc import Callable, Iterator, Sequence

from finsy.proto import p4d, p4t

from engine.switch.p4runtime import bytestrings
from engine.switch.p4runtime.errors import unimplemented
from engine.switch.p4runtime.program import Program

# Takes the fields that belong to the type from the iterator, and makes one message of them.
Builder = Callable[[Iterator[bytes]], p4d.P4Data]


class P4DataCodec:
    """Makes builders for the types of one P4Info."""

    def __init__(self, types: p4t.P4TypeInfo, program: Program) -> None:
        self._types = types
        self._program = program

    def builder(self, spec: p4t.P4DataTypeSpec, what: str) -> Builder:
        """Raises UNIMPLEMENTED for a type that no digest of v1model can carry."""
        kind = spec.WhichOneof("type_spec")
        match kind:
            case "bitstring":
                return self._bitstring(spec.bitstring, what)
            case "bool":
                return lambda fields: p4d.P4Data(bool=int.from_bytes(next(fields), "big") != 0)
            case "struct":
                members = self._types.structs[spec.struct.name].members
                return self._members("struct", [m.type_spec for m in members], what)
            case "tuple":
                return self._members("tuple", list(spec.tuple.members), what)
            case "header":
                return self._header(spec.header.name, what)
            case "serializable_enum":
                return lambda fields: p4d.P4Data(enum_value=bytestrings.canonical(next(fields)))
            case "enum":
                return self._enum(self._program.enums.get(spec.enum.name, {}))
            case "error":
                return lambda fields: p4d.P4Data(error=_name(self._program.errors, next(fields)))
            case "new_type":
                return self._new_type(spec.new_type.name, what)
            case _:
                raise unimplemented(f"{what}: a {kind} cannot be carried")

    def _bitstring(self, spec: p4t.P4BitstringLikeTypeSpec, what: str) -> Builder:
        match spec.WhichOneof("type_spec"):
            case "bit":
                return lambda fields: p4d.P4Data(bitstring=bytestrings.canonical(next(fields)))
            case "int":
                width = spec.int.bitwidth

                def signed(fields: Iterator[bytes]) -> p4d.P4Data:
                    number = bytestrings.to_signed(int.from_bytes(next(fields), "big"), width)
                    return p4d.P4Data(bitstring=bytestrings.encode_signed(number))

                return signed
            case _:
                raise unimplemented(f"{what}: a varbit cannot be carried")

    def _members(self, member: str, specs: Sequence[p4t.P4DataTypeSpec], what: str) -> Builder:
        builders = [self.builder(spec, what) for spec in specs]

        def build(fields: Iterator[bytes]) -> p4d.P4Data:
            data = p4d.P4Data()
            getattr(data, member).members.extend(build_one(fields) for build_one in builders)
            return data

        return build

    def _header(self, name: str, what: str) -> Builder:
        builders = [self._bitstring(m.type_spec, what) for m in self._types.headers[name].members]

        def build(fields: Iterator[bytes]) -> p4d.P4Data:
            bitstrings = [build_one(fields).bitstring for build_one in builders]
            return p4d.P4Data(header=p4d.P4Header(is_valid=True, bitstrings=bitstrings))

        return build

    def _enum(self, names: dict[int, str]) -> Builder:
        return lambda fields: p4d.P4Data(enum=_name(names, next(fields)))

    def _new_type(self, name: str, what: str) -> Builder:
        spec = self._types.new_types[name]
        if spec.WhichOneof("representation") == "original_type":
            return self.builder(spec.original_type, what)
        return lambda fields: p4d.P4Data(bitstring=bytestrings.canonical(next(fields)))


def _name(names: dict[int, str], value: bytes) -> str:
    """The member's name; a value that has none is shown as its number."""
    number = int.from_bytes(value, "big")
    return names.get(number, str(number))

"""Types that @p4runtime_translation makes strings for the controller (specification, "Translation of Numbers").

The specification leaves to the target which string is which of the program's numbers. Here the program may say so, with
@p4runtime_translation_mappings({ {"", 0}, {"default", 7} }); a decimal number is itself; any other string gets the
greatest number that nothing else stands for. Read back, a number that nobody has given a string is its decimal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from engine.switch.p4runtime import bytestrings
from engine.switch.p4runtime.errors import invalid_argument, out_of_range, resource_exhausted

MAPPINGS = re.compile(r"@p4runtime_translation_mappings\s*\((?P<pairs>.*)\)\s*", re.DOTALL)
_PAIR = re.compile(r'\{\s*"(?P<name>(?:[^"\\]|\\.)*)"\s*,\s*(?P<number>0[xX][0-9a-fA-F]+|[0-9]+)\s*\}')
_DECIMAL = re.compile(r"0|[1-9][0-9]{0,19}")
_MAX_NAMES = 65_536  # of one type: strings come from the network
_MAX_BYTES = 1024  # of one string


class Names:
    """The strings of one type, each with the program's number. None is ever forgotten: numbers may lie in registers."""

    def __init__(self, annotations: Iterable[str] = ()) -> None:
        """Raises INVALID_ARGUMENT when the annotations give a string or a number twice."""
        self._numbers: dict[str, int] = {}
        self._names: dict[int, str] = {}
        for annotation in annotations:
            found = MAPPINGS.fullmatch(annotation.strip())
            for pair in _PAIR.finditer(found["pairs"]) if found else ():
                name, number = re.sub(r"\\(.)", r"\1", pair["name"]), int(pair["number"], 0)
                if name in self._numbers or number in self._names:
                    raise invalid_argument(f"P4Info: @p4runtime_translation_mappings has {name!r} or {number} twice")
                self._note(name, number)

    def take_over(self, others: Names) -> None:
        """What a pipeline before this one has called its numbers stays so, where the program does not say otherwise."""
        for name, number in others._numbers.items():
            if name not in self._numbers and number not in self._names:
                self._note(name, number)

    def number(self, value: bytes, width: int, what: str) -> int:
        """The program's number, of `width` bits. Raises INVALID_ARGUMENT, OUT_OF_RANGE or RESOURCE_EXHAUSTED."""
        try:
            name = value.decode()
        except UnicodeDecodeError:
            raise invalid_argument(f"{what}: {value[:20]!r} is not UTF-8 text") from None
        number = self._numbers.get(name)
        if number is None:
            number = self._new(name, width, what)
            self._note(name, number)
        if number.bit_length() > width:
            raise out_of_range(f"{what}: {name!r} is {number}, which does not fit {width} bits")
        return number

    def text(self, number: int) -> bytes:
        """What the controller calls a number."""
        name = self._names.get(number)
        if name is None:
            name = str(number)
            if name not in self._numbers and len(self._names) < _MAX_NAMES:
                self._note(name, number)
        return name.encode()

    def _new(self, name: str, width: int, what: str) -> int:
        if len(name.encode()) > _MAX_BYTES:
            raise invalid_argument(f"{what}: a string of more than {_MAX_BYTES} bytes")
        if _DECIMAL.fullmatch(name):
            number = int(name)
            if number.bit_length() > width:
                raise out_of_range(f"{what}: {name} does not fit {width} bits")
            if number in self._names:
                raise invalid_argument(f"{what}: {name} is called {self._names[number]!r}")
            return number
        if len(self._names) >= _MAX_NAMES:
            raise resource_exhausted(f"{what}: {_MAX_NAMES} strings are known, no more have room")
        number = (1 << width) - 1
        while number in self._names:
            number -= 1
        if number < 0:
            raise resource_exhausted(f"{what}: all numbers of {width} bits have strings")
        return number

    def _note(self, name: str, number: int) -> None:
        self._numbers[name] = number
        self._names[number] = name


def decode(value: bytes, names: Names | None, width: int, controllers: int, what: str) -> int:
    """A value as the controller gives it, of so many bits in the program and, 0 where they are the same, at the
    controller. Raises OUT_OF_RANGE, and for a string what `Names.number` does."""
    if names is not None:
        return names.number(value, width, what)
    return bytestrings.decode(value, min(controllers or width, width), what)


def encode(number: int, names: Names | None) -> bytes:
    """A value as the controller is told."""
    return bytestrings.encode(number) if names is None else names.text(number)


def take_over(new: Mapping[str, Names], old: Mapping[str, Names]) -> None:
    """As `Names.take_over`, for each type that both have."""
    for type_name in new.keys() & old.keys():
        new[type_name].take_over(old[type_name])

"""Statements about counters, registers and meters, with simple_switch_CLI's arguments."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.switch.p4runtime.program import Program
from engine.switch.stf.errors import StfError, UnmetError
from engine.switch.stf.names import find
from engine.switch.stf.tables import Tables
from engine.switch.stf.values import number

if TYPE_CHECKING:
    from canopy_engine import MeterRates, Switch

# `check_counter NAME(INDEX or $HANDLE) [packets|bytes COMPARISON NUMBER]`; without the rest: no packets.
CHECK_COUNTER = re.compile(
    r"(?P<name>[^\s(]+)\s*\(\s*(?P<index>[^\s)]+)\s*\)(?:\s+(?P<unit>packets|bytes)\s*(?P<comparison>==|!=|<=|>=|<|>)\s*(?P<value>\S+))?"
)
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}

# simple_switch_CLI takes rates in units per microsecond.
US_PER_S = 1_000_000

INDEX_BITS = 32
COUNTER_BITS = 64
# v1model's registers may have any width; the data plane refuses what does not fit.
REGISTER_BITS = 2048


class Cells:
    """`printed`: what the statements that only read had to say."""

    def __init__(self, switch: Switch, program: Program, tables: Tables) -> None:
        self.printed: list[str] = []
        self._switch = switch
        self._program = program
        self._tables = tables

    def statements(self) -> dict[str, Callable[[list[str]], None]]:
        return {
            "counter_read": self._counter_read,
            "counter_write": self._counter_write,
            "counter_reset": self._counter_reset,
            "register_read": self._register_read,
            "register_write": self._register_write,
            "register_reset": self._register_reset,
            "meter_get_rates": self._meter_get_rates,
            "meter_set_rates": self._meter_set_rates,
            "meter_array_set_rates": self._meter_array_set_rates,
        }

    def check_counter(self, rest: str) -> None:
        """Raises UnmetError when the counter is not as the statement says."""
        parts = CHECK_COUNTER.fullmatch(rest)
        if parts is None:
            raise StfError("check_counter is `check_counter NAME(INDEX) packets|bytes == NUMBER`")
        packets, octets = self._counts(parts["name"], parts["index"])
        unit, comparison = parts["unit"] or "packets", parts["comparison"] or "=="
        value = octets if unit == "bytes" else packets
        wanted = number(parts["value"] or "0", COUNTER_BITS, "check_counter")
        if not COMPARISONS[comparison](value, wanted):
            raise UnmetError(f"counter {parts['name']}({parts['index']}): {value} {unit}, not {comparison} {wanted}")

    def _counts(self, name: str, index: str) -> tuple[int, int]:
        """(packets, bytes) of an indexed counter's cell, or of a named entry's direct counter."""
        handle = self._tables.handles.get(index.removeprefix("$"))
        if handle is not None:
            return self._switch.direct_counter_read(handle.table, handle.key, handle.priority)
        if index.startswith("$"):
            raise StfError(f"no entry was named {index}")
        return self._switch.counter_read(self._counter(name), self._index(index))

    def _counter_read(self, args: list[str]) -> None:
        name, index = args
        packets, octets = self._switch.counter_read(self._counter(name), self._index(index))
        self.printed.append(f"{name}[{index}] = {packets} packets, {octets} bytes")

    def _counter_write(self, args: list[str]) -> None:
        name, index, packets, octets = args
        counts = number(packets, COUNTER_BITS, "packets"), number(octets, COUNTER_BITS, "bytes")
        self._switch.counter_write(self._counter(name), self._index(index), *counts)

    def _counter_reset(self, args: list[str]) -> None:
        (name,) = args
        counter = self._counter(name)
        for index in range(self._program.counters[counter]):
            self._switch.counter_write(counter, index, 0, 0)

    def _register_read(self, args: list[str]) -> None:
        name, *index = args
        register = self._register(name)
        for cell in [self._index(index[0])] if index else range(self._program.registers[register]):
            self.printed.append(f"{name}[{cell}] = {self._switch.register_read(register, cell)}")

    def _register_write(self, args: list[str]) -> None:
        name, index, value = args
        self._switch.register_write(self._register(name), self._index(index), number(value, REGISTER_BITS, name))

    def _register_reset(self, args: list[str]) -> None:
        (name,) = args
        register = self._register(name)
        for index in range(self._program.registers[register]):
            self._switch.register_write(register, index, 0)

    def _meter_get_rates(self, args: list[str]) -> None:
        name, index = args
        rates = self._switch.meter_read(self._meter(name), self._index(index))
        self.printed.append(f"{name}[{index}] = {rates}")

    def _meter_set_rates(self, args: list[str]) -> None:
        name, index, *rates = args
        self._switch.meter_write(self._meter(name), self._index(index), _rates(rates))

    def _meter_array_set_rates(self, args: list[str]) -> None:
        name, *rates = args
        meter = self._meter(name)
        for index in range(self._program.meters[meter]):
            self._switch.meter_write(meter, index, _rates(rates))

    def _counter(self, name: str) -> str:
        return find(name, self._program.counters, "counter")

    def _register(self, name: str) -> str:
        return find(name, self._program.registers, "register")

    def _meter(self, name: str) -> str:
        return find(name, self._program.meters, "meter")

    @staticmethod
    def _index(text: str) -> int:
        return number(text, INDEX_BITS, "index")


def _rates(words: list[str]) -> MeterRates:
    """`RATE:BURST RATE:BURST`, the committed and the peak one."""
    try:
        (cir, cburst), (pir, pburst) = (word.split(":") for word in words)
        return {
            "cir": float(cir) * US_PER_S,
            "cburst": int(cburst),
            "pir": float(pir) * US_PER_S,
            "pburst": int(pburst),
        }
    except ValueError:
        raise StfError("a meter's rates are `RATE:BURST RATE:BURST`, in units per microsecond") from None

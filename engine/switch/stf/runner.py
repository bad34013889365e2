"""Runs one test on one program, in this process, with a clock of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

import canopy_engine

from engine.switch.backend import Backend
from engine.switch.p4runtime.errors import P4RuntimeError
from engine.switch.p4runtime.program import read_program
from engine.switch.stf.cells import Cells
from engine.switch.stf.errors import StfError, UnmetError
from engine.switch.stf.packets import Ports, parse_packet, parse_port
from engine.switch.stf.replication import Replication
from engine.switch.stf.script import Line, parse_script
from engine.switch.stf.tables import Tables

# p4c's own runner lets a second pass where a test waits or changes the control plane; between packets, less.
WAIT_US = 1_000_000
PACKET_INTERVAL_US = 1_000

# Lines of one packet and its copies that are kept: the program may send it round a thousand times.
MAX_TRACE_LINES = 1_000_000


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be. `line` is 0 for what no line is to blame for."""

    line: int
    message: str

    def at(self, path: Path) -> str:
        """The finding with its place, file:line."""
        return f"{path}:{self.line}: {self.message}" if self.line else f"{path}: {self.message}"


@dataclass(slots=True)
class Result:
    findings: list[Finding]
    printed: list[str]
    traced: list[str]

    @property
    def passed(self) -> bool:
        return not self.findings


def run_test(
    program_json: str,
    script: str,
    *,
    seed: int = 0,
    backend: Backend = "interpreter",
    ignore: Collection[str] = (),
    trace: bool = False,
) -> Result:
    """Run a test; what is wrong is in the result. Raises StfError when the program cannot be loaded.

    `ignore`: statements to pass over; p4c's runner for BMv2 does so with check_counter. `trace`: note each packet's way
    through the program."""
    try:
        switch = canopy_engine.Switch(program_json, seed=seed, backend=backend)
        program = read_program(switch, program_json)
    except (canopy_engine.LoadError, P4RuntimeError) as error:
        raise StfError(str(error)) from None
    if trace:
        switch.set_trace(MAX_TRACE_LINES)
    tables = Tables(switch, program)
    runner = _Runner(switch, tables, Replication(switch), Cells(switch, program, tables))
    findings = [
        finding for line in parse_script(script) if line.command not in ignore and (finding := runner.run(line))
    ]
    findings += [Finding(line, str(failure)) for line, failure in runner.ports.check()]
    return Result(sorted(findings, key=lambda finding: finding.line), runner.cells.printed, runner.traced)


class _Runner:
    def __init__(self, switch: canopy_engine.Switch, tables: Tables, replication: Replication, cells: Cells) -> None:
        self.ports = Ports()
        self.cells = cells
        self.traced: list[str] = []
        self._switch = switch
        self._now_us = 0
        self._control: dict[str, Callable[[str], None]] = {
            "add": tables.add,
            "setdefault": tables.set_default,
            "remove": tables.remove,
            **{name: _with_numbers(name, do) for name, do in replication.statements().items()},
            **{name: _with_words(name, do) for name, do in cells.statements().items()},
        }

    def run(self, line: Line) -> Finding | None:
        try:
            self._statement(line)
        except (StfError, UnmetError) as error:
            return Finding(line.number, str(error))
        except canopy_engine.EngineError as error:
            return Finding(line.number, error.args[1])
        return None

    def _statement(self, line: Line) -> None:
        match line.command:
            case "packet":
                self._packet(line)
            case "expect":
                port, _, digits = line.rest.partition(" ")
                self.ports.expect(line.number, parse_port(port), "".join(digits.split()))
            case "no_packet":
                # Nothing to note: a packet that no line expects is a failure anyway.
                pass
            case "wait":
                self._now_us += WAIT_US
            case "check_counter":
                self.cells.check_counter(line.rest)
            case command:
                if command not in self._control:
                    raise StfError(f"there is no statement `{command}`")
                self._control[command](line.rest)
                self._now_us += WAIT_US

    def _packet(self, line: Line) -> None:
        port_text, _, digits = line.rest.partition(" ")
        port, packet = parse_port(port_text), parse_packet("".join(digits.split()))
        self.ports.known.add(port)
        self._now_us += PACKET_INTERVAL_US
        for out_port, out in self._switch.process(port, packet, self._now_us):
            self.ports.receive(line.number, out_port, out)
        if lines := self._switch.take_trace(MAX_TRACE_LINES):
            self.traced += [f"line {line.number}: packet {port}", *lines]


def _with_numbers(name: str, do: Callable[[list[int]], None]) -> Callable[[str], None]:
    """The statement for what takes a list of decimal numbers."""

    def statement(rest: str) -> None:
        try:
            numbers = [int(word, 0) for word in rest.split()]
        except ValueError:
            raise StfError(f"{name} takes numbers only") from None
        try:
            do(numbers)
        except ValueError:
            raise StfError(f"{name} does not take {len(numbers)} numbers") from None

    return statement


def _with_words(name: str, do: Callable[[list[str]], None]) -> Callable[[str], None]:
    """The statement for what takes a list of words."""

    def statement(rest: str) -> None:
        words = rest.split()
        try:
            do(words)
        except ValueError:
            raise StfError(f"{name} does not take {len(words)} arguments") from None

    return statement

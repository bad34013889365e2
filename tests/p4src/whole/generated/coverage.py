"""Which statements of a compiled program a packet passes, from the interpreter's trace."""

import json
import re
from collections.abc import Iterable
from typing import Any

_MARKED = re.compile(r'@\((\d+)\)(?: " is (true|false))?')
_STATE = re.compile(r"entering state '(\w+)'")


class Statements:
    """A program whose every statement the trace tells apart: primitives of actions, conditions, states of the parser.

    A statement that p4c has copied (into each of the sixteen ports, say) is as many statements; `places` are those of
    the source: file, line and text. p4c's JSON has no place for states and for a few statements, which are places of
    their own. A condition's two ways have numbers too, beyond those of the statements.
    """

    def __init__(self, program_json: str) -> None:
        program = json.loads(program_json)
        self.places: list[str] = []
        for action in program["actions"]:
            for primitive in action["primitives"]:
                self._mark(primitive, action["name"])
        for pipeline in program["pipelines"]:
            for condition in pipeline["conditionals"]:
                self._mark(condition, condition["name"])
        self._states = {}
        for state in program["parsers"][0]["parse_states"]:
            self._states[state["name"]] = len(self.places)
            self.places.append(f"state {state['name']}")
        self.conditions = sum(len(pipeline["conditionals"]) for pipeline in program["pipelines"])
        self.json = json.dumps(program)

    def _mark(self, node: dict[str, Any], name: str) -> None:
        number = len(self.places)
        info = node.get("source_info", {})
        if "line" in info:
            self.places.append(f"{info['filename']}:{info['line']}: {info['source_fragment']}")
        else:
            self.places.append(f"{name}, {number}")
        node["source_info"] = {"filename": "@", "line": number, "source_fragment": ""}

    def passed(self, lines: Iterable[str]) -> set[int]:
        """The statements in a packet's trace, and the ways of conditions."""
        text = "\n".join(lines)
        numbers = {self._states[name] for name in _STATE.findall(text)}
        for number, way in set(_MARKED.findall(text)):
            numbers.add(int(number))
            if way:
                numbers.add(len(self.places) + 2 * int(number) + (way == "true"))
        return numbers

    def count(self, numbers: Iterable[int]) -> tuple[int, int, int]:
        """How many of them are statements, of how many places in the source, and how many are ways."""
        statements = [number for number in numbers if number < len(self.places)]
        ways = sum(number >= len(self.places) for number in numbers)
        return len(statements), len({self.places[number] for number in statements}), ways

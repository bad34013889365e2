"""How often packets read and write a compiled program's registers."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from tests.p4src.bench.program import Program

PAIR: Final = 64
"""Bits of two words: what a stateful unit of a chip takes."""

Accesses = Counter[tuple[str, str]]
"""(register, read or write) -> how often."""


class Paths:
    """How often a packet reads and writes each register at most, on any path through a pipeline."""

    def __init__(self, whole: Mapping[str, Any], pipeline: Mapping[str, Any]) -> None:
        self._actions = {action["id"]: action for action in whole["actions"]}
        self._tables = {table["name"]: table for table in pipeline["tables"]}
        self._conditions = {condition["name"]: condition for condition in pipeline["conditionals"]}
        self._known: dict[str | None, Accesses] = {None: Counter()}
        self.most = self._from(pipeline["init_table"])

    def _from(self, first: str | None) -> Accesses:
        """Depth first without recursion: p4c's chains are longer than Python's stack."""
        waiting = [first]
        while waiting:
            name = waiting[-1]
            if name in self._known:
                waiting.pop()
                continue
            ways = list(self._ways(name))
            unknown = [then for _, then in ways if then not in self._known]
            if unknown:
                waiting.extend(unknown)
                continue
            most: Accesses = Counter()
            for accesses, then in ways:
                most |= accesses + self._known[then]
            self._known[waiting.pop()] = most
        return self._known[first]

    def _ways(self, name: str | None) -> Iterator[tuple[Accesses, str | None]]:
        """What a node may do, and where the packet is then."""
        assert name is not None
        if name in self._conditions:
            for branch in ("true_next", "false_next"):
                yield Counter(), self._conditions[name][branch]
            return
        table = self._tables[name]
        for action, number in zip(table["actions"], table["action_ids"], strict=True):
            then = table["next_tables"]
            for following in {then.get(action, then.get("__HIT__")), then.get("__MISS__", then.get(action))}:
                yield self._accesses(number), following

    @cache  # noqa: B019 - it lives as long as the test
    def _accesses(self, number: int) -> Accesses:
        found: Accesses = Counter()
        for primitive in self._actions[number]["primitives"]:
            if primitive["op"] in ("register_read", "register_write"):
                place = 1 if primitive["op"] == "register_read" else 0
                found[primitive["parameters"][place]["value"], primitive["op"]] += 1
        return found


def accesses_of(program: Program) -> Accesses:
    """The most that any packet does in ingress and egress."""
    whole = json.loads(program.json)
    found: Accesses = Counter()
    for pipeline in whole["pipelines"]:
        found += Paths(whole, pipeline).most
    return found


def arrays_of(program: Program) -> dict[str, tuple[int, int]]:
    """Each register's width in bits and how many there are."""
    return {array["name"]: (array["bitwidth"], array["size"]) for array in json.loads(program.json)["register_arrays"]}


def fits(bits: int, reads: int, writes: int) -> bool:
    """Whether a chip could have it."""
    return bits <= PAIR and reads <= 1 and writes <= 1

"""What docs/hardware.md says of the program's registers: how wide they are, and how often a packet needs them."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import pytest

from tests.p4src.bench.program import FOLDER, program

PAIR: Final = 64
"""Bits of two words: what a stateful unit of a chip takes."""
PAGE: Final = (FOLDER.parent / "docs/hardware.md").read_text()

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


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    loaded = json.loads(program().json)
    assert isinstance(loaded, dict)
    return loaded


@pytest.fixture(scope="module")
def most(whole: dict[str, Any]) -> Accesses:
    found: Accesses = Counter()
    for pipeline in whole["pipelines"]:
        found += Paths(whole, pipeline).most
    return found


def test_which_registers_a_chip_could_have(whole: dict[str, Any], most: Accesses) -> None:
    fit = [
        array["name"]
        for array in whole["register_arrays"]
        if array["bitwidth"] <= PAIR
        and all(most[array["name"], access] <= 1 for access in ("register_read", "register_write"))
    ]
    sentence = PAGE.partition("by any packet: ")[2].partition(".")[0]
    assert fit == re.findall(r"`(\w+)`", sentence)


def test_how_often_others_are_read(most: Accesses) -> None:
    reads = {name: times for (name, access), times in most.items() if access == "register_read" and times > 1}
    cells = [name for name, times in reads.items() if times == 17]
    assert (len(reads), len(cells)) == (9, 6), sorted(reads)
    assert "Nine are read more than once by some packet, six of them 17 times" in PAGE


def test_how_many_there_are(whole: dict[str, Any]) -> None:
    arrays = whole["register_arrays"]
    mebibytes = sum(array["bitwidth"] * array["size"] for array in arrays) / 8 / 2**20
    assert f"has {len(arrays)} registers with {mebibytes:.1f} MiB" in PAGE

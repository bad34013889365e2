"""Packet tests that P4Testgen made of the project's programs, on both back ends."""

import re

import pytest

from engine.switch.stf.runner import run_test
from tests.engine.whole.differential.programs import read_json
from tests.engine.whole.generated.make import ROOT, Generated, read

ALL = read()

# Program -> how what leaves differs from what P4Testgen expects; docs/conformance.md has the reasons.
DIFFERENT = {
    "tests/engine/data/crossbar": r"port \d+: digit \d+ \(byte 1[4-9]\)",  # the queue's timestamps
    "tests/engine/whole/differential/data/memory": r"port 1: digit 88 \(byte 44\) is 0, not F",  # a color
    # packet_length after a parser's error
    "tests/engine/whole/differential/data/parsing": r"port 1: digit 2[0-3] \(byte 1[01]\)",
}
HOW_MANY = {"crossbar": 1, "memory": 8, "parsing": 32}
"""So many tests of a program differ in that way."""


def test_there_are_enough_of_them() -> None:
    assert sum(len(generated.tests) for generated in ALL) >= 500


@pytest.mark.parametrize("generated", ALL, ids=lambda generated: generated.program)
def test_both_back_ends_do_what_the_program_says(generated: Generated) -> None:
    program_json = read_json(ROOT / generated.program)
    explained = re.compile(DIFFERENT.get(generated.program, "(?!)"))
    differences = 0
    for number, test in enumerate(generated.tests):
        native, interpreted = (run_test(program_json, test, backend=backend) for backend in ("native", "interpreter"))
        assert native == interpreted, f"test {number}"
        for finding in native.findings:
            assert explained.match(finding.message), f"test {number}: {finding.message}"
        differences += not native.passed
    assert differences == HOW_MANY.get(generated.program.rsplit("/", 1)[1], 0)

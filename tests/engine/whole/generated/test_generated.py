"""Packet tests that P4Testgen made of the project's programs, on both back ends."""

import re
from contextlib import closing

import pytest

from engine.switch.stf.runner import run_test
from tests.engine.whole.differential.programs import read_json
from tests.engine.whole.generated import both
from tests.engine.whole.generated.make import ROOT, Generated, read
from tests.simple_switch import find_simple_switch

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

BY_CHANCE = {
    ("commands", 6): slice(4, 8),  # a random number
    ("crossbar", 8): slice(14, 22),  # the queue's timestamps
    ("telemetry", 24): slice(51, 55),  # the time in the queue
}
"""Program, and test -> bytes that BMv2 takes from its clock, or from random numbers."""
TIMED = {"commands", "canopy"}
"""Their digests end in a time."""
TOO_MANY_PASSES = {("commands", 2)}
"""What resubmits 39,110 times: the embedded switch drops a packet after 1,024."""
NOT_RUN = {("commands", 1)}
"""It needs clone session 0, which P4Runtime does not have."""


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


@pytest.mark.bmv2
@pytest.mark.skipif(find_simple_switch() is None, reason="simple_switch_grpc is not on PATH")
@pytest.mark.parametrize("generated", ALL, ids=lambda generated: generated.program)
def test_simple_switch_does_what_the_embedded_switch_does(generated: Generated) -> None:
    program_json = read_json(ROOT / generated.program)
    name = generated.program.rsplit("/", 1)[1]
    executable = find_simple_switch()
    assert executable is not None
    with closing(both.simple_switch(program_json, executable)) as other:
        for number, test in enumerate(generated.tests):
            if (place := (name, number)) in NOT_RUN:
                continue
            ours, theirs = both.run(program_json, test, other)
            assert ours.counters == theirs.counters, f"test {number}"
            told, other_told = (
                seen.digests_without_time() if name in TIMED else seen.digests for seen in (ours, theirs)
            )
            assert told == other_told, f"test {number}"
            if place in TOO_MANY_PASSES:
                assert (ours.sent, len(theirs.sent)) == ([], 1)
            else:
                chance = BY_CHANCE.get(place, slice(0))
                sent, other_sent = (
                    [(port, _cut(packet, chance)) for port, packet in seen.sent] for seen in (ours, theirs)
                )
                assert sent == other_sent, f"test {number}"


def _cut(packet: bytes, out: slice) -> tuple[bytes, bytes]:
    return packet[: out.start or 0], packet[out.stop :]

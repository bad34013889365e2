"""What simple_switch_grpc made of sequences through canopy.p4, from the embedded switch on both back ends."""

import pytest

from engine.switch.backend import Backend
from tests.p4src.bench.program import program
from tests.p4src.bench.target import Embedded
from tests.p4src.whole.generated.choose import Tracer
from tests.p4src.whole.generated.coverage import Statements
from tests.p4src.whole.generated.exact import exact_simple_switch, find_compiler
from tests.p4src.whole.generated.sequences import observe, read
from tests.simple_switch import find_simple_switch

ALL = read()
LEAST_PASSED = 0.98
"""Of the statements, as compiled and in the source."""
LEAST_WAYS = 0.94
"""Of the ways out of conditions."""


def test_they_pass_nearly_all_statements() -> None:
    statements = Statements(program().json)
    tracer = Tracer(program(), statements)
    passed: set[int] = set()
    for told in ALL:
        for reason in (tracer.run(told.steps) or {}).values():
            passed |= reason.statements
    passed_statements, passed_places, passed_ways = statements.count(passed)
    assert passed_statements > LEAST_PASSED * len(statements.places)
    assert passed_places > LEAST_PASSED * len(set(statements.places))
    assert passed_ways > LEAST_WAYS * 2 * statements.conditions


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_both_back_ends_do_what_simple_switch_does(backend: Backend) -> None:
    for number, told in enumerate(ALL):
        assert observe(Embedded(program(), backend), number, told.steps) == told.said, (
            f"sequence {number}, from {told.origin}"
        )


if (switch := find_simple_switch()) is not None and (compiler := find_compiler()) is not None:

    @pytest.mark.bmv2
    @pytest.mark.timeout(900)  # it loads the program for each sequence
    def test_simple_switch_does_what_is_kept() -> None:
        with exact_simple_switch(program(), str(switch), str(compiler)) as other:
            for number, told in enumerate(ALL):
                other.reset()
                assert observe(other, number, told.steps) == told.said, f"sequence {number}, from {told.origin}"

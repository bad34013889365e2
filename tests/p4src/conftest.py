"""The switch under test: `target` is the embedded switch and, where it is installed, simple_switch_grpc in turn."""

from collections.abc import Callable, Iterator

import pytest

from tests.p4src.bench.bmv2 import SimpleSwitch
from tests.p4src.bench.feedback import Bench
from tests.p4src.bench.program import program
from tests.p4src.bench.setup import EPOCH_SHIFT, install
from tests.p4src.bench.target import Embedded, Target
from tests.simple_switch import find_simple_switch

KINDS = ["embedded"]
if find_simple_switch() is not None:
    KINDS.append("bmv2")

TargetFactory = Callable[[int], list[Target]]


@pytest.fixture(scope="session")
def simple_switches() -> Iterator[list[SimpleSwitch]]:
    """Processes that tests share, started as they are asked for, each reset before it is given out."""
    switches: list[SimpleSwitch] = []
    yield switches
    for switch in switches:
        switch.close()


def share_simple_switches(switches: list[SimpleSwitch], number: int) -> list[SimpleSwitch]:
    """That many of them, started if need be, and empty."""
    executable = find_simple_switch()
    assert executable is not None
    while len(switches) < number:
        switches.append(SimpleSwitch(program(), executable))
    for switch in switches[:number]:
        switch.reset()
    return switches[:number]


@pytest.fixture(params=[pytest.param(kind, marks=[pytest.mark.bmv2] if kind == "bmv2" else []) for kind in KINDS])
def targets(request: pytest.FixtureRequest, simple_switches: list[SimpleSwitch]) -> TargetFactory:
    """Makes any number of empty switches of one kind."""

    def make(number: int) -> list[Target]:
        if request.param == "embedded":
            return [Embedded(program()) for _ in range(number)]
        return list(share_simple_switches(simple_switches, number))

    return make


@pytest.fixture
def target(targets: TargetFactory) -> Target:
    return targets(1)[0]


@pytest.fixture
def bench(target: Target) -> Bench:
    """An empty switch that helps with feedback."""
    bench = Bench(target)
    bench.assist()
    return bench


@pytest.fixture
def embedded() -> Embedded:
    """For tests that must move time exactly."""
    return Embedded(program())


@pytest.fixture
def switch(target: Target) -> Target:
    """As the controller sets it up, with eight ports."""
    install(target)
    return target


@pytest.fixture
def timed(embedded: Embedded) -> Embedded:
    """Set up likewise; members expire as tests move time."""
    install(embedded, epoch_shift=EPOCH_SHIFT)
    return embedded

"""Fixtures of the engine's tests."""

from collections.abc import Iterator

import pytest

from tests.engine.entities import Bench, new_bench
from tests.engine.namespaces import Namespace, add_veth, namespaces
from tests.engine.served import Controller, Served, controllers


@pytest.fixture
def bench() -> Bench:
    """entities.p4, loaded and without state."""
    return new_bench()


@pytest.fixture
def served() -> Iterator[Served]:
    """A P4Runtime server without a pipeline."""
    with Served() as made:
        yield made


@pytest.fixture
def controller(served: Served) -> Iterator[Controller]:
    """A client that has not sent anything."""
    with controllers(served, 1) as (made,):
        yield made


@pytest.fixture
def primary(controller: Controller) -> Controller:
    """The primary client of a switch that runs entities.p4."""
    controller.arbitrate(10)
    controller.push()
    return controller


@pytest.fixture
def space() -> Iterator[Namespace]:
    """A network namespace that the test runs in."""
    with namespaces(1) as (made,), made.entered():
        yield made


@pytest.fixture
def wired(space: Namespace) -> Namespace:
    """With interfaces for ports 1 and 2 of a switch, s1 and s2, whose other ends are h1 and h2."""
    for port in (1, 2):
        add_veth(f"s{port}", f"h{port}")
    return space

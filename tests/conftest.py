"""What all tests share."""

import asyncio
import gc
import inspect
import subprocess
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

COROUTINE_LIMIT_S = 110.0
"""Of a test that waits for ever (ours)."""

# A busy machine is no failure: what a test may take is bounded by the test run, not by each example, nor by
# how fast those are made.
# The same examples each time; `--hypothesis-profile=default` looks for others.
settings.register_profile("canopy", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("canopy")


def pytest_configure(config: pytest.Config) -> None:
    """Compiled programs are those that are kept packed, also after a checkout that no `make setup` followed."""
    gc.disable()  # all that is made until the tests begin stays
    if not hasattr(config, "workerinput"):
        subprocess.run(["make", "--silent", "programs"], cwd=Path(__file__).parents[1], check=True)


@pytest.hookimpl(tryfirst=True)  # before some are deselected
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make test` looks for tests with these marks only in files that have the mark in their text."""
    for mark in ("root", "emulation", "alone"):
        for item in items:
            if item.get_closest_marker(mark) and f"mark.{mark}" not in _text(item.path):
                raise pytest.UsageError(f"{item.nodeid}: nothing in this file says `pytest.mark.{mark}`")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is a coroutine has an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**given), COROUTINE_LIMIT_S))
    return True


def pytest_collection_finish() -> None:
    """The tests themselves are many thousand objects, and stay: garbage is not looked for among them."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 20)  # nor among the many small things of virtual networks every moment


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")

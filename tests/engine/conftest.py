"""Fixtures of the engine's tests."""

import pytest

from tests.engine.entities import Bench, new_bench


@pytest.fixture
def bench() -> Bench:
    """entities.p4, loaded and without state."""
    return new_bench()

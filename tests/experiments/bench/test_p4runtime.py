import pytest

from experiments.bench import p4runtime


@pytest.fixture(scope="module")
def figures() -> dict[str, float]:
    return {figure.name: figure.value for figure in p4runtime.measure(writes=20, requests=60, large=3)}


def test_large_messages_of_strangers_take_little_memory(figures: dict[str, float]) -> None:
    """Three, of 15 MB, parsed: above 900 MB."""
    memory = {name: value for name, value in figures.items() if "memory at most during" in name}
    assert {name.rpartition(" ")[2] for name in memory} == set(p4runtime.METHODS)
    assert {name: value for name, value in memory.items() if not 20 < value < 300} == {}


def test_writes_take_time(figures: dict[str, float]) -> None:
    assert 0 < figures["20 writes in a row"] < 60

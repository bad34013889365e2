"""The least of many numbers that change."""

from hypothesis import given
from hypothesis import strategies as st

from hosts.protocols.mtcp.least import Least


def test_nothing_has_the_empty_value() -> None:
    least = Least(7)
    assert least.value == 7
    least.set(1, 9)
    assert (least.value, least.key) == (9, 1)
    least.remove(1)
    assert least.value == 7


@given(st.lists(st.tuples(st.integers(0, 5), st.none() | st.integers(0, 9)), max_size=400))
def test_against_a_dictionary(steps: list[tuple[int, int | None]]) -> None:
    """None removes the key."""
    least, model = Least(100), dict[int, int]()
    for key, value in steps:
        if value is None:
            least.remove(key)
            model.pop(key, None)
        else:
            least.set(key, value)
            model[key] = value
        assert least.value == min(model.values(), default=100)
        if model:
            assert model[least.key] == least.value
        assert len(least._heap) <= 2 * len(model) + 66


@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.sets(st.integers(0, 4), min_size=1), st.integers(0, 9), st.booleans()), max_size=60),
)
def test_some_or_all_at_once(count: int, steps: list[tuple[set[int], int, bool]]) -> None:
    least, model = Least(100), dict.fromkeys(range(count), 0)
    for key in model:
        least.set(key, 0)
    for chosen, value, look in steps:
        keys = sorted(chosen & model.keys())
        least.set_all(keys, value)
        model.update(dict.fromkeys(keys, value))
        if look:
            assert least.value == min(model.values())
            assert least.key == min(key for key in model if model[key] == least.value)

from topologies.results.paths import paths_from
from topologies.scenario.network import Link


def links(*given: tuple[str, str, str]) -> list[Link]:
    return [Link.model_validate({"between": [one, other], "delay": delay}) for one, other, delay in given]


def test_the_way_of_least_delay_is_taken() -> None:
    found = paths_from(links(("a", "b", "20 ms"), ("a", "c", "5 ms"), ("c", "b", "5 ms")), "a")
    assert found["b"] == ["a", "c", "b"]
    assert found["a"] == ["a"]


def test_of_equal_delays_the_way_of_fewer_hops() -> None:
    assert paths_from(links(("a", "b", "10 ms"), ("a", "c", "5 ms"), ("c", "b", "5 ms")), "a")["b"] == ["a", "b"]


def test_of_equal_ways_the_one_by_the_first_name_as_the_controller_takes_it() -> None:
    ring = links(("a", "s2", "5 ms"), ("s2", "b", "5 ms"), ("a", "s1", "5 ms"), ("s1", "b", "5 ms"))
    assert paths_from(ring, "a")["b"] == ["a", "s1", "b"]


def test_who_has_no_link_goes_nowhere() -> None:
    assert paths_from(links(("a", "b", "1 ms")), "c") == {}

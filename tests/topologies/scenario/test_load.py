"""YAML with line numbers; what loads fast, and what must not."""

from pathlib import Path

import pytest

from tests.topologies.scenario.example import GOOD, change
from topologies.scenario import ScenarioError, load_scenario, parse_scenario
from topologies.scenario.load import parse_document
from topologies.scenario.network import DropTail, Red

SCENARIOS = sorted((Path(__file__).parents[3] / "topologies").glob("*.yaml"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.name)
def test_every_scenario_of_the_project_is_valid(path: Path) -> None:
    assert load_scenario(path).sessions


def test_a_scenario_is_read_with_its_units() -> None:
    scenario = parse_scenario(GOOD)
    assert list(scenario.hosts) == ["a", "b", "c"]
    up = scenario.links[0].direction("s1")
    assert (up.source, up.destination, up.rate_bps, up.delay_s, up.loss) == ("a", "s1", 10e6, 0.005, 0.0)
    assert up.queue == DropTail(packets=64)
    assert scenario.sessions[0].receivers[1].leave == 5.0


def test_a_direction_overrides_only_what_it_names() -> None:
    link = parse_scenario(GOOD).links[2]
    assert link.direction("s1").loss == 0.0
    toward_c = link.direction("c")
    assert (toward_c.loss, toward_c.rate_bps, toward_c.delay_s) == (0.01, 1e6, 0.0)
    assert toward_c.queue == Red.model_validate(
        {"kind": "red", "bytes": "64 kB", "min_threshold": 9000, "max_threshold": 30_000}
    )


def test_a_scenario_survives_its_own_json() -> None:
    scenario = parse_scenario(GOOD)
    assert type(scenario).model_validate_json(scenario.model_dump_json(exclude_none=True)) == scenario


def test_a_link_is_found_whichever_way_round_it_is_named() -> None:
    scenario = parse_scenario(GOOD)
    assert scenario.link_between("s1", "a") is scenario.links[0]
    assert scenario.link_between("b", "c") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "just words",
        "\x00",
        "a: 2026-99-99",
        "&a [*a]",
        "[" * 3000,
        "name: {}\nnodes: &n\n  s1: *n",
        "? [1]\n: 2\n",
        "!!python/none x",
    ],
)
def test_what_is_no_scenario_at_all_gives_one_clear_line(text: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text, "x.yaml")
    assert str(caught.value).startswith("x.yaml")


@pytest.mark.parametrize("name", ["nowhere", "x" * 300, "x\\0y"])
def test_a_file_that_cannot_be_there_is_told(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(change("size: 1 MB", f'file: "{name}"'))
    with pytest.raises(ScenarioError, match=r"x.yaml:21: sessions\[0\].file: .*: no such file"):
        load_scenario(path, check_files=True)


def test_a_missing_file_and_one_that_is_not_text_are_told(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"nowhere\.yaml: No such file or directory"):
        load_scenario(tmp_path / "nowhere.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"name: \xff\xfe")
    with pytest.raises(ScenarioError, match="not UTF-8 text"):
        load_scenario(tmp_path / "binary.yaml")
    with pytest.raises(ScenarioError, match="/dev/zero: File too large"):
        load_scenario(Path("/dev/zero"))


def test_poisson_streams_are_only_simulated(tmp_path: Path) -> None:
    path = tmp_path / "poisson.yaml"
    path.write_text(
        change("traffic:", "traffic:\n  - {kind: udp, source: a, destination: b, rate: 1 Mbps, gaps: exponential}")
    )
    with pytest.raises(ScenarioError, match=r"traffic\[0\].gaps: exponential gaps are only simulated"):
        load_scenario(path, purpose="emulate")
    assert load_scenario(path).traffic[0].kind == "udp"


DEEP = 100_000


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * DEEP,
        "a: " + "{a: " * DEEP,
        "- " * DEEP,
        "? " * DEEP,
        "a: '" + "]" * DEEP + "'\nb: " + "[" * DEEP,
        "a:\n" + '  [ "]",\n' * DEEP,
        "\n".join(" " * depth + "a:" for depth in range(3000)),
    ],
    ids=["lists", "mappings", "dashes", "keys", "closed in quotes", "closed line by line", "indented"],
)
def test_a_text_that_is_nested_too_deeply_is_refused(text: str) -> None:
    with pytest.raises(ScenarioError, match=r"nested too deeply|a scenario is a YAML mapping|not YAML"):
        parse_document(text, "deep.yaml")


def test_lines_are_found_in_flow_and_block_style() -> None:
    document = parse_document('a: 1\nb:\n  - {c: 2, d: "]"}  # ]\n  -\n    c: [3,\n        on]\n', "x.yaml")
    assert document.data == {"a": 1, "b": [{"c": 2, "d": "]"}, {"c": [3, "on"]}]}
    assert document.locate(("b", 0, "d"))[0] == 3
    assert document.locate(("b", 1, "c", 1))[0] == 6


def test_ten_thousand_lines_of_flow_style_are_read_fast() -> None:
    lines = "".join(f"  r{number}: {{kind: host}}\n" for number in range(10_000))
    document = parse_document("nodes:\n" + lines, "wide.yaml")
    assert len(document.data["nodes"]) == 10_000

"""YAML with line numbers; what loads fast, and what must not."""

import pytest

from topologies.scenario.document import parse_document
from topologies.scenario.errors import ScenarioError

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

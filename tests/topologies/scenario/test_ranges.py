"""Names in ranges."""

import pytest

from topologies.scenario.ranges import RangeError, names_in


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("r[1-3]", ["r1", "r2", "r3"]),
        ("r[7]", ["r7"]),
        ("r[1,4-5]", ["r1", "r4", "r5"]),
        ("r[08-10]", ["r08", "r09", "r10"]),
        ("r[1-2]_b", ["r1_b", "r2_b"]),
        ("r1", None),
        ("10 Mbps", None),
        ("[1-3]", None),
    ],
)
def test_a_range_is_its_names(text: str, names: list[str] | None) -> None:
    assert names_in(text) == names


@pytest.mark.parametrize("text", ["r[]", "r[1-]", "r[a-c]", "r[3-1]", "r[1-99999]", "r[1-9999999999999]"])
def test_what_only_looks_like_one_is_told(text: str) -> None:
    with pytest.raises(RangeError):
        names_in(text)

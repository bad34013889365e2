"""Lines without the points that are nearly on them."""

import pytest

from experiments.figures.straight import straightened


@pytest.mark.parametrize(
    ("path", "fewer"),
    [
        ("M5 5l10 3 10-3 10 0 10 40h9v9v4h-30h-9v-9", "M5 5h30l10 40h9v13h-39v-9"),
        ("M5 5l10 5 10-5M0 0h4h5z", "M5 5l10 5 10-5M0 0h9z"),
        ("M0 0h50h-30", "M0 0h50h-30"),
        ("M5 5l1.5 1 10 1", "M5 5l1.5 1 10 1"),
        ("M5 5C1 2 3 4 5 6l1 1-9-9", "M5 5C1 2 3 4 5 6l-8-8"),
    ],
)
def test_what_is_nearly_on_a_line_goes(path: str, fewer: str) -> None:
    assert straightened(path) == fewer

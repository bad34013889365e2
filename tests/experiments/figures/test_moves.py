"""Paths whose lines begin by steps."""

import pytest

from experiments.figures.moves import moved


@pytest.mark.parametrize(
    ("path", "shorter"),
    [
        ("M5596 11510h0v130zM5596 11696h9v-129h-9zM5 11881h4", "M5596 11510h0v130zm0 186h9v-129h-9zM5 11881h4"),
        ("M892 5260v35M1228 5260l-5-5 7 1M1290 5240h-35", "M892 5260v35m336-35l-5-5 7 1m60-16h-35"),
        ("M100 100C150 150 160 90 200 200M205 200h5", "M100 100C150 150 160 90 200 200m5 0h5"),
        ("M1000.5 1000h5M1001 1000h5", "M1000.5 1000h5M1001 1000h5"),
        ("M1000 1000Q1 2 3 4M1001 1000h5", "M1000 1000Q1 2 3 4M1001 1000h5"),
    ],
)
def test_lines_begin_by_steps_where_that_is_shorter(path: str, shorter: str) -> None:
    assert moved(path) == shorter

import json

import pytest

from experiments.bench.figure import show
from experiments.figures.bench import Figure

SLOW = Figure("rate", 9.0, "1/s", 10.0, peer="another", peer_value=3.0, ratio_target=2.0)


def test_another_program_has_columns_where_it_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    show("Rates", [SLOW], as_json=False, notes=["a note"])
    printed = capsys.readouterr().out
    assert "at least 10, 2 times another's" in printed
    assert "ratio" in printed
    assert printed.endswith("a note\n")
    show("Rates", [Figure("rate", 9.0, "1/s")], as_json=False)
    assert "ratio" not in capsys.readouterr().out


def test_json_has_what_follows_from_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    show("Rates", [SLOW], as_json=True)
    printed = json.loads(capsys.readouterr().out)
    assert printed["notes"] == []
    assert {name: printed["figures"][0][name] for name in ("value", "ratio", "is_met")} == {
        "value": 9.0,
        "ratio": 3.0,
        "is_met": False,
    }

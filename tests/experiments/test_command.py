import hashlib
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engine.command.assemble import build
from experiments.harness.results_folder import RESULTS
from experiments.harness.row import Row
from experiments.rows import ROWS

RUNNER = CliRunner()
APP = build(["reproduce"])
DRAWN = "16d5f42b1ab5eef8"
"""The digest of tcp-share's figure begins so."""


def test_the_list_has_every_row_and_says_what_is_not_built() -> None:
    result = RUNNER.invoke(APP, ["reproduce", "--list"], env={"COLUMNS": "300"})
    assert result.exit_code == 0
    assert all(f" {row} " in result.stdout for row in ROWS)
    missing = {row.missing for row in ROWS.values() if row.missing}
    assert all(f"not built: needs {what}" in result.stdout for what in missing)


def test_the_list_can_be_of_one_paper_and_for_a_program() -> None:
    result = RUNNER.invoke(APP, ["reproduce", "vlmcc", "--list", "--json"])
    assert [row["row"] for row in json.loads(result.stdout)["rows"]] == [
        "vlmcc-fig4",
        "vlmcc-fig6",
        "vlmcc-fig8",
        "vlmcc-loss",
        "vlmcc-sweep",
        "vlmcc-self",
        "vlmcc-queue",
        "vlmcc-assist",
    ]


def test_what_is_kept_can_be_listed(tmp_path: Path) -> None:
    arguments = ["reproduce", "mtcp-fig6", "tcp-share", "--kept", "--out", str(tmp_path)]
    for row_id in ("mtcp-fig6-assist", "tcp-share"):
        (tmp_path / f"{row_id}.json").write_bytes((RESULTS / f"{row_id}.json").read_bytes())
    result = RUNNER.invoke(APP, [*arguments, "--json"])
    assert (result.exit_code, result.stderr) == (0, "")
    rows = {row["row"]: row for row in json.loads(result.stdout)["rows"]}
    assert {row_id: row["kept"] for row_id, row in rows.items()} == {
        "mtcp-fig6": False,
        "mtcp-fig6-assist": True,
        "tcp-share": True,
    }
    assert (rows["tcp-share"]["runs"], rows["tcp-share"]["holds"]) == (5, True)
    (tmp_path / "tcp-share.json").write_text("{")
    result = RUNNER.invoke(APP, arguments, env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert "nothing kept" in result.stdout
    assert "not readable" in result.stdout
    assert "tcp-share.json: not a row's result" in result.stderr


def test_what_is_kept_is_judged_and_drawn_anew(tmp_path: Path) -> None:
    path = tmp_path / "tcp-share.json"
    path.write_bytes((RESULTS / path.name).read_bytes())
    kept = json.loads(path.read_text())
    path.write_text(json.dumps(kept | {"measured": 0.5, "holds": False}))
    arguments = ["reproduce", "tcp-share", "--kept", "--out", str(tmp_path)]
    result = RUNNER.invoke(APP, [*arguments, "--judge"])
    assert (result.exit_code, result.stdout) == (
        0,
        "tcp-share: does not hold, 0.5 Jain index (jain, bbr, 16 flows)"
        " -> holds, 0.9942 Jain index (jain, bbr, 16 flows)\n",
    )
    assert json.loads(path.read_text()) == kept
    assert RUNNER.invoke(APP, [*arguments, "--judge", "--draw"]).stdout == ""
    drawn = hashlib.sha256((tmp_path / "tcp-share.svg").read_bytes()).hexdigest()
    assert drawn.startswith(DRAWN), "another picture than the one that was drawn when the row was run"
    path.write_text("{")
    result = RUNNER.invoke(APP, [*arguments, "--judge"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "tcp-share.json: not a row's result" in result.stderr
    assert RUNNER.invoke(APP, ["reproduce", "tcp-share", "--judge"]).exit_code == 2


def test_rows_and_what_is_kept_of_them_are_two_lists() -> None:
    result = RUNNER.invoke(APP, ["reproduce", "--list", "--kept"])
    assert result.exit_code == 2
    assert "not both" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [["tcp-padhie"], ["tcp-padhie", "--list"], ["tcp-padhie", "--kept"], ["tcp-padhye", "tcp-padhie", "--json"]],
)
def test_an_unknown_name_is_exit_status_2_and_lists_what_comes_near(arguments: list[str]) -> None:
    result = RUNNER.invoke(APP, ["reproduce", *arguments])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "no paper or row is called `tcp-padhie`; did you mean `tcp-padhye`" in result.stderr


def test_no_name_is_exit_status_2() -> None:
    result = RUNNER.invoke(APP, ["reproduce"])
    assert result.exit_code == 2
    assert "--list" in result.stderr


def test_json_is_one_object_and_a_row_that_is_not_built_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    unbuilt = Row("vlmcc-loss", "vlmcc", "sim", "title", "value", "counts", missing="the protocol vlmcc")
    monkeypatch.setattr("experiments.rows.ROWS", {unbuilt.id: unbuilt})
    result = RUNNER.invoke(APP, ["reproduce", "vlmcc-loss", "--json"])
    assert result.exit_code == 1
    (row,) = json.loads(result.stdout)["rows"]
    assert list(row) == ["row", "paper", "measured", "interval", "unit", "holds"]
    assert row["holds"] is False
    assert "vlmcc-loss: not built: needs the protocol vlmcc" in result.stderr


def test_a_real_row_holds_with_exit_status_0(tmp_path: Path) -> None:
    arguments = ["reproduce", "tcp-share", "--quick", "--seeds", "1", "--json", "--out", str(tmp_path)]
    result = RUNNER.invoke(APP, arguments)
    (row,) = json.loads(result.stdout)["rows"]
    assert (result.exit_code, row["holds"]) == (0, True), result.stdout + result.stderr
    assert 0.95 <= row["measured"] <= 1
    assert row["interval"] is None, "one run has none"
    assert {path.name for path in tmp_path.iterdir()} == {"tcp-share.json", "tcp-share.svg"}
    result = RUNNER.invoke(APP, ["reproduce", "tcp-share", "--kept", "--json", "--out", str(tmp_path)])
    (listed,) = json.loads(result.stdout)["rows"]
    assert (listed["scenario"], listed["quick"], listed["runs"]) == ("current", True, 1)
    assert listed["made"]["date"]

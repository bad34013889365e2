"""The comparison's table and page, drawn from results in a folder."""

import json
import re
from pathlib import Path

import pytest

from experiments.figures import comparison
from experiments.figures.comparison import write
from experiments.harness.kept import parse_kept
from experiments.harness.results_folder import RESULTS
from experiments.rows.compare.comparison import ROWS


def keep(folder: Path, row_id: str, values: dict[str, dict[str, list[float]]]) -> None:
    """A row's result: quantity -> contender -> values."""
    cases = [
        {"case": contender, "world": "sim", "quantity": quantity, "values": runs}
        for quantity, contenders in values.items()
        for contender, runs in contenders.items()
    ]
    kept = {"quick": False, "runs": 1, "holds": True, "notes": [], "cases": cases}
    (folder / f"{row_id}.json").write_text(json.dumps(kept))


def keep_all(folder: Path) -> None:
    for row in ROWS:
        keep(folder, row.id, {"slowest": {"MTCP": [1000.0, 1200.0], "WEBRC": [3.5]}})


def test_nothing_is_written_before_all_rows_are_there(tmp_path: Path) -> None:
    keep_all(tmp_path)
    (tmp_path / f"{ROWS[0].id}.json").unlink()
    assert not write(tmp_path, ROWS)
    assert not (tmp_path / "compare.md").exists()


def test_one_table_and_one_page(tmp_path: Path) -> None:
    keep_all(tmp_path)
    assert write(tmp_path, ROWS)
    lines = (tmp_path / "compare.md").read_text().splitlines()
    assert lines[0] == "|  |  | MTCP | WEBRC |"
    # Student's t of one degree of freedom times the standard error of 100: 12.7 * 100.
    assert (
        lines[2] == "| **one bottleneck of 1 Mbit/s with one TCP** | slowest receiver, kbit/s | 1,100 ± 1,271 | 3.50 |"
    )
    assert lines[3].startswith("|  | of the TCP's rate |  |")
    assert len({line.count("|") for line in lines}) == 1
    first = (tmp_path / "compare.svg").read_text()
    assert write(tmp_path, ROWS)
    assert (tmp_path / "compare.svg").read_text() == first


def test_what_is_no_result_is_named(tmp_path: Path) -> None:
    keep_all(tmp_path)
    for content in (b'{"cases": [{}]}', b"\xff", b""):
        (tmp_path / f"{ROWS[2].id}.json").write_bytes(content)
        with pytest.raises(ValueError, match=re.escape(ROWS[2].id)):
            write(tmp_path, ROWS)


def test_a_table_of_the_kept_results_has_all_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "page", lambda networks: "")  # which another test draws
    kept = [row for row in ROWS if (RESULTS / f"{row.id}.json").exists()]
    for row in kept:
        (tmp_path / f"{row.id}.json").write_bytes((RESULTS / f"{row.id}.json").read_bytes())
    assert write(tmp_path, kept)
    lines = (tmp_path / "compare.md").read_text().splitlines()[2:]
    filled = sum(bool(cell.strip()) for line in lines for cell in line.split("|")[3:-1])
    assert filled == sum(len(parse_kept(path.read_bytes(), path.name).cases) for path in tmp_path.glob("*.json")) > 300

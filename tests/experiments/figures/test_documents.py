"""Figures in the documents: what a mark becomes, and that every page is as the command writes it."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from experiments.figures.bench import Figure
from experiments.figures.documents import ROOT, DocumentError, fill, pages, write

END = "<!-- end -->"
KEPT_SURVEY = """{"seed": 1000, "kind": "reporting", "cells": 2, "full": false, "protocols": [{
  "protocol": "mtcp", "holds": false, "done": 1, "left_out": 1, "failed": 0, "enough": {"cells": 1, "holds": 0},
  "fair": {"cells": 0, "holds": 0}, "recovers": {"cells": 0, "holds": 0}, "moves": {"cells": 1, "holds": 1},
  "stands": {"cells": 1, "holds": 1}, "of_tcp_median": 0.5, "of_tcp_tenth": 0.5, "share_median": null,
  "recovery_median_s": null, "queue_p99_median_s": 0.0213, "variation_median": 0.1, "feedback_median": 2.0,
  "goals": {"lossless": {"cells": 1, "holds": 0}, "lossless_least": 0.5,
  "beside_loss_based": {"cells": 0, "holds": 0}, "beside_least": null, "beside_most": null,
  "as_tcp": {"cells": 0, "holds": 0}}}]}"""


def page(mark: str) -> str:
    return f"# Page\n\n<!-- figures: {mark} -->\nbefore\n{END}\nafter\n"


def table(mark: str, folder: Path) -> list[str]:
    """The lines between mark and end."""
    text = fill(page(mark), folder)
    assert text.startswith("# Page\n\n<!-- figures: ")
    assert text.endswith(f"\n{END}\nafter\n")
    assert "\nbefore\n" not in text
    return [line for line in text.splitlines() if line.startswith("|")]


def keep(folder: Path, row_id: str, cases: dict[tuple[str, str], list[float]], reference: float | None = None) -> None:
    """A row's result: (case, quantity) -> values."""
    entries = [
        {"case": case, "world": "sim", "values": {quantity: values}, "references": {quantity: reference}}
        for (case, quantity), values in cases.items()
    ]
    verdict = {
        "measured": 0.5,
        "unit": "ms",
        "interval": [0.4, 0.6],
        "where": "worst",
        "holds": False,
        "quick": False,
        "runs": 5,
        "notes": [],
    }
    (folder / f"{row_id}.json").write_text(json.dumps({**verdict, "cases": entries}))


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_every_page_is_as_the_command_writes_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text == fill(text), f"{path.relative_to(ROOT)} is old: python -m experiments.figures.documents"


def test_pages_are_the_documents() -> None:
    names = {path.name for path in pages()}
    assert {"README.md", "comparison.md", "mtcp.md"} <= names


def test_cases_have_a_column_for_each_quantity(tmp_path: Path) -> None:
    keep(
        tmp_path, "mtcp-table1", {("4 sessions", "Jain index"): [0.98, 1.0], ("4 sessions", "throughput"): [2.0]}, 0.97
    )
    # Student's t of one degree of freedom times the standard error of 0.01: 12.7 * 0.01.
    assert table("cases mtcp-table1", tmp_path) == [
        "| case | fairness index | all sessions, Mbit/s |",
        "|-|-|-|",
        "| 4 sessions | 0.990 ± 0.127 (0.970) | 2 (0.970) |",
    ]
    assert table("cases mtcp-table1 | throughput", tmp_path)[0] == "| case | all sessions, Mbit/s |"


def test_with_help_of_the_switches_beside_without(tmp_path: Path) -> None:
    keep(tmp_path, "mtcp-fig9", {("one-level 1", "throughput"): [145.0], ("one-level 100", "throughput"): [6.1]})
    keep(tmp_path, "mtcp-fig9-assist", {("one-level 100", "throughput"): [12345.6]})
    assert table("grid mtcp-fig9 mtcp-fig9-assist", tmp_path) == [
        "| throughput, KB/s | 1 | 100 |",
        "|-|-|-|",
        "| one-level | 145 | 6.10 |",
        "| one-level, with switches |  | 12,346 |",
    ]


def test_quantities_have_a_column_for_each_case(tmp_path: Path) -> None:
    keep(tmp_path, "tfmcc-fig11", {("star", "ratio 1"): [0.5], ("star", "ratio 2"): [0]})
    assert table("quantities tfmcc-fig11 | ratio 2", tmp_path)[2:] == ["| ratio 2 | 0 |"]


def test_verdicts(tmp_path: Path) -> None:
    keep(tmp_path, "mtcp-fig7", {})
    keep(tmp_path, "mtcp-fig7-assist", {})
    lines = table("rows mtcp", tmp_path)
    assert [line.split(" | ")[0] for line in lines[3:5]] == ["| `mtcp-fig7`", "| `mtcp-fig7-assist`"]
    assert lines[3].endswith("| 0.5 [0.4, 0.6] ms (worst) | 5 | **no** |")
    assert lines[2].startswith("| `mtcp-fig6` |")
    assert lines[2].endswith("| not kept |  |  |")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (page("rows nonsense"), "no paper or row"),
        (page("heap mtcp-fig7"), "no such layout"),
        (page("cases mtcp-fig9"), "no result"),
        (page("cases mtcp-fig7 | heat"), "no quantity heat"),
        (page("cases mtcp-fig10"), "not a row's result"),
        ("<!-- figures: rows mtcp -->\nnever ends\n", "without its"),
        ("<!-- figures: rows mtcp -->\n<!-- figures: rows rla -->\n<!-- end -->\n", "without its"),
        ("<!-- figures rows -->\n", "no such mark"),
        (f"{END}\n", "without its beginning"),
    ],
)
def test_a_mark_that_cannot_be_filled_is_named(tmp_path: Path, text: str, reason: str) -> None:
    keep(tmp_path, "mtcp-fig7", {("", "response"): [15.0]})
    (tmp_path / "mtcp-fig10.json").write_text('{"cases": [{}]}')
    with pytest.raises(DocumentError, match=reason):
        fill(text, tmp_path)


def test_write_changes_pages_once(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "old.md").write_text(page("cases mtcp-table1"))
    (tmp_path / "README.md").write_text("# No marks\n")
    assert write(tmp_path) == [tmp_path / "docs" / "old.md"]
    assert write(tmp_path) == []
    (tmp_path / "README.md").write_text(f"{END}\n")
    with pytest.raises(DocumentError, match=r"README\.md"):
        write(tmp_path)


def test_a_survey_has_a_line_for_each_protocol(tmp_path: Path) -> None:
    (tmp_path / "survey").mkdir()
    (tmp_path / "survey" / "1000.json").write_text(KEPT_SURVEY)
    head, _, line = table("survey 1000", tmp_path)
    assert head.startswith("| protocol (seed 1000, for reporting; 2 cells) | cells run |")
    assert line == "| mtcp | 1 | 1 | 0 of 1 | 50%, 50% | - | - | - | 1 of 1 | 1 of 1 | 21 ms | **no** |"
    assert table("goals 1000", tmp_path)[2] == "| mtcp | 0 of 1 | 50% | - | -, - | - |"


@pytest.mark.parametrize(("content", "message"), [(None, "1000: no result in"), ("{}", "not a survey's verdicts")])
def test_a_survey_that_is_not_there_is_told(tmp_path: Path, content: str | None, message: str) -> None:
    (tmp_path / "survey").mkdir()
    if content is not None:
        (tmp_path / "survey" / "1000.json").write_text(content)
    with pytest.raises(DocumentError, match=message):
        fill(page("survey 1000"), tmp_path)


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        ("peers", None, "fast: no result in"),
        ("peers", "{}", "not what compare-peers"),
        ("bench", None, "fast: no result in"),
        ("bench", "{}", "not what a benchmark prints"),
    ],
)
def test_what_was_not_measured_is_told(tmp_path: Path, kind: str, content: str | None, message: str) -> None:
    (tmp_path / kind).mkdir()
    if content is not None:
        (tmp_path / kind / "fast.json").write_text(content)
    with pytest.raises(DocumentError, match=message):
        fill(page(f"{kind} fast"), tmp_path)


def test_a_benchmark_has_a_line_for_each_figure(tmp_path: Path) -> None:
    (tmp_path / "bench").mkdir()
    late = Figure("the latest", 5.9, "ms", 10.0, at_most=True)
    slow = Figure("decodes", 491.6, "Mbit/s", 500.0, peer="another", peer_value=2581.0)
    times = Figure("forwards", 700_000.0, "packets/s", peer="BMv2", ratio_target=10.0)
    (tmp_path / "bench" / "some.json").write_text(json.dumps({"figures": [asdict(one) for one in (late, slow, times)]}))
    assert table("bench some", tmp_path)[2:] == [
        "| the latest | 5.9 ms | at most 10 | yes |  |",
        "| decodes | 492 Mbit/s | at least 500 | **no** | another 2,581 |",
        "| forwards | 700,000 packets/s | at least 10 times BMv2's (not measured) |  |  |",
    ]
    kept = {"figures": [{"name": "memory", "value": 108, "unit": "MiB"}]}  # what is left out has its default
    (tmp_path / "bench" / "some.json").write_text(json.dumps(kept))
    assert table("bench some", tmp_path) == [
        "|  | measured | goal | reached |",
        "|-|-|-|-|",
        "| memory | 108 MiB |  |  |",
    ]

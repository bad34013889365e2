import json
from pathlib import Path
from typing import Any

import pytest

from tests.topologies.scenarios import TEXT
from topologies.results.run_folder import RunFolder, RunFolderError, SeriesWriter
from topologies.web.run import Run, is_sound


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path)
    folder.series.mkdir()
    folder.logs.mkdir()
    folder.scenario.write_text(TEXT)
    return folder


def write(folder: RunFolder, name: str, *rows: dict[str, Any]) -> None:
    SeriesWriter(folder.series / f"{name}.jsonl").write(rows)


def number_of(run: Run, one: str, other: str) -> int:
    return next(i for i, link in enumerate(run.scene["links"]) if (link["from"], link["to"]) == (one, other))


def test_counters_of_ports_become_counters_of_links_both_ways(folder: RunFolder) -> None:
    run = Run(folder.path)
    port = next(p for p in range(1, 16) if run._counters.get(("s1", p), (-1,))[0] == number_of(run, "s1", "a"))
    write(
        folder,
        "ports",
        {"t": 0.5, "switch": "s1", "port": port, "tx_bytes": 7, "rx_bytes": 9, "drop_queue": 2, "drop_loss": 1},
    )
    assert run.read()
    _, octets, _, _, losses, _ = run.streams["ports"].rows[0]
    assert octets[number_of(run, "s1", "a")] == 7
    assert octets[number_of(run, "a", "s1")] == 9
    assert losses[number_of(run, "s1", "a")] == 3


def test_a_page_is_sent_what_it_lacks(folder: RunFolder) -> None:
    run = Run(folder.path)
    write(folder, "sessions", {"t": 0.5, "session": 3, "state": "sending", "cwnd": 4.0})
    run.read()
    answer = run.since({})["session-3"]
    assert answer["rows"][0][:2] == [0.5, "sending"]
    assert "session-3" not in run.since({"session-3": (0, 1)})
    write(folder, "sessions", {"t": 1.0, "session": 3, "state": "done"}, {"t": 1.0, "session": 99})
    run.read()
    assert [row[0] for row in run.since({"session-3": (0, 1)})["session-3"]["rows"]] == [1.0]


def test_joins_at_switches_are_the_tree(folder: RunFolder) -> None:
    event = {"time": 0.1, "event": "join", "group": "(10.0.0.1, 232.1.0.1)", "switch": "s1", "port": 2, "peer": "s2"}
    (folder.logs / "controller-events.jsonl").write_text(json.dumps(event) + "\n")
    run = Run(folder.path)
    run.read()
    assert run.streams["tree"].rows == [[0.1, "join", "232.1.0.1", "s1", "s2"]]


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="no run folder"):
        Run(tmp_path)


def test_rows_that_others_wrote_are_left_out() -> None:
    assert is_sound({"t": 0.5, "state": "done", "cwnd": None, "of_others": [1]})
    assert is_sound({"time": 1, "feedback": {"first": 2}})
    wrong: list[dict[str, Any]] = [
        {},
        {"t": "1"},
        {"t": float("nan")},
        {"t": 1, "cwnd": "4"},
        {"t": 1, "state": 4},
        {"t": 1, "port": 10**400},
    ]
    wrong += [{"t": 1, "feedback": [1]}, {"t": 1, "feedback": {"first": "2"}}]
    assert not any(map(is_sound, wrong))

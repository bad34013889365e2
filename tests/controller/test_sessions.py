from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from controller.sessions import read_sessions

STATUS: dict[str, Any] = {
    "version": 1,
    "session": 7,
    "protocol": "mtcp",
    "group": "232.1.0.7",
    "source": "10.0.0.1",
    "state": "sending",
    "updated_at": 1000.0,
    "limiting": {"receiver": "10.0.0.5", "reason": "cwnd", "cwnd": 31.5},
    "receivers": {"10.0.0.5": {"acked_bytes": 4060000, "news": [1, 2]}},
    "from_the_future": {"a": 1},
}


def put(directory: Path, name: str = "7.json", **changes: Any) -> Path:
    path = directory / name
    path.write_text(json.dumps(STATUS | changes))
    return path


def test_a_status_is_read_and_unknown_fields_are_passed_over(tmp_path: Path) -> None:
    put(tmp_path)
    put(tmp_path, "10.json", session=10, limiting=None)
    (tmp_path / ".7.json.tmp").write_text("half")
    (tmp_path / "notes.txt").write_text("x")
    found, problems = read_sessions(tmp_path)
    assert problems == []
    assert [status.session for status in found] == [7, 10]
    assert found[0].limiting is not None
    assert found[0].limiting.cwnd == 31.5
    assert found[0].receivers["10.0.0.5"].acked_bytes == 4060000
    assert found[0].receivers["10.0.0.5"].rtt_s is None


def test_staleness(tmp_path: Path) -> None:
    put(tmp_path)
    put(tmp_path, "8.json", session=8, state="done")
    (fresh, done), _ = read_sessions(tmp_path)
    assert not fresh.is_stale(1002.0)
    assert fresh.is_stale(1004.0)
    assert not done.is_stale(9999.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"session": 8}, "session: 8 is not the file's name"),
        ({"version": 2}, "version: "),
        ({"updated_at": "soon"}, "updated_at: "),
        ({"receivers": {"10.0.0.5": {"rtt_s": "x"}}}, "receivers.10.0.0.5.rtt_s: "),
        ({"limiting": {}}, "limiting.receiver: Field required"),
    ],
)
def test_a_wrong_file_does_not_hide_the_others(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = put(tmp_path, **changes)
    put(tmp_path, "9.json", session=9)
    found, problems = read_sessions(tmp_path)
    assert [status.session for status in found] == [9]
    assert [problem.path for problem in problems] == [path]
    assert problems[0].message.startswith(message)


def test_truncated_and_oversized_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "1.json").write_text('{"version": 1,')
    (tmp_path / "2.json").write_bytes(b"\xff\x00")
    (tmp_path / "3.json").mkdir()
    monkeypatch.setattr("controller.sessions.MAX_FILE_BYTES", 300)
    put(tmp_path, "4.json", session=4)
    found, problems = read_sessions(tmp_path)
    assert found == []
    assert [problem.path.name for problem in problems] == ["1.json", "2.json", "3.json", "4.json"]
    assert problems[3].message == "longer than 300 bytes"


def test_a_directory_that_is_not_there_has_no_sessions(tmp_path: Path) -> None:
    assert read_sessions(tmp_path / "later") == ([], [])


def test_the_example_of_the_documentation_is_valid(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "status.md").read_text()
    example = text.split("## Example", 1)[1]
    (tmp_path / "7.json").write_text(example)
    found, problems = read_sessions(tmp_path)
    assert problems == []
    assert found[0].total_bytes == 6831736

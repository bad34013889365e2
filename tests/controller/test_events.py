from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from controller import events
from controller.events import EventLog


def test_events_are_kept_in_a_file_that_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MAX_FILE_BYTES", 200)
    path = tmp_path / "events.jsonl"
    log = EventLog(path, clock=lambda: 12.5)
    log.open()
    for n in range(10):
        log.add("join", port=n)
    log.close()
    log.add("join", port=10)
    assert path.stat().st_size <= 200
    kept = [json.loads(line) for file in (path.with_name("events.jsonl.1"), path) for line in file.open()]
    assert kept[-1] == {"time": 12.5, "event": "join", "port": 9}
    assert [event["port"] for event in kept] == list(range(10))[-len(kept) :]
    assert [event["port"] for event in log.recent(2)] == [9, 10]
    assert log.recent(0) == []


def test_a_full_disk_costs_the_record_only(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl")
    log.open()
    assert log._file is not None
    log._file.close()
    log.add("join")
    log.add("leave")
    assert [event["event"] for event in log.recent(10)] == ["join", "leave"]


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        EventLog(tmp_path / "no" / "events.jsonl").open()


async def test_followers_get_history_then_what_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    log = EventLog(None)
    for n in range(5):
        log.add("join", port=n)
    stream = log.follow(history=2)
    assert [(await anext(stream))["port"] for _ in range(2)] == [3, 4]
    following = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    log.add("leave", port=9)
    assert (await following)["port"] == 9
    await stream.aclose()  # type: ignore[attr-defined]


async def test_a_slow_follower_is_told_what_it_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "FOLLOWER_QUEUE", 3)
    log = EventLog(None)
    log.add("join", port=0)
    stream = log.follow(history=1)
    assert (await anext(stream))["port"] == 0
    for n in range(1, 8):
        log.add("join", port=n)
    assert [(await anext(stream))["port"] for _ in range(3)] == [1, 2, 3]
    lost = await anext(stream)
    assert (lost["event"], lost["count"]) == ("lost", 4)
    log.add("join", port=8)
    assert (await anext(stream))["port"] == 8

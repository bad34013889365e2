import io
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from tests.topologies.emulation.test_sampler import sampler, status
from topologies.emulation.live_view import LineView, RateMeter, SilentView, TableView, make_live_view
from topologies.emulation.sampler import Sampler

__all__ = ["sampler"]


@pytest.fixture
def sampled(sampler: Sampler, tmp_path: Path) -> Sampler:
    """A sampler that has seen one session, half done."""
    content = status(3, sampler.epoch) | {"total_bytes": 1000, "rate_bps": 8e6, "cwnd": 31.5, "repair_packets": 4}
    (tmp_path / "state" / "sessions" / "3.json").write_text(json.dumps(content))
    sampler.sample()
    return sampler


def console(is_terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=is_terminal, width=140, color_system=None)


def text(of: Console) -> str:
    assert isinstance(of.file, io.StringIO)
    return of.file.getvalue()


def test_a_terminal_gets_a_table_others_get_lines_and_json_gets_nothing() -> None:
    for is_terminal, quiet, kind in ((True, False, TableView), (False, False, LineView), (True, True, SilentView)):
        view = make_live_view(console(is_terminal), quiet)
        view.close()
        assert isinstance(view, kind)


def test_the_table_shows_who_limits_and_how_far_everyone_is(sampled: Sampler) -> None:
    screen = console(True)
    view = TableView(screen)
    view.update(sampled, 1.0)
    view.note("a note")
    view.close()
    shown = text(screen)
    for part in ("session 3 (mtcp) from a: sending", "rate 8 Mbps", "window 31.5 packets", "4 repairs", "a note"):
        assert part in shown
    rows = [line for line in shown.splitlines() if "60%" in line or "50%" in line]
    assert any("limits" in row and row.startswith("c ") for row in rows)
    assert any("limits" not in row and row.startswith("b ") for row in rows)


@pytest.mark.parametrize("width", [40, 80])
def test_thirty_receivers_fit_a_small_terminal(sampler: Sampler, tmp_path: Path, width: int) -> None:
    receivers = {f"10.9.0.{n}": {"acked_bytes": 10 * n, "lost_packets": 1, "state": "active"} for n in range(1, 31)}
    limiting = {"receiver": "10.9.0.20", "reason": "cwnd"}
    content = status(3, sampler.epoch) | {"total_bytes": 1000, "receivers": receivers, "limiting": limiting}
    (tmp_path / "state" / "sessions" / "3.json").write_text(json.dumps(content))
    sampler.sample()
    screen = Console(file=io.StringIO(), force_terminal=True, width=width, height=24, color_system="standard")
    view = TableView(screen)
    view.update(sampler, 1.0)
    view.close()
    lines = [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line) for line in text(screen).splitlines()]
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    frames = [number for number, line in enumerate(lines) if line.startswith("1.0 s")]
    assert len(lines) - frames[-1] <= 24
    drawn = [line for line in lines if line.startswith("10.9.0.")]
    assert ("limits by window, active" if width >= 72 else "limits, active") in drawn[0]
    assert drawn[0].startswith("10.9.0.20")
    assert drawn[1].startswith("10.9.0.1 ")
    assert drawn[3].startswith("10.9.0.3 ")
    assert len(set(drawn)) < 22
    assert any(line.startswith(f"{30 - len(set(drawn))} others") for line in lines)


def test_lines_come_every_few_seconds(sampled: Sampler) -> None:
    screen = console(False)
    view = LineView(screen)
    for tenth in range(45):
        view.update(sampled, tenth / 10)
    view.close()
    lines = text(screen).splitlines()
    assert [line.split()[0] for line in lines] == ["0.0", "2.0", "4.0"]
    assert "2 receivers, 0 complete, slowest c at 50%, 2 losses" in lines[0]


def test_nothing_is_shown_quietly(sampled: Sampler, capsys: pytest.CaptureFixture[str]) -> None:
    view = SilentView()
    view.update(sampled, 1.0)
    view.note("a note")
    view.close()
    assert capsys.readouterr() == ("", "")


def test_a_rate_is_over_the_last_two_seconds() -> None:
    meter = RateMeter()
    assert meter.update(0.0, 0) == 0.0
    for half in range(1, 9):
        meter.update(half / 2, half * 1000)
    assert meter.update(4.5, 9000) == pytest.approx(16_000)
    for half in range(10, 20):
        rate = meter.update(half / 2, 9000)
    assert rate == 0.0


def test_of_what_has_no_end_no_share_is_shown(sampler: Sampler, tmp_path: Path) -> None:
    content = status(3, sampler.epoch) | {"receivers": {"10.0.0.1": {"acked_bytes": 600, "state": "active"}}}
    (tmp_path / "state" / "sessions" / "3.json").write_text(json.dumps(content))
    sampler.sample()
    screen = console(True)
    view = TableView(screen)
    view.update(sampler, 1.0)
    view.close()
    assert "active" in text(screen)
    assert "%" not in text(screen)
    lines = console(False)
    LineView(lines).update(sampler, 1.0)
    assert text(lines).rstrip().endswith("; 1 receivers, 0 losses")

import io
from pathlib import Path

from rich.console import Console

from tests.topologies.simulation.runs import session, tree
from topologies.scenario import load_scenario
from topologies.simulation.progress import BarView, LineView, Progress, SilentView, make_view
from topologies.simulation.runner import SimulationOptions, simulate_scenario


def console(*, terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=120)


def output(shown: Console) -> str:
    assert isinstance(shown.file, io.StringIO)
    return shown.file.getvalue()


def test_progress_in_words() -> None:
    assert str(Progress(12.345, 60.0, 2.0, 500_000)) == "12.35 s simulated in 2.0 s, 250 k events/s"
    assert Progress(0.0, 60.0, 0.0, 0).events_per_s == 0.0


def test_the_view_fits_where_it_is_shown() -> None:
    assert isinstance(make_view(console(terminal=True), quiet=True), SilentView)
    assert isinstance(make_view(console(terminal=False), quiet=False), LineView)
    view = make_view(console(terminal=True), quiet=False)
    assert isinstance(view, BarView)
    view.close()


def test_lines_come_every_few_seconds() -> None:
    shown = console(terminal=False)
    view = LineView(shown)
    for tenths in range(120):
        view.update(Progress(tenths, 1000.0, tenths / 10, tenths), lambda: None)
    view.close()
    lines = output(shown).splitlines()
    assert [line.split(",")[0] for line in lines] == ["50.00 s simulated in 5.0 s", "100.00 s simulated in 10.0 s"]


def test_a_bar_shows_time_events_and_what_was_received(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(tree() + session("200 kB"))
    shown = console(terminal=True)
    scenario = load_scenario(path, purpose="simulate")
    simulate_scenario(scenario, SimulationOptions(path, out=tmp_path / "run", report=False), lambda: BarView(shown))
    assert "s simulated in" in output(shown)
    assert "events/s" in output(shown)
    assert "% received" in output(shown)


def test_real_time_data_have_no_share_that_was_received(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(
        tree().replace("duration: 60 s", "duration: 1 s")
        + session()
        .replace("protocol: mtcp", "protocol: vlmcc")
        .replace("size: 500 kB", "realtime: true")
        .replace("slow_receivers: {drop_after: 3 s}", "parameters: {}")
    )
    shown = console(terminal=True)
    scenario = load_scenario(path, purpose="simulate")
    simulate_scenario(scenario, SimulationOptions(path, out=tmp_path / "run", report=False), lambda: BarView(shown))
    assert "events/s" in output(shown)
    assert "received" not in output(shown)

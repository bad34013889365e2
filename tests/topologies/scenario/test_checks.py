"""What only one way of running a scenario can give."""

from pathlib import Path

import pytest

from topologies.scenario import ScenarioError, checks, load_scenario
from topologies.scenario.checks import Purpose

TEXT = """\
name: x
duration: 1 s
nodes:
  s1: {kind: p4}
  a: {kind: host}
  b: {kind: host}
links:
  - {between: [a, s1]}
  - {between: [s1, b]}
traffic:
  - {kind: tcp, source: a, destination: b}
"""


@pytest.mark.parametrize(
    ("purpose", "change", "message"),
    [
        ("emulate", ("kind: p4", "kind: router"), ":4: nodes.s1.kind: a plain router is only simulated"),
        ("emulate", ("tcp,", "web, gap: 1 s, size: 9 kB,"), ":11: traffic[0].kind: web traffic is only simulated"),
        (
            "simulate",
            ("tcp,", "tcp, congestion_control: cubik,"),
            ":11: traffic[0].congestion_control: the simulator's TCP has no `cubik`; it has cubic, reno, bbr, bbr3, ",
        ),
        (
            "emulate",
            ("tcp,", "tcp, congestion_control: reno-1990,"),
            ":11: traffic[0].congestion_control: the papers' `reno-1990` is only simulated",
        ),
        (
            "simulate",
            ("a: {kind: host}", "a: {kind: host, sending: {least: 2 ms, most: 1 ms}}"),
            ":5: nodes.a.sending.least: must not exceed `most`",
        ),
        ("simulate", ("traffic:", "simulation: {control_delay: 0 s}\ntraffic:"), "must be at least 100 us"),
        ("simulate", ("traffic:", "simulation: {sample: 1 us}\ntraffic:"), "must be at least 1 ms"),
        ("simulate", ("traffic:", "simulation: {trace: 0 s}\ntraffic:"), "simulation.trace: must be at least 1 ms"),
        (
            "simulate",
            ("traffic:", "simulation: {sealing: {seal: 3 us, open: 2 us}}\ntraffic:"),
            "simulation.sealing: no session is sealed",
        ),
        (
            "simulate",
            ("s1: {kind: p4}", "s1: {kind: p4}\n  s2: {kind: router}\n  c: {kind: host}"),
            "nodes.s2.kind: a network has either P4 switches or plain routers",
        ),
    ],
    ids=["router", "web", "unknown", "classic", "processing", "delay", "sample", "trace", "sealing", "mixed"],
)
def test_what_cannot_be_had_is_told_with_its_line(
    tmp_path: Path, purpose: Purpose, change: tuple[str, str], message: str
) -> None:
    text = TEXT.replace(*change)
    if "s2" in text:
        text = text.replace("links:", "links:\n  - {between: [s1, s2]}\n  - {between: [s2, c]}")
    path = tmp_path / "x.yaml"
    path.write_text(text)
    load_scenario(path)
    with pytest.raises(ScenarioError) as error:
        load_scenario(path, purpose=purpose)
    assert message in str(error.value)


def _with_session(tmp_path: Path, protocol: str, content: str) -> Path:
    session = (
        f"{{id: 1, protocol: {protocol}, sender: a, group: 232.1.0.1, port: 5001, {content}: true, receivers: [b]}}"
    )
    path = tmp_path / "x.yaml"
    path.write_text(TEXT + f"sessions:\n  - {session}\n")
    return path


def test_a_stream_without_end_is_only_simulated(tmp_path: Path) -> None:
    path = _with_session(tmp_path, "mtcp", "endless")
    assert not load_scenario(path, purpose="simulate").sessions[0].has_file
    with pytest.raises(ScenarioError, match=r"endless: .* only simulated"):
        load_scenario(path, purpose="emulate")


@pytest.mark.parametrize("protocol", ["tfmcc", "vlmcc"])
@pytest.mark.parametrize("purpose", ["emulate", "simulate"])
def test_real_time_data_run_in_both_worlds(tmp_path: Path, protocol: str, purpose: Purpose) -> None:
    path = _with_session(tmp_path, protocol, "realtime")
    assert not load_scenario(path, purpose=purpose).sessions[0].has_file


def test_a_controller_that_is_not_there_cannot_restart(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(TEXT.replace("p4", "router") + "faults:\n  - {kind: controller-restart, at: 0 s}\n")
    with pytest.raises(ScenarioError, match="no controller without P4 switches"):
        load_scenario(path, purpose="simulate")


@pytest.mark.parametrize("purpose", ["emulate", "simulate"])
def test_what_both_have_is_fine(tmp_path: Path, purpose: Purpose) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(TEXT)
    assert load_scenario(path, purpose=purpose).traffic


@pytest.mark.parametrize(
    ("protocol", "join", "told"), [("mtcp", 2, True), ("tfmcc", 2, True), ("mtcp", 1, False), ("webrc", 2, False)]
)
def test_who_joins_a_file_after_its_start_is_in_doubt(tmp_path: Path, protocol: str, join: int, told: bool) -> None:
    path = tmp_path / "late.yaml"
    session = f"{{id: 1, protocol: {protocol}, sender: a, group: 232.1.0.1, port: 5000, size: 1 MB, start: 1 s,"
    path.write_text(f"{TEXT}sessions:\n  - {session}\n     receivers: [{{host: b, join: {join} s}}]}}\n")
    said: list[str] = []
    load_scenario(path, warn=said.append)
    assert (
        said
        == [
            f"{path}:14: sessions[0].receivers[0].join: warning: `b` joins after the session's `start` (1 s): "
            f"{protocol} refuses who comes when a file's beginning is gone"
        ]
        * told
    )


@pytest.mark.parametrize(
    ("bound", "message"),
    [
        ("MAX_SWITCHES", ":3: nodes: 1 P4 switches, and a controller has 0 at most"),
        ("MAX_HOSTS", ":3: nodes: 2 hosts, and a controller knows 0 at most"),
    ],
)
def test_a_controllers_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bound: str, message: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(TEXT)
    load_scenario(path)
    monkeypatch.setattr(checks, bound, 0)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    assert message in str(caught.value)

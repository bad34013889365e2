"""A stranger's packets against sessions of all protocols that carry files or real-time data: sealed ones go on as they
did."""

import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engine.command.signals import Interrupted, interruptible
from topologies import attacks
from topologies.attacks import FORGERIES, MOST_DELAY_S, MOST_JOIN_DELAY_S, SIMULATED, Effect, app, attacked
from topologies.play import Play
from topologies.scenario import load_scenario
from topologies.scenario.activity import Forgery

SCENARIO = """\
name: attacked
seed: 1
duration: 12 s
nodes:
  s1: {kind: p4}
  sender: {kind: host}
  r1: {kind: host}
  r2: {kind: host}
links:
  - {between: [sender, s1], rate: 100 Mbps, delay: 1 ms}
  - {between: [s1, r1], rate: 8 Mbps, delay: 5 ms, queue: {kind: droptail, packets: 50}}
  - {between: [s1, r2], rate: 8 Mbps, delay: 9 ms, queue: {kind: droptail, packets: 50}}
sessions:
  - {id: 1, protocol: %s, sender: sender, group: 239.1.0.1, port: 5001, membership: any-source, %s,
     slow_receivers: {drop_after: 3 s}, receivers: [r1, r2]}
"""


def written(folder: Path, protocol: str, content: str = "size: 200 kB") -> Path:
    path = folder / f"{protocol}.yaml"
    path.write_text(SCENARIO % (protocol, content))
    return path


def effects(
    path: Path, attacks: Sequence[Forgery], ways: Sequence[str] = ("open", "sealed")
) -> dict[tuple[str, str], Effect]:
    chosen = [way for way in SIMULATED if way.name in ways]
    found = attacked(path, load_scenario(path, purpose="simulate"), attacks, chosen)
    return {(effect.way, effect.attack): effect for effect in found}


def test_what_a_stranger_can_do_to_a_file(tmp_path: Path) -> None:
    found = effects(written(tmp_path, "mtcp"), FORGERIES)
    for attack in FORGERIES:
        assert found["sealed", attack].words == "harmless", attack
        assert found["sealed", attack].harmless, attack
        assert found["open", attack].is_survived, attack


def test_a_signal_ends_it_and_not_one_run_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: Play, until: float) -> str:
        runs.append(until)
        return "interrupted"

    runs: list[float] = []
    monkeypatch.setattr(Play, "run", interrupt)
    done = CliRunner().invoke(app, [str(written(tmp_path, "mtcp")), "--only", "leave"])
    assert (done.exit_code, done.stderr, len(runs)) == (130, "canopy: interrupted\n", 1)


def test_a_signal_between_two_runs_ends_it_likewise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(attacks, "simulated", run)
    done = CliRunner().invoke(app, [str(written(tmp_path, "mtcp")), "--only", "leave"])
    assert (done.exit_code, done.stderr) == (143, "canopy: interrupted\n")


def test_an_emulation_has_the_time_to_take_its_network_down(tmp_path: Path) -> None:
    script = (
        "import os, pathlib, signal, sys\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
        "os.kill(os.getppid(), signal.SIGINT)\n"
        "signal.sigwait([signal.SIGTERM])\n"
        "pathlib.Path(sys.argv[1]).touch()\n"
    )
    with pytest.raises(Interrupted, match="SIGINT"), interruptible():
        attacks._run([sys.executable, "-c", script, str(tmp_path / "down")])
    assert (tmp_path / "down").exists()


@pytest.mark.parametrize("protocol", ["mtcp", "rla", "tfmcc", "arbor"])
def test_nor_to_one_that_switches_help_though_it_is_sealed(tmp_path: Path, protocol: str) -> None:
    found = effects(written(tmp_path, protocol), FORGERIES, ("sealed, switches help",))
    assert len(found) == len(FORGERIES)
    assert {key: effect.words for key, effect in found.items() if not effect.harmless} == {}


def test_signed_sessions_and_those_behind_switches(tmp_path: Path) -> None:
    path = written(tmp_path, "tfmcc")
    found = effects(path, ("data", "replay"), ("open", "open behind P4", "signed"))
    assert not found["open", "data"].harmless
    del found["open", "data"]
    assert {key: effect.words for key, effect in found.items() if not effect.harmless} == {}


@pytest.mark.parametrize("protocol", ["rla", "tfmcc", "arbor"])
def test_one_packet_ends_no_file(tmp_path: Path, protocol: str) -> None:
    found = effects(written(tmp_path, protocol), ("data", "end", "far", "abort", "abort-one", "leave", "join", "claim"))
    assert {key: effect.words for key, effect in found.items() if not effect.is_survived} == {}
    assert all(effect.harmless for (way, _), effect in found.items() if way in ("sealed", "signed"))


def test_no_claim_of_a_round_trip_slows_rla_down_for_long(tmp_path: Path) -> None:
    """What a stranger sends again was answered long ago, so that it seems to be a second away."""
    found = effects(written(tmp_path, "rla", "size: 2 MB"), ("claim",), ("open",))
    assert 0 < (found["open", "claim"].later_s or 0) < MOST_DELAY_S


def test_one_packet_ends_no_stream(tmp_path: Path) -> None:
    path = written(tmp_path, "vlmcc", "realtime: true")
    path.write_text(path.read_text().replace("slow_receivers: {drop_after: 3 s}, ", "").replace("12 s", "3 s"))
    found = effects(path, ("end", "far"))
    assert {key: effect.words for key, effect in found.items() if not effect.is_survived} == {}


def test_a_lost_file_is_not_survived() -> None:
    effect = Effect(1, "mtcp", "none", "open", "abort", False, 1, 2, 1.0, 0.0, None, "")
    assert not effect.is_survived
    assert not replace(effect, ok=True, whole=2, later_s=MOST_DELAY_S + 1).is_survived
    assert replace(effect, ok=True, whole=2, later_s=MOST_DELAY_S).is_survived
    assert replace(effect, ok=True, whole=2, attack="join", later_s=MOST_JOIN_DELAY_S).is_survived
    assert not replace(effect, ok=True, whole=2, later_s=None, slower=0.5).is_survived


def test_the_command_prints_a_table_and_json(tmp_path: Path) -> None:
    path = written(tmp_path, "mtcp")
    result = CliRunner().invoke(app, [str(path), "--only", "abort", "--json"])
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert [(row["way"], row["harmless"], row["is_survived"]) for row in rows] == [
        (way.name, True, True) for way in SIMULATED
    ]
    shown = CliRunner().invoke(app, [str(path), "--only", "abort"]).stdout
    assert "harmless" in shown


def test_what_is_no_attack(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, [str(written(tmp_path, "mtcp")), "--only", "nothing"])
    assert result.exit_code == 2
    assert CliRunner().invoke(app, [str(tmp_path / "none.yaml")]).exit_code == 2

"""What is read from the receivers' traces, and the scenario with a switch."""

import json
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from experiments.joins import compare
from experiments.joins.compare import PACKET_BITS, RATE_BPS, CompareError, document, measure, run_for
from topologies.emulation.child import Child
from topologies.plan import make_plan, network_description
from topologies.scenario import parse_scenario


def trace(folder: Path, name: str, rows: Sequence[tuple[float, int, int, float | None]]) -> Path:
    lines: list[dict[str, object]] = [{"role": "receiver"}]
    lines += [{"t": t, "data_packets": n, "wasted_packets": gone, "mrtt_s": mrtt} for t, n, gone, mrtt in rows]
    path = folder / f"{name}.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    return path


def test_the_last_half_counts(tmp_path: Path) -> None:
    per_second = RATE_BPS / PACKET_BITS
    full = [(t, round(per_second * t), 0, 9.0 if t < 50 else 0.03) for t in map(float, range(101))]
    half = [(t, round(per_second * t / 2), 0 if t < 50 else round(per_second * (t - 50) / 2), 0.01) for t, *_ in full]
    found = measure([trace(tmp_path, "r1", full), trace(tmp_path, "r2", half)])
    assert found.mrtt_s == pytest.approx(0.02)
    assert found.used == pytest.approx(0.75, rel=0.01)
    assert found.wasted == pytest.approx(0.25, rel=0.01)


def test_a_receiver_that_heard_nothing_is_named(tmp_path: Path) -> None:
    with pytest.raises(CompareError, match="r1 heard nothing"):
        measure([trace(tmp_path, "r1", [(0.0, 0, 0, None), (50.0, 0, 0, None), (100.0, 0, 0, None)])])


def test_a_program_may_have_been_ended_in_the_middle_of_a_line(tmp_path: Path) -> None:
    path = trace(tmp_path, "r1", [(0.0, 0, 0, 0.01), (50.0, 10, 0, 0.01), (100.0, 20, 0, 0.01)])
    whole = measure([path])
    with path.open("a") as lines:
        lines.write('{"t": 100.2, "data_pa')
    assert measure([path]) == whole


@pytest.mark.parametrize("announced", [True, False])
def test_the_controller_has_the_groups_or_not(announced: bool) -> None:
    scenario = parse_scenario(yaml.safe_dump(document(30.0, announced=announced)))
    assert len(network_description(scenario, make_plan(scenario)).sessions) == announced


SLEEPER = ["sleep", "60"]


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> list[Child]:
    """Those that are started."""
    started: list[Child] = []

    class Noted(Child):
        def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
            super().__init__(name, command, log)
            started.append(self)

    monkeypatch.setattr(compare, "Child", Noted)
    return started


def ended(programs: Sequence[Child]) -> dict[str, int | None]:
    return {program.name: program.returncode for program in programs}


def test_programs_run_together_and_are_all_stopped(tmp_path: Path, programs: list[Child]) -> None:
    run_for(0.3, {"r1": SLEEPER, "r2": SLEEPER}, tmp_path)
    assert ended(programs) == {"r1": -signal.SIGTERM, "r2": -signal.SIGTERM}


def test_those_before_one_that_cannot_be_run_are_stopped(tmp_path: Path, programs: list[Child]) -> None:
    with pytest.raises(CompareError, match="r2: cannot run /no/such"):
        run_for(0.0, {"r1": SLEEPER, "r2": ["/no/such"], "r3": SLEEPER}, tmp_path)
    assert ended(programs) == {"r1": -signal.SIGTERM}


def test_one_that_does_not_end_when_asked_is_killed(tmp_path: Path, programs: list[Child]) -> None:
    stubborn = ["sh", "-c", "trap '' TERM; sleep 60 & while :; do wait; done"]
    run_for(0.5, {"r1": stubborn, "r2": SLEEPER}, tmp_path)
    assert ended(programs) == {"r1": -signal.SIGKILL, "r2": -signal.SIGTERM}


def test_one_that_ended_early_is_named_with_its_last_words(tmp_path: Path, programs: list[Child]) -> None:
    failing = ["sh", "-c", "echo no such group >&2; exit 1"]
    with pytest.raises(CompareError, match="a program ended early: r2: no such group"):
        run_for(0.5, {"r1": SLEEPER, "r2": failing}, tmp_path)
    assert ended(programs) == {"r1": -signal.SIGTERM, "r2": 1}

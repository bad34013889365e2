"""What is read from the receivers' traces, and the scenario with a switch."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from experiments.joins.compare import PACKET_BITS, RATE_BPS, CompareError, document, measure
from topologies.run.plan import make_plan, network_description
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

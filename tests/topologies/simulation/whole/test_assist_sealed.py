"""MTCP's and RLA's feedback merged by switches though its packets are sealed, with honest switches and with one that
lies."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from controller.program import BLOB_NAME, Program, default_directory
from tests.topologies.simulation.runs import Run, session, simulate, tree
from tests.topologies.simulation.whole.test_assist import feedback_per_data
from topologies.simulation import switch
from topologies.simulation.switch import SimulatedSwitch

FIELD = {"mtcp": ["feedback", "cumulative"], "rla": ["rla_ack", "cumulative"]}
"""What a summary says that all have."""
ACTIONS = {"mtcp": 1, "rla": 2}
"""In which that is written: of RLA also in egress, in the clone of what passes."""


@pytest.fixture(params=FIELD)
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def helped(
    security: str = "group", size: str = "1 MB", last_link: str = "", parameters: str = "{}", protocol: str = "mtcp"
) -> str:
    more = f"protocol: {protocol}\n    assist: switch\n    security: {security}\n    parameters: {parameters}"
    return tree(last_link) + session(size).replace("protocol: mtcp", more)


def words(run: Run, agent: str) -> dict[str, Any]:
    """What an agent said of itself at its end."""
    said: dict[str, Any] = json.loads((run.folder / "agents" / f"session-1-{agent}.json").read_text())
    return said


def test_feedback_is_merged_and_nothing_is_refused(tmp_path: Path, protocol: str) -> None:
    runs = {kind: simulate(tmp_path / kind, helped(kind, protocol=protocol)) for kind in ("none", "group")}
    for run in runs.values():
        assert run.summary.ok
    plain, sealed = (feedback_per_data(run) for run in runs.values())
    assert sealed < plain + 0.05
    rates = [min(receiver.goodput_bps or 0 for receiver in run.summary.sessions[0].receivers) for run in runs.values()]
    assert rates[1] > 0.95 * rates[0]
    assert "misquoted" not in runs["group"].sender()
    again = simulate(tmp_path / "again", helped(protocol=protocol))
    assert again.files() == runs["group"].files(), "a seed gives the same run"


def test_repairs_are_copied(tmp_path: Path) -> None:
    text = helped(size="2 MB", last_link=", loss: 2 %").replace("packets: 50", "packets: 12")
    run = simulate(tmp_path / "run", text)
    assert run.summary.ok
    row = run.sender()
    assert row["repair_packets"] > 20
    assert "misquoted" not in row


def test_a_restarted_switch_and_controller_count_on(tmp_path: Path, protocol: str) -> None:
    faults = "faults:\n"
    for second, fault in enumerate(
        ("switch-restart, switch: s2", "controller-restart", "switch-restart, switch: s1"), 1
    ):
        faults += f"  - {{kind: {fault}, at: {second * 0.4:.1f} s, outage: 100 ms}}\n"
    runs = []
    for kind in ("none", "group"):
        runs.append(simulate(tmp_path / kind, helped(kind, "3 MB", protocol=protocol) + faults))
    plain, sealed = runs
    assert plain.summary.ok
    assert sealed.summary.ok
    assert feedback_per_data(sealed) < feedback_per_data(plain) + 0.1


class Liar:
    """A program whose summaries say that all have eight packets more than they have: with the keys of its switch."""

    def __init__(self, folder: Path, name: str, protocol: str) -> None:
        shutil.copytree(default_directory(), folder, ignore=shutil.ignore_patterns("*.p4", "*.xz", "*.py"))
        program = json.loads((folder / BLOB_NAME).read_text())
        changed = 0
        for action in program["actions"]:
            for primitive in action["primitives"]:
                if primitive["op"] != "assign" or primitive["parameters"][0].get("value") != FIELD[protocol]:
                    continue
                true = primitive["parameters"][1]
                said = {"op": "+", "left": true, "right": {"type": "hexstr", "value": "0x00000008"}}
                cut = {"op": "&", "left": {"type": "expression", "value": said}}
                cut["right"] = {"type": "hexstr", "value": "0xffffffff"}
                primitive["parameters"][1] = {"type": "expression", "value": {"type": "expression", "value": cut}}
                changed += 1
        assert changed == ACTIONS[protocol]
        (folder / BLOB_NAME).write_text(json.dumps(program))
        self._program = Program(folder)
        self._name = name

    def __call__(self, name: str, program: Program, seed: int) -> SimulatedSwitch:
        return SimulatedSwitch(name, self._program if name == self._name else program, seed)


def test_a_switch_that_lies_is_found_and_passed_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    """It says that r3 and r4 have what they lost. Without their own words r4 never gets that."""
    monkeypatch.setattr(switch, "SimulatedSwitch", Liar(tmp_path / "program", "s3", protocol))
    text = helped(size="3 MB", last_link=", loss: 1 %", protocol=protocol)
    plain = helped("none", "3 MB", ", loss: 1 %", protocol=protocol)
    believing = simulate(tmp_path / "believing", plain, until=20.0)
    assert not believing.summary.ok
    run = simulate(tmp_path / "run", text)
    assert run.summary.ok
    rows = run.series("session-1-sender")
    found_at = next(row["t"] for row in rows if row.get("misquoted"))
    started_at = next(row["t"] for row in rows if row.get("sent_bytes"))
    assert found_at - started_at < 5.0
    addresses = {receiver.host: receiver.address for receiver in run.summary.sessions[0].receivers}
    assert set(rows[-1]["misquoted"]) <= {addresses["r3"], addresses["r4"]}
